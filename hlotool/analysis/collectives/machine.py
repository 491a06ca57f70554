"""The machine that times are estimated for: chips, links and nodes, and what is known of them.

Times on a link are estimates, and lower bounds at that: bytes over bandwidth, plus latency.

The user names a machine; without a chip, the one that stands for the backend gives ratios: flops
and bytes of memory for each byte on a link, whose speed the user may state. They say which part of
a transfer work hides, and how traffic compares with transfers. They give no times.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.mesh import Interconnect, Span
from hlotool.analysis.cost.chips import Chip, find_chip
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.errors import UsageError
from hlotool.hlo import Module


class LinkSpeed(Struct, frozen=True):
    """What a device can send; `description` says where the figures come from.

    `interconnect` is what a chip's link joins devices by, where its table tells. `is_within_node`
    says whether nodes are joined by something else, `is_as_given` whether the user states the
    speed.
    """

    bytes_per_second: float
    latency_seconds: float
    description: str
    is_within_node: bool = False
    is_as_given: bool = False
    interconnect: Interconnect | None = None

    def __str__(self) -> str:
        latency = f" plus {self.latency_seconds * 1e6:g} µs each" if self.latency_seconds else ""
        return f"{self.bytes_per_second / 1e9:g} GB/s{latency} ({self.description})"


_LONGEST_AXIS: Final = 16  # of a pod of v5e or v6e; those of 3D tori are longer


class Torus(Struct, frozen=True):
    """The axes along which a TPU slice joins its chips, how many devices it has, and a chip."""

    axes: int
    devices: int | None
    devices_per_chip: int

    def count_axes(self, group_size: int | None) -> int:
        """Return along how many axes a group sends at once.

        All of the slice has every axis, each of two chips at least; a smaller group has one, unless
        it is larger than the longest axis is.
        """
        chips = (group_size or 1) // self.devices_per_chip
        if group_size == self.devices and chips > 1:
            return min(self.axes, chips.bit_length() - 1)
        return min(2 if chips > _LONGEST_AXIS else 1, self.axes)


class Links(Struct, frozen=True):
    """The link of a node or slice, and that between nodes or slices; None is what is not known.

    `has_nodes` says whether there may be several nodes. The link inside is that of one axis of a
    `torus`, where there is one.
    """

    inside: LinkSpeed | None = None
    between: LinkSpeed | None = None
    has_nodes: bool = False
    torus: Torus | None = None

    def _choose(self, interconnect: Interconnect | None, span: Span | None) -> LinkSpeed | None:
        """Return the link that a collective goes over.

        What leaves a node goes over the link between nodes, unless the chip's own joins those
        too, as on TPU. Of what nobody knows whether it leaves one, the link is unknown.
        """
        if interconnect == "dcn":
            return self.between
        is_within = self.inside is None or self.inside.is_within_node
        if interconnect == "ici" or not is_within or not self.has_nodes:
            return self.inside
        return {"intra-node": self.inside, "inter-node": self.between, None: None}[span]

    def estimate(
        self,
        sent_bytes: int | None,
        interconnect: Interconnect | None,
        span: Span | None,
        group_size: int | None = None,
    ) -> Fraction | None:
        """Return how long one execution takes: bytes sent over bandwidth, plus latency.

        A group that spans several axes of a torus sends along all of them.

        What moves nothing takes no time. Nothing is said of other traffic on the link, of
        switches that reduce, and of the time to read and write memory. None where the bytes, or
        the speed of the link, are unknown.
        """
        if sent_bytes is None:
            return None
        if not sent_bytes and (self.inside or self.between):
            return Fraction()
        if (link := self._choose(interconnect, span)) is None:
            return None
        is_torus = self.torus is not None and link is self.inside and not link.is_as_given
        axes = self.torus.count_axes(group_size) if self.torus and is_torus else 1
        return sent_bytes / Fraction(link.bytes_per_second) / axes + Fraction(link.latency_seconds)

    def name_interconnect(
        self, interconnect: Interconnect | None, span: Span | None
    ) -> Interconnect | None:
        """Return a collective's interconnect; where it stays in a node, the link's is known too."""
        if interconnect is None and span == "intra-node" and self.inside is not None:
            return self.inside.interconnect
        return interconnect


def own_link(chip: Chip, latency_seconds: float) -> LinkSpeed | None:
    """Return the chip's own link, None where no source states its speed."""
    if chip.link_bytes_per_second is None:
        return None
    return LinkSpeed(
        chip.link_bytes_per_second,
        latency_seconds,
        f"{chip.description}: {chip.link}",
        chip.is_link_within_node,
        interconnect=chip.link_interconnect,
    )


