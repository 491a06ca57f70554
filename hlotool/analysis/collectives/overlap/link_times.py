"""How long would a collective take on a link? An estimate, and a lower bound at that."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from hlotool.analysis.collectives.groups.mesh_axes import Span
from hlotool.analysis.collectives.groups.networks import Network
from hlotool.analysis.cost.chips import Chip, find_chip
from hlotool.errors import UsageError


class LinkSpeed(Struct, frozen=True):
    """What a device can send; `description` says where the figures come from.

    `network` is what a chip's link joins devices by, where its table tells. `is_within_node` says
    whether nodes are joined by something else, `is_as_given` whether the user states the speed.
    """

    bytes_per_second: float
    latency_seconds: float
    description: str
    is_within_node: bool = False
    is_as_given: bool = False
    network: Network | None = None

    def __str__(self) -> str:
        latency = f" plus {self.latency_seconds * 1e6:g} µs each" if self.latency_seconds else ""
        return f"{self.bytes_per_second / 1e9:g} GB/s{latency} ({self.description})"


class Links(Struct, frozen=True):
    """The link of a node or slice, and that between nodes or slices; None is what is not known.

    `has_nodes` says whether there may be several nodes.
    """

    inside: LinkSpeed | None = None
    between: LinkSpeed | None = None
    has_nodes: bool = False

    def choose(self, network: Network | None, span: Span | None) -> LinkSpeed | None:
        """Return the link that a collective goes over.

        What leaves a node goes over the link between nodes, unless the chip's own joins those
        too, as on TPU. Of what nobody knows whether it leaves one, the link is unknown.
        """
        if network == "dcn":
            return self.between
        is_within = self.inside is None or self.inside.is_within_node
        if network == "ici" or not is_within or not self.has_nodes:
            return self.inside
        return {"node": self.inside, "cross": self.between, None: None}[span]

    def estimate(
        self, wire_bytes: int | None, network: Network | None, span: Span | None
    ) -> Fraction | None:
        """Return how long one execution takes: wire bytes over bandwidth, plus latency.

        What moves nothing takes no time. Nothing is said of other traffic on the link, of
        switches that reduce, and of the time to read and write memory. None where the bytes, or
        the speed of the link, are unknown.
        """
        if wire_bytes is None:
            return None
        link = self.choose(network, span)
        if not wire_bytes and (self.inside or self.between):
            return Fraction()
        if link is None:
            return None
        return wire_bytes / Fraction(link.bytes_per_second) + Fraction(link.latency_seconds)

    def name_network(self, network: Network | None, span: Span | None) -> Network | None:
        """Return the network of a collective; where it stays in a node, the link's is known too."""
        if network is None and span == "node" and self.inside is not None:
            return self.inside.network
        return network


def find_link_speed(
    chip: str | None,
    bytes_per_second: float | None,
    latency_seconds: float | None,
    chip_file: str = "",
) -> LinkSpeed | None:
    """Return the speed the user asked for; None where neither chip nor bandwidth is given.

    What is given wins over the chip's own; without a chip, it is that of one node. Raises
    UsageError for an unknown chip, and for one whose link no source states.
    """
    if chip is None and bytes_per_second is None:
        if latency_seconds is not None or chip_file:
            raise UsageError("--latency and --chip-file need --chip or --bandwidth.")
        return None
    found = find_chip(chip, chip_file) if chip is not None else None
    if latency_seconds is None:
        latency_seconds = (found.link_latency_seconds if found else None) or 0.0
    if bytes_per_second is not None:
        return LinkSpeed(
            bytes_per_second,
            latency_seconds,
            "as given",
            found.is_link_within_node if found else True,
            is_as_given=True,
            network=found.link_network if found else None,
        )
    own = link_of(found, latency_seconds) if found else None
    if own is None:
        raise UsageError(f"the link speed of {chip!r} is unknown; give it with --bandwidth.")
    return own


def link_of(chip: Chip, latency_seconds: float) -> LinkSpeed | None:
    """Return the chip's own link, None where no source states its speed."""
    if chip.link_bytes_per_second is None:
        return None
    return LinkSpeed(
        chip.link_bytes_per_second,
        latency_seconds,
        f"{chip.description}: {chip.link}",
        chip.is_link_within_node,
        network=chip.link_network,
    )
