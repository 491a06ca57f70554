"""How much of a collective does no work hide: of its payload, of its bytes, of its time?

How do transfers, and what no work hides of them, add up?
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Generic, TypedDict, TypeVar

from msgspec import Struct

from hlotool.analysis.collectives.machine import Machine, Pricing
from hlotool.analysis.collectives.mesh import Network, Span
from hlotool.analysis.collectives.overlap import Hiding
from hlotool.analysis.collectives.totals import CollectiveTotals, KindRow, NetworkRow
from hlotool.analysis.collectives.transfers import Transfer, TransferBytes


class Seconds(Struct, frozen=True):
    """Time of all executions in one run, None if unknown; `known` counts the unknown once."""

    per_run: float | None = None
    known_per_run: float = 0.0


class Need(Struct, frozen=True):
    """What hides one execution of a transfer: so many seconds of work, None if unknown.

    `transfer_seconds` is the estimated time on the link that the user, or the user's chip, states;
    None without either, as times on the link of a reference chip are not shown.
    """

    seconds: Fraction | None
    transfer_seconds: Fraction | None


class Exposure(Struct, frozen=True):
    """What of one collective no work hides: a part of it, of its bytes, and of its time.

    The times are all unknown without a machine.
    """

    share: Fraction | None
    wire: TransferBytes
    transfer: Seconds
    overlapped: Seconds
    exposed: Seconds


def find_need(transfer: Transfer, pricing: Pricing, span: Span | None) -> Need:
    """Return how long work must take to hide a transfer: as long as it takes on its link.

    That goes by the chip of the user, else by the reference chip, but for links whose speed the
    user states. What sends nothing needs none.
    """
    size, network = transfer.wire.once, transfer.network
    seconds = Fraction() if size == 0 else pricing.links.estimate(size, network, span)
    return Need(seconds, pricing.shown.estimate(size, network, span))


def measure_exposure(transfer: Transfer, need: Need, hiding: Hiding | None) -> Exposure:
    """Measure what no work hides; `hiding` is what hides one execution, None if unknown."""
    share = find_exposed_share(hiding)
    times = _measure_times(need.transfer_seconds, share)
    return Exposure(share, _expose(transfer, share), *(_times(one, transfer) for one in times))


def find_exposed_share(hiding: Hiding | None) -> Fraction | None:
    """Return the part of a transfer that work does not hide, between 0 and 1.

    None where the work or the need is unknown, unless there is none, or what is known is enough.
    """
    if hiding is None:
        return None
    if not hiding.has_work:
        return Fraction(1)
    need = hiding.need_seconds
    if need is None:
        return None
    if hiding.hidden_seconds >= need:
        return Fraction()
    return 1 - hiding.hidden_seconds / need if hiding.is_sure else None


def _expose(transfer: Transfer, share: Fraction | None) -> TransferBytes:
    """Return the exposed part of the wire bytes, rounded up."""
    if share is None:
        return TransferBytes(None, None, 0)
    if not share:
        return TransferBytes(0, 0, 0)
    wire = transfer.wire
    known = ceil(wire.known_per_run * share)
    return TransferBytes(
        None if wire.once is None else ceil(wire.once * share),
        None if wire.per_run is None else known,
        known,
    )


def _measure_times(
    sending: Fraction | None, share: Fraction | None
) -> tuple[float | None, float | None, float | None]:
    """Return the time of one transfer, what work hides of it, and what is left."""
    if sending is None:
        return None, None, None
    if share is None:
        return float(sending), None, None if sending else 0.0
    exposed = sending * share
    return float(sending), float(sending - exposed), float(exposed)


def _times(seconds: float | None, transfer: Transfer) -> Seconds:
    """Multiply the time of one execution; nothing stays nothing, however often it runs."""
    if seconds is None:
        return Seconds()
    known = seconds * transfer.collective.executions
    return Seconds(known if transfer.collective.is_exact or not seconds else None, known)


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