BACKEND_NAMES: Final[dict[str, str]] = {"cpu": "CPU", "gpu": "GPU", "tpu": "TPU"}

_OF_CPU: Final = (
    "No known chip is a CPU: omit --chip. --bandwidth estimates transfers alone; "
    "--chip-file takes your own chip."
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

    What is given wins over the chip's own; without a chip, the link is that of one node. Raises
    UsageError for an unknown chip, for options without one, and, where a link is needed, for a
    chip whose link no source states.
    """
    if chip is None and bytes_per_second is None:
        if latency_seconds is not None or chip_file:
            raise UsageError("--latency and --chip-file need --chip or --bandwidth.")
        return None
    found = find_chip(chip, chip_file) if chip is not None else None
    if latency_seconds is None:
        latency_seconds = (found.link_latency_seconds if found else None) or 0.0
    link = own_link(found, latency_seconds) if found else None
    if bytes_per_second is not None:
        link = LinkSpeed(
            bytes_per_second,
            latency_seconds,
            "as given",
            found.is_link_within_node if found else True,
            is_as_given=True,
            interconnect=found.link_interconnect if found else None,
        )
    if link is None and needs_link:
        raise UsageError(f"the link speed of {chip!r} is unknown; give it with --bandwidth.")
    return Machine(found, link)


def add_chip(machine: Machine | None, chip: Chip) -> Machine:
    """Add the chip that a dump names to what the user says of links and nodes."""
    known = machine or Machine()
    return replace(
        known, chip=chip, link=known.link or own_link(chip, chip.link_latency_seconds or 0)
    )


def add_nodes(
    machine: Machine | None, devices_per_node: int | None, bytes_per_second: float | None = None
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


ASSUMED_CHIP: Final = "assumed chip", ""  # that of the kind which the file's name tells
_TPU, _OTHERS = "v5e", "h100"  # whose ratios count without a chip; see docs/communication.md


class Pricing(Struct, frozen=True):
    """What the work and the transfers of one module are priced at.

    `chip` and `links` are the user's, where a chip is named; else those of the reference chip that
    `reference` names, but for links whose speed the user states. Where that is None too, as on
    CPU, links are unknown, and so is what work hides; `chip` then only tells which branch of a
    conditional takes least. `shown` are the links that times are shown for, `is_timed` says whether
    they are shown for work too. `devices_per_node` is None where all devices are joined alike;
    `is_node_assumed` says that nobody stated it.
    """

    chip: Chip
    links: Links
    shown: Links
    reference: str | None
    is_timed: bool
    devices_per_node: int | None
    is_node_assumed: bool

    @property
    def is_rated(self) -> bool:
        """Whether a chip stands for the backend, so that shares of time say something."""
        return self.is_timed or self.reference is not None


def price(module: Module, machine: Machine | None) -> Pricing:
    """Choose the speeds for a module; `machine` is what the user knows, and fits the module."""
    known = machine or Machine()
    backend = find_backend(module)
    alike: Chip | None = module.values.get(ASSUMED_CHIP)
    chip = known.chip or alike or find_chip(_TPU if backend == "tpu" else _OTHERS)
    is_known = known.chip is not None or backend != "cpu"
    per_node = known.devices_per_node
    devices, usual = module.header.device_count, chip.devices_per_node
    is_node_known = known.chip is not None or backend == "gpu"
    spans_nodes = usual is not None and devices is not None and devices > usual
    is_assumed = per_node is None and is_node_known and spans_nodes
    per_node = usual if is_assumed else per_node
    torus = Torus(chip.torus_axes, devices, chip.devices_per_chip)
    shown = Links(known.link, known.between, per_node is not None, torus)
    own = own_link(chip, chip.link_latency_seconds or 0.0) if is_known else None
    rated = Links(known.link or own if is_known else None, known.between, shown.has_nodes, torus)
    return Pricing(
        chip,
        shown if known.chip is not None else rated,
        shown,
        chip.name if known.chip is None and is_known else None,
        known.chip is not None,
        per_node,
        is_assumed,
    )
