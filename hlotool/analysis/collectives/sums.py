"""How do transfers, and what no work hides of them, add up?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypedDict, TypeVar

from msgspec import Struct

from hlotool.analysis.collectives.groups.networks import Network
from hlotool.analysis.collectives.overlap.exposure import Exposure, Seconds
from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.analysis.collectives.overlap.pricing import Pricing
from hlotool.analysis.collectives.totals import CollectiveTotals, KindRow, NetworkRow
from hlotool.analysis.collectives.transfers import Transfer

N = TypeVar("N", int, float)


class Measured(Struct, frozen=True):
    """A transfer, and what of it no work hides; None where that was not asked for."""

    transfer: Transfer
    exposure: Exposure | None = None


def sum_transfers(
    found: Sequence[Measured], machine: Machine | None = None, pricing: Pricing | None = None
) -> CollectiveTotals:
    """Add up all transfers, those of each kind and of each network; what sends most is first.

    Unknown trip counts count as one, unknown sizes as nothing; both make a lower bound, as do
    an unknown exposure and an unknown time of the sums of these. Branches of conditionals
    count as taken and make an upper bound, as do bytes that depend on the data.
    """
    kinds: dict[str, list[Measured]] = {}
    networks: dict[Network | None, list[Measured]] = {}
    for one in found:
        kinds.setdefault(one.transfer.kind, []).append(one)
        networks.setdefault(one.transfer.network, []).append(one)
    by_kind = [KindRow(kind=kind, **_sum(kinds[kind], machine)) for kind in sorted(kinds)]
    by_kind.sort(key=lambda row: -row.wire_bytes_per_run)
    by_network = [
        NetworkRow(network=network, **_sum(networks[network], machine))
        for network in sorted(networks, key=lambda name: name or "")
    ]
    by_network.sort(key=lambda row: -row.wire_bytes_per_run)
    return CollectiveTotals(
        machine=None if machine is None else str(machine),
        reference_chip=pricing.reference if pricing else None,
        devices_per_node=pricing.devices_per_node if pricing else None,
        is_node_assumed=pricing is not None and pricing.is_node_assumed,
        by_kind=tuple(by_kind),
        by_network=tuple(by_network),
        **_sum(found, machine),
    )


class _Sum(Struct, Generic[N], frozen=True):
    """A sum, and whether a part of it is unknown."""

    total: N | None
    is_lower: bool


class _Sums(TypedDict):
    """The figures that one kind, one network and all together have alike."""

    count: int
    textual_count: int
    executions: int
    payload_bytes_per_run: int
    wire_bytes_per_run: int
    exposed_wire_bytes_per_run: int | None
    transfer_seconds: float | None
    overlapped_seconds: float | None
    exposed_seconds: float | None
    is_executions_lower_bound: bool
    is_payload_lower_bound: bool
    is_lower_bound: bool
    is_upper_bound: bool
    is_exposed_lower_bound: bool
    is_transfer_lower_bound: bool
    is_seconds_lower_bound: bool


def _sum(found: Sequence[Measured], machine: Machine | None) -> _Sums:
    transfers = [one.transfer for one in found]
    exposures = [one.exposure for one in found if one.exposure is not None]
    is_measured = len(exposures) == len(found)
    wire = _add_up([(one.wire.per_run, one.wire.known_per_run) for one in exposures], is_measured)
    times = is_measured and machine is not None and bool(machine.link or machine.between)
    transfer = _add_up([_pair(one.transfer) for one in exposures], times)
    overlapped = _add_up([_pair(one.overlapped) for one in exposures], times)
    exposed = _add_up([_pair(one.exposed) for one in exposures], times)
    return _Sums(
        count=len(transfers),
        textual_count=sum(len(one.collective.members) for one in transfers),
        executions=sum(one.collective.executions for one in transfers),
        payload_bytes_per_run=sum(one.payload.known_per_run for one in transfers),
        wire_bytes_per_run=sum(one.wire.known_per_run for one in transfers),
        exposed_wire_bytes_per_run=wire.total,
        transfer_seconds=transfer.total,
        overlapped_seconds=overlapped.total,
        exposed_seconds=exposed.total,
        is_executions_lower_bound=any(not one.collective.is_exact for one in transfers),
        is_payload_lower_bound=any(one.payload.per_run is None for one in transfers),
        is_lower_bound=any(
            one.payload.per_run is None or one.wire.per_run is None for one in transfers
        ),
        is_upper_bound=any(
            one.is_upper_bound or one.collective.is_conditional for one in transfers
        ),
        is_exposed_lower_bound=wire.is_lower,
        is_transfer_lower_bound=transfer.is_lower,
        is_seconds_lower_bound=transfer.is_lower or overlapped.is_lower or exposed.is_lower,
    )


def _pair(seconds: Seconds) -> tuple[float | None, float]:
    return seconds.per_run, seconds.known_per_run


def _add_up(parts: Sequence[tuple[N | None, N]], is_asked: bool) -> _Sum[N]:
    """Add up figures that come with what is known of them; None where nothing is."""
    known = [known for exact, known in parts if exact is not None or known]
    if not is_asked or (parts and not known):
        return _Sum(None, is_lower=False)
    return _Sum(sum(known), is_lower=any(exact is None for exact, _ in parts))
