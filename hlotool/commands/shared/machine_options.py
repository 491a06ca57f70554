"""The options that name a machine to estimate times for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
from msgspec.structs import replace

from hlotool.analysis.collectives.overlap.machine import Machine, add_nodes, find_machine
from hlotool.check.config import Config
from hlotool.commands.shared.complete import complete_chip
from hlotool.fields.quantity import parse_bandwidth, parse_time

_CHIP: Final = click.option(
    "--chip",
    metavar="NAME",
    help="Estimate times on this chip: h100, v5p, ….",
    shell_complete=complete_chip,
)
_BANDWIDTH: Final = click.option(
    "--bandwidth", metavar="SPEED", help="Estimate transfers within a node at this speed: 450GB/s."
)
_NODE_BANDWIDTH: Final = click.option(
    "--node-bandwidth",
    metavar="SPEED",
    help="Estimate transfers between nodes, or slices, at this speed: 50GB/s.",
)
_DEVICES_PER_NODE: Final = click.option(
    "--devices-per-node",
    type=click.IntRange(min=1),
    metavar="N",
    help="Say that a node has N consecutive devices; by default what the chip's link joins.",
)
_LATENCY: Final = click.option(
    "--latency", metavar="TIME", help="Add this much for each collective: 5us."
)
_CHIP_MEMORY: Final = click.option(
    "--chip", metavar="NAME", help="Show what is left of this chip's memory: h100, v5p, …."
)
_CHIP_FILE: Final = click.option(
    "--chip-file",
    metavar="FILE",
    default="",
    help="TOML file of your own chips, in the form of chips.toml.",
)
_NODES: Final = (_NODE_BANDWIDTH, _DEVICES_PER_NODE)

# Which of them a command takes; `take_machine` reads them all.
CHIP_ALONE: Final = (_CHIP, _CHIP_FILE)
CHIP_MEMORY: Final = (_CHIP_MEMORY, _CHIP_FILE)
MACHINE: Final = (_CHIP, _BANDWIDTH, *_NODES, _CHIP_FILE)
MACHINE_AND_LATENCY: Final = (_CHIP, _BANDWIDTH, *_NODES, _LATENCY, _CHIP_FILE)


def machine_options(
    options: tuple[Callable[..., Any], ...],
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Give a command options that name a machine; `take_machine` reads what was given."""

    def decorate(function: Callable[..., int | None]) -> Callable[..., int | None]:
        decorated: Callable[..., int | None] = function
        for each in reversed(options):
            decorated = each(decorated)
        return decorated

    return decorate


def take_machine(values: dict[str, Any], settings: Config) -> Machine | None:
    """Take the values of these options out of all, and return the machine they name.

    Where they name no chip, and no size of a node, those of the configuration count. The speed of
    a link must be known only where the options are about links, and name the chip; and only then
    must the chip fit. Raises UsageError for what does not go together.
    """
    given = values.pop("chip", None)
    is_about_links = "bandwidth" in values
    bandwidth, latency = values.pop("bandwidth", None), values.pop("latency", None)
    between = values.pop("node_bandwidth", None)
    per_node = values.pop("devices_per_node", None)
    machine = find_machine(
        given or settings.chip or None,
        None if bandwidth is None else parse_bandwidth(bandwidth, "--bandwidth"),
        None if latency is None else parse_time(latency, "--latency"),
        values.pop("chip_file", ""),
        needs_link=is_about_links and bool(given),
    )
    machine = add_nodes(
        machine,
        per_node or settings.devices_per_node,
        None if between is None else parse_bandwidth(between, "--node-bandwidth"),
    )
    return replace(machine, must_fit=True) if machine and given else machine
