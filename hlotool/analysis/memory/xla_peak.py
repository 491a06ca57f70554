"""Does the peak that XLA prints differ from the true one, and why?"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.memory.padding import padding_bytes_of
from hlotool.analysis.memory.report import MemoryReport
from hlotool.ir.buffers import BufferValue, LiveRanges

Reason: TypeAlias = Literal["tuples", "shared", "spaces", "padding"]
_SLIGHT: Final = 1000
_PART: Final = 100  # a reason counts if it explains a hundredth of the larger figure


class XlaDifference(Struct, frozen=True):
    """XLA's list differs from what is in use at its instant, or its instant is not the peak.

    `reasons`, those that weigh most first: `tuples` (elements of tuple-shaped instructions
    are given the size of the tuple's table), `shared` (bytes that values share are added up
    again), `spaces` (all memory spaces are added up), `padding` (tiles are left out).
    `is_slight` where neither figure is a thousandth off.
    """

    is_other_instant: bool
    is_slight: bool
    reasons: tuple[Reason, ...]


def explain_xla_peak(report: MemoryReport) -> XlaDifference | None:
    """Compare the live-range section's peak with space 0's true one; None where they agree.

    HloLiveRange::ComputePeakMemoryMoment (xla/hlo/utils/hlo_live_range.cc) charges a value
    ShapeUtil::ByteSizeOf of its defining instruction's whole shape; that is what goes wrong.
    """
    live, peak = report.map.assignment.live_ranges, report.figures.peak
    if live is None or peak.position is None or peak.xla_position is None:
        return None
    is_other = peak.xla_position != peak.position and peak.bytes_at_xla_position != peak.bytes
    if not is_other and peak.xla_bytes == peak.bytes:
        return None
    weights = _weights(report, live, peak.xla_position, peak.bytes_at_xla_position or 0)
    least = max(peak.xla_bytes or 0, peak.bytes_at_xla_position or 0) // _PART
    found = sorted((-weight, reason) for reason, weight in weights.items() if weight > least)
    figures = (peak.xla_bytes or 0, peak.bytes_at_xla_position or 0)
    is_slight = all(abs(one - (peak.bytes or 0)) * _SLIGHT < (peak.bytes or 0) for one in figures)
    return XlaDifference(is_other, is_slight, tuple(reason for _, reason in found))


def _weights(
    report: MemoryReport, live: LiveRanges, position: int, in_use: int
) -> dict[Reason, int]:
    """Return how many bytes each way of counting is off at XLA's instant."""
    memory = report.map
    here = [value for _, value in memory.live_at(position, 0)]
    elsewhere = [
        value for color in memory.colors() if color for _, value in memory.live_at(position, color)
    ]
    listed = sum(
        entry.size_bytes
        for entry in live.peak_entries
        if entry.index or (entry.index is None and _is_tuple(entry.instruction, here))
    )
    return {
        "tuples": abs(sum(value.size_bytes for value in here if value.index) - listed),
        "shared": sum(value.size_bytes for value in here) - in_use,
        "spaces": sum(value.size_bytes for value in elsewhere),
        "padding": sum(padding_bytes_of(value) or 0 for value in here if value.index is None),
    }


def _is_tuple(instruction: str, values: list[BufferValue]) -> bool:
    return any(value.instruction == instruction and value.index for value in values)
