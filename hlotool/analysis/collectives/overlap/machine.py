"""What does the user know of the machine that times are estimated for?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.overlap.link_times import LinkSpeed, find_link_speed
from hlotool.analysis.cost.chips import Chip, find_chip
from hlotool.analysis.graph.backend import Backend
from hlotool.errors import UsageError

BACKEND_NAMES: Final[dict[str, str]] = {"cpu": "CPU", "gpu": "GPU", "tpu": "TPU"}

_OF_CPU: Final = (
    "No chip known here stands for CPU: leave out --chip; --bandwidth estimates transfers alone, "
    "and --chip-file takes a chip of your own."
)


class Machine(Struct, frozen=True):
    """A chip, the speeds of links, the size of a node; None is what is not known.

    `between` is the link between nodes. `must_fit` says whether a chip of another backend than
    the program's is a mistake; else there are no times for such a program.
    """

    chip: Chip | None = None
    link: LinkSpeed | None = None
    between: LinkSpeed | None = None
    devices_per_node: int | None = None
    must_fit: bool = False

    def __str__(self) -> str:
        nodes = "" if self.devices_per_node is None else f"nodes of {self.devices_per_node}"
        links = (str(one) for one in (self.link, self.between) if one is not None)
        return ", ".join(filter(None, (self.chip.description if self.chip else "", *links, nodes)))


def find_machine(
    chip: str | None,
    bytes_per_second: float | None = None,
    latency_seconds: float | None = None,
    chip_file: str = "",
    *,
    needs_link: bool = True,
) -> Machine | None:
    """Return the machine that options name; None where neither chip nor bandwidth is given.

    Raises UsageError for an unknown chip, for options without one, and, where a link is needed,
    for a chip whose link no source states.
    """
    found = find_chip(chip, chip_file) if chip is not None else None
    is_linked = found is None or found.link_bytes_per_second is not None
    if not needs_link and not is_linked and bytes_per_second is None:
        return Machine(found)
    link = find_link_speed(chip, bytes_per_second, latency_seconds, chip_file)
    return None if found is None and link is None else Machine(found, link)


def add_nodes(
    machine: Machine | None,
    devices_per_node: int | None,
    bytes_per_second: float | None = None,
) -> Machine | None:
    """Add how many devices a node has, and what one sends to other nodes, where that is given.

    A transfer to other nodes has the latency of one within.
    """
    if devices_per_node is None and bytes_per_second is None:
        return machine
    known = machine or Machine()
    between: LinkSpeed | None = None
    if bytes_per_second is not None:
        latency = known.link.latency_seconds if known.link else 0.0
        between = LinkSpeed(bytes_per_second, latency, "between nodes, as given", is_as_given=True)
    return replace(known, devices_per_node=devices_per_node, between=between)


def fit_machine(machine: Machine, backend: Backend | None) -> Machine | None:
    """Return what of a machine holds for programs of a backend; None where nothing is left.

    A chip is for the programs of one backend, if it names one. Of another's, only what the user
    states of links and nodes holds. Raises UsageError where the chip must fit.
    """
    chip = machine.chip
    if chip is None or backend is None or chip.backend is None or chip.backend == backend:
        return machine
    if machine.must_fit:
        fault = (
            f"this program is for {BACKEND_NAMES[backend]}; {chip.name} is a chip for "
            f"{BACKEND_NAMES[chip.backend]}."
        )
        raise UsageError(f"{fault} {_OF_CPU}" if backend == "cpu" else fault)
    link = machine.link if machine.link is not None and machine.link.is_as_given else None
    rest = replace(machine, chip=None, link=link)
    return rest if rest != Machine(must_fit=rest.must_fit) else None
