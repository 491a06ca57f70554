"""How much of a collective does no work hide: of its payload, of its bytes, of its time?"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from msgspec import Struct

from hlotool.analysis.collectives.groups.mesh_axes import Span
from hlotool.analysis.collectives.overlap.overlap import Hiding
from hlotool.analysis.collectives.overlap.pricing import Pricing
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
