"""What is worth a look about memory: donation, padding, gaps?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.analysis.findings.finding import LEAST_BYTES, Evidence, Finding, percent
from hlotool.analysis.memory.donation import DonationRow
from hlotool.analysis.memory.figures import SpaceRow
from hlotool.analysis.memory.reduction_plan import GAIN_CAVEAT, measure_donation

LEAST_PADDING_SHARE: Final = 0.1
LEAST_FRAGMENTATION_SHARE: Final = 0.05
_LEAST_HELD: Final = 0.1  # of the gaps; on TPU it is tables of tuples that hold less


def find_missed_donations(evidence: Evidence) -> Iterator[Finding]:
    """Find parameters with a result of their shape in memory of its own, 1 MiB of them or more.

    One finding for all. A warning where the program donates other parameters; a program
    that donates none may be meant so. Its bytes are what the program would reserve less, and
    where that is under 1 MiB there is none; where nobody knows, the sizes of the parameters.
    """
    rows = evidence.donations
    missed = [row for row in rows if row.status == "not-donated"]
    gain = (
        measure_donation(evidence.memory, evidence.module) if missed and evidence.memory else None
    )
    if missed and (gain is None or gain >= LEAST_BYTES):
        donates = any(row.status != "not-donated" for row in rows)
        yield Finding(
            sum(row.size_bytes for row in missed) if gain is None else gain,
            "warning" if donates else "info",
            "donation-missed",
            _missed_message(missed, is_gain=gain is not None),
            count=len(missed),
            parameter=_name(missed[0]),
        )
    for row in rows:
        if row.status == "copied":
            message = f"{_name(row)} is donated, but {row.copy_instruction} copies it first."
            yield Finding(
                row.size_bytes, "warning", "donation-copied", message, row.copy_instruction
            )


def _missed_message(missed: list[DonationRow], *, is_gain: bool) -> str:
    is_one = len(missed) == 1
    said = (
        f"{_name(missed[0])} is not donated, although a result has its shape"
        if is_one
        else f"{len(missed)} parameters, the largest {_name(missed[0])}, are not donated, although "
        "results have their shapes"
    )
    if is_gain:
        less = "with donation the allocated size would be up to that much less"
        return f"{said}: {less}. {GAIN_CAVEAT}"
    them, whose = ("it", "its") if is_one else ("them", "their")
    return f"{said}: donating {them} saves at most {whose} size."


def _name(row: DonationRow) -> str:
    return row.parameter_name or f"parameter {row.parameter_number}"


def find_padding(evidence: Evidence) -> Iterator[Finding]:
    """Find spaces of which more than 10 % at the peak, and 1 MiB, is tile padding.

    A warning for space 0, which is what runs out.
    """
    for space in _spaces(evidence):
        padding, peak = space.padding_bytes or 0, space.peak_bytes or 0
        if padding > LEAST_BYTES and padding > LEAST_PADDING_SHARE * peak:
            yield Finding(
                padding,
                "info" if space.space else "warning",
                "padding",
                f"{percent(padding, peak)} of what {_space_name(space)} holds at its peak is tile "
                "padding.",
                space.peak_instruction,
            )


def find_fragmentation(evidence: Evidence) -> Iterator[Finding]:
    """Find spaces of which more than 5 %, and 1 MiB, is never in use at once.

    Not on TPU where temporaries hold a tenth of it at most: each table of a tuple, of some
    hundred bytes, lies 16 KiB behind the one before, and no other order helps.
    """
    is_tpu = evidence.memory is not None and evidence.memory.figures.backend == "tpu"
    for space in _spaces(evidence):
        gaps, allocated = space.fragmentation_bytes or 0, space.allocated_bytes or 0
        if is_tpu and (space.temp_peak_bytes or 0) <= _LEAST_HELD * gaps:
            continue
        if gaps > LEAST_BYTES and gaps > LEAST_FRAGMENTATION_SHARE * allocated:
            yield Finding(
                gaps,
                "info",
                "fragmentation",
                f"{percent(gaps, allocated)} of {_space_name(space)} is reserved for temporaries "
                "that never need it all at once.",
            )


def _spaces(evidence: Evidence) -> tuple[SpaceRow, ...]:
    return evidence.memory.figures.spaces if evidence.memory else ()


def _space_name(space: SpaceRow) -> str:
    return f"space {space.space}" + (f" ({space.name})" if space.name else "")
