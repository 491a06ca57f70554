"""The options that name a machine to estimate times for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from hlotool.analysis.collectives.overlap.machine import Machine, find_machine
from hlotool.fields.quantity import parse_bandwidth, parse_time

_CHIP: Final = click.option(
    "--chip", metavar="NAME", help="Estimate times on this chip: h100, v5p, …."
)
_BANDWIDTH: Final = click.option(
    "--bandwidth", metavar="SPEED", help="Estimate transfers at this speed: 450GB/s."
)
_LATENCY: Final = click.option(
    "--latency", metavar="TIME", help="Add this much for each collective: 5us."
)
_CHIP_FILE: Final = click.option(
    "--chip-file",
    metavar="FILE",
    default="",
    help="TOML file of your own chips, in the form of chips.toml.",
)

# Which of them a command takes; `take_machine` reads them all.
CHIP_ALONE: Final = (_CHIP, _CHIP_FILE)
MACHINE: Final = (_CHIP, _BANDWIDTH, _CHIP_FILE)
MACHINE_AND_LATENCY: Final = (_CHIP, _BANDWIDTH, _LATENCY, _CHIP_FILE)


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


def take_machine(values: dict[str, Any], default_chip: str = "") -> Machine | None:
    """Take the values of these options out of all, and return the machine they name.

    Where they name no chip, it is the default. The speed of a link must be known only where the
    options are about links, and name the chip. Raises UsageError for what does not go together.
    """
    given = values.pop("chip", None)
    is_about_links = "bandwidth" in values
    bandwidth, latency = values.pop("bandwidth", None), values.pop("latency", None)
    return find_machine(
        given or default_chip or None,
        None if bandwidth is None else parse_bandwidth(bandwidth, "--bandwidth"),
        None if latency is None else parse_time(latency, "--latency"),
        values.pop("chip_file", ""),
        needs_link=is_about_links and bool(given),
    )
