"""Why the peak that XLA prints in its live-range section differs from the true one.

HloLiveRange::ComputePeakMemoryMoment (xla/hlo/utils/hlo_live_range.cc) charges a value
ShapeUtil::ByteSizeOf of its defining instruction's whole shape; that is what goes wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.memory.memory_map import MemoryMap, padding_bytes_of
from hlotool.analysis.memory.report import MemoryReport
from hlotool.hlo.buffers import BufferValue, LiveRanges

Reason: TypeAlias = Literal["tuples", "shared", "spaces", "padding"]
_SLIGHT: Final = 1000
_PART: Final = 100  # a reason counts if it explains a hundredth of the larger figure


class XlaDifference(Struct, frozen=True):
    """XLA's list differs from what is in use at its instant, or its instant is not the peak.

    `reasons` say how the list comes to its sum, those that weigh most first: `tuples` (elements
    of tuple-shaped instructions are given the size of the tuple's table), `shared` (bytes that
    values share are added up again), `spaces` (all memory spaces are added up), `padding` (tiles
    are left out). There are none where they do not account for the difference.

    `misses_tuples`: at the true peak, XLA's way of counting comes to no more than its own peak,
    but would come to more if elements of tuples had their sizes. `is_slight` where neither
    figure is a thousandth off.
    """

    is_slight: bool
    reasons: tuple[Reason, ...]
    misses_tuples: bool = False


def explain_xla_peak(report: MemoryReport) -> XlaDifference | None:
    """Compare the live-range section's peak with space 0's true one; None where they agree."""
    live, peak = report.map.assignment.live_ranges, report.figures.peak
    if live is None or peak.position is None or peak.xla_position is None:
        return None
    is_other = peak.xla_position != peak.position and peak.bytes_at_xla_position != peak.bytes
    if not is_other and peak.xla_bytes == peak.bytes:
        return None
    figures = (peak.xla_bytes or 0, peak.bytes_at_xla_position or 0)
    weights, unexplained = _weigh(report.map, live, peak.xla_position, figures[1])
    least = max(figures) // _PART
    found = sorted((-weight, reason) for reason, weight in weights.items() if weight > least)
    is_slight = all(abs(one - (peak.bytes or 0)) * _SLIGHT < (peak.bytes or 0) for one in figures)
    return XlaDifference(
        is_slight,
        () if unexplained > least else tuple(reason for _, reason in found),
        is_other and _misses_tuples(report.map, peak.position, figures[0]),
    )


def _weigh(
    memory: MemoryMap, live: LiveRanges, position: int, in_use: int
) -> tuple[dict[Reason, int], int]:
    """Return how many bytes each way of counting is off at XLA's instant, and what is left over.

    Left over are values that one side does not list, and sizes off by no padding.
    """
    here, elsewhere = _live(memory, position, 0), _live_elsewhere(memory, position)
    listed = Counter[str]()
    for entry in live.peak_entries:
        listed[entry.instruction] += entry.size_bytes
    sizes = Counter[str]()
    for value in here:
        sizes[value.instruction] += value.size_bytes
    for value in elsewhere:
        sizes[value.instruction] += _without_padding(value)
    tables = {value.instruction for value in (*here, *elsewhere) if value.index}
    off = {name: listed[name] - sizes[name] for name in listed.keys() & sizes.keys()}
    tuples = sum(off[name] for name in off.keys() & tables)
    arrays = sum(off[name] for name in off.keys() - tables)
    padding = sum(padding_bytes_of(one) or 0 for one in here if one.index is None)
    one_sided = sum((listed + sizes)[name] for name in listed.keys() ^ sizes.keys())
    return {
        "tuples": abs(tuples),
        "shared": _add_up(here) - in_use,
        "spaces": sum(map(_without_padding, elsewhere)),
        "padding": padding,
    }, one_sided + abs(arrays + padding)


def _misses_tuples(memory: MemoryMap, position: int, xla_bytes: int) -> bool:
    """Whether XLA would have found this position if elements of tuples had their sizes."""
    values = [*_live(memory, position, 0), *_live_elsewhere(memory, position)]
    arrays = _add_up(value for value in values if not value.index)
    return arrays <= xla_bytes < _add_up(values)


def _live_elsewhere(memory: MemoryMap, position: int) -> list[BufferValue]:
    return [one for color in memory.colors() if color for one in _live(memory, position, color)]


def _live(memory: MemoryMap, position: int, color: int) -> list[BufferValue]:
    return [value for _, value, _ in memory.live_at(position, color)]


def _without_padding(value: BufferValue) -> int:
    return value.size_bytes - (padding_bytes_of(value) or 0)


def _add_up(values: Iterable[BufferValue]) -> int:
    return sum(value.size_bytes for value in values)
