"""How long would a collective take on a link? An estimate, and a lower bound at that."""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.groups.mesh_axes import Span
from hlotool.analysis.collectives.groups.networks import Network
from hlotool.analysis.cost.chips import find_chip
from hlotool.errors import UsageError


class LinkSpeed(Struct, frozen=True):
    """What a device can send; `description` says where the figures come from.

    `network` is what a chip's link joins devices by, where its table tells.
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


def find_link_speed(
    chip: str | None,
    bytes_per_second: float | None,
    latency_seconds: float | None,
    chip_file: str = "",
) -> LinkSpeed | None:
    """Return the speed the user asked for; None where neither chip nor bandwidth is given.

    What is given wins over the chip's own. Raises UsageError for an unknown chip, and for one
    whose link no source states.
    """
    if chip is None and bytes_per_second is None:
        if latency_seconds is not None or chip_file:
            raise UsageError("--latency and --chip-file need --chip or --bandwidth.")
        return None
    found = find_chip(chip, chip_file) if chip is not None else None
    if latency_seconds is None:
        latency_seconds = (found.link_latency_seconds if found else None) or 0.0
    if bytes_per_second is not None:
        network = found.link_network if found else None
        return LinkSpeed(
            bytes_per_second, latency_seconds, "as given", is_as_given=True, network=network
        )
    if found is None or found.link_bytes_per_second is None:
        raise UsageError(f"the link speed of {chip!r} is unknown; give it with --bandwidth.")
    return LinkSpeed(
        found.link_bytes_per_second,
        latency_seconds,
        f"{found.description}: {found.link}",
        found.is_link_within_node,
        network=found.link_network,
    )


def estimate_transfer(
    wire_bytes: int | None, link: LinkSpeed, network: Network | None, span: Span | None
) -> float | None:
    """Return how long one execution takes on a link: wire bytes over bandwidth, plus latency.

    What moves nothing takes no time. Nothing is said of other traffic on the link, of switches
    that reduce, and of the time to read and write memory. None where bytes are unknown, across
    nodes where the link joins only the devices of one, and between slices, which only a
    bandwidth as given is about.
    """
    if wire_bytes is None:
        return None
    if not wire_bytes:
        return 0.0
    if link.is_within_node and span == "cross":
        return None
    if network == "dcn" and not link.is_as_given:
        return None
    return wire_bytes / link.bytes_per_second + link.latency_seconds


def name_network(
    network: Network | None, link: LinkSpeed | None, span: Span | None
) -> Network | None:
    """Return the network of a collective; where it stays in a node, the link's is known too."""
    return link.network if network is None and link is not None and span == "node" else network
