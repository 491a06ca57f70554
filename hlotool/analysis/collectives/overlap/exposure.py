"""How much of a collective does no work hide: of its payload, of its bytes, of its time?"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.groups.mesh_axes import Span
from hlotool.analysis.collectives.overlap.link_times import estimate_transfer
from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.analysis.collectives.overlap.overlap_work import OverlapWork
from hlotool.analysis.collectives.transfers import Transfer, TransferBytes
from hlotool.analysis.cost.chips import Chip, find_chip
from hlotool.analysis.graph.backend import find_backend
from hlotool.ir import Module

REFERENCE: Final = 0  # the place of the reference chip among those that work is measured for
GIVEN: Final = 1  # the place of the user's chip
_TPU, _OTHERS = "v5e", "h100"  # whose flops per byte shares go by; docs/collectives.md says so


class Seconds(Struct, frozen=True):
    """Time of all executions in one run, None if unknown; `known` counts the unknown once."""

    per_run: float | None = None
    known_per_run: float = 0.0


class Exposure(Struct, frozen=True):
    """What of one collective no work hides: a part of its payload, of its bytes, and of its time.

    The times are all unknown without a machine.
    """

    share: Fraction | None
    wire: TransferBytes
    transfer: Seconds
    overlapped: Seconds
    exposed: Seconds


def find_reference_chip(module: Module) -> Chip:
    """Return the chip whose ratio of flops to bytes stands for all of the module's backend."""
    return find_chip(_TPU if find_backend(module) == "tpu" else _OTHERS)


def measure_exposure(
    transfer: Transfer,
    hiding: OverlapWork | None,
    reference: Chip,
    machine: Machine | None,
    span: Span | None,
) -> Exposure:
    """Measure what no work hides; `hiding` is the work beside one execution, None if unknown."""
    share = find_exposed_share(hiding, transfer.payload.once, reference)
    times = _measure_times(transfer, hiding, machine, span) if machine else (Seconds(),) * 3
    return Exposure(share, _expose(transfer, share), *times)


def find_exposed_share(
    hiding: OverlapWork | None, payload_bytes: int | None, reference: Chip
) -> Fraction | None:
    """Return the part of a payload that work cannot hide, between 0 and 1.

    Each instruction hides the bytes it moves in memory, or as many as the reference chip's
    memory moves while it computes. None where the work or the payload is unknown, unless
    there is none, or what is known of it is enough.
    """
    if hiding is None:
        return None
    if not hiding.instruction_count:
        return Fraction(1)
    if payload_bytes is None:
        return None
    hidden = hiding.hidden_bytes(reference, REFERENCE)
    if hidden >= payload_bytes:
        return Fraction()
    return None if hiding.unknown_count else 1 - hidden / payload_bytes


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
    transfer: Transfer, hiding: OverlapWork | None, machine: Machine, span: Span | None
) -> tuple[Seconds, Seconds, Seconds]:
    """Return the time that a transfer takes, that of the work beside it, and what is left."""
    link, chip = machine.link, machine.chip
    sending: float | None = None
    if link is not None:
        sending = estimate_transfer(transfer.wire.once, link, transfer.network, span)
    least = overlapped = None
    if hiding is not None:
        is_known = chip is not None or not hiding.instruction_count
        least = hiding.seconds(chip, GIVEN) if chip is not None else 0.0
        overlapped = least if is_known and not hiding.unknown_count else None
    exposed: float | None = None
    if sending is not None and (not sending or (least is not None and least >= sending)):
        exposed = 0.0
    elif sending is not None and overlapped is not None:
        exposed = sending - overlapped
    return (
        _times(sending, transfer),
        _times(overlapped, transfer),
        _times(exposed, transfer),
    )


def _times(seconds: float | None, transfer: Transfer) -> Seconds:
    """Multiply the time of one execution; nothing stays nothing, however often it runs."""
    if seconds is None:
        return Seconds()
    known = seconds * transfer.collective.executions
    return Seconds(known if transfer.collective.is_exact or not seconds else None, known)
