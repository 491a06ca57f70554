"""What does each collective of a module send, once and in one run, and to how many?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.effect import find_kind
from hlotool.analysis.collectives.groups.device_groups import DeviceGroups, ExactShare
from hlotool.analysis.collectives.groups.group_reader import GroupReader
from hlotool.analysis.collectives.groups.networks import Network, find_network, find_own_network
from hlotool.analysis.collectives.logical import LogicalCollective, find_collectives
from hlotool.analysis.collectives.wire_bytes import (
    WHOLE,
    PayloadPart,
    list_parts,
    sum_sizes,
    wire_share,
)
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Module


class TransferBytes(Struct, frozen=True):
    """Payload or wire bytes: once, per run, and per run with the unknown counted once."""

    once: int | None
    per_run: int | None
    known_per_run: int


class Transfer(Struct, frozen=True):
    """What a collective sends, and to how many.

    `share` are its wire bytes per payload byte, None where nobody knows.
    """

    collective: LogicalCollective
    kind: str
    network: Network | None
    groups: DeviceGroups
    parts: tuple[PayloadPart, ...]
    share: ExactShare | None
    payload: TransferBytes
    wire: TransferBytes

    @property
    def is_upper_bound(self) -> bool:
        """Whether the data decides how much of the payload is sent."""
        return self.kind == "ragged-all-to-all"


def measure_transfers(module: Module, executions: Executions, graph: CallGraph) -> list[Transfer]:
    """Measure every logical collective of a module, in dump order; bytes are per device.

    What counts as one is said in `logical`, payload and wire bytes in `wire_bytes`.
    """
    reader = GroupReader(module)
    collectives = find_collectives(module, executions, graph)
    own_network = find_own_network(module) if collectives else None
    found: list[Transfer] = []
    for one in collectives:
        groups = reader.read(one.operation)
        kind = find_kind(
            one.operation, one.stated_kind, is_fused=one.is_fused, group_size=groups.group_size
        )
        parts = list_parts(one.operation, kind, one.receive)
        network = find_network(one.operation, own_network)
        share = wire_share(kind, groups)
        size = sum_sizes(parts)
        payload, wire = measure_share(size, WHOLE, one), measure_share(size, share, one)
        found.append(Transfer(one, kind, network, groups, parts, share, payload, wire))
    return found


def measure_share(
    size_bytes: int | None, share: ExactShare | None, one: LogicalCollective
) -> TransferBytes:
    """Return a share of some bytes, once and for all executions.

    It is multiplied exactly, and rounded up only then.
    """
    if size_bytes is None or share is None:
        return TransferBytes(None, None, 0)
    numerator, denominator = share
    once = -(-size_bytes * numerator // denominator)
    known = -(-size_bytes * numerator * one.executions // denominator)
    return TransferBytes(once, known if one.is_exact else None, known)
