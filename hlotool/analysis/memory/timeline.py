"""Memory over time: what is in use at every position, the separate peaks, and who holds it when.

`find_position` reads which instant `--at` means; `list_moments` is what a picture is drawn from.

`explain_xla_peak` says why the peak that XLA prints in its live-range section differs from the true
one. HloLiveRange::ComputePeakMemoryMoment (xla/hlo/utils/hlo_live_range.cc) charges a value
ShapeUtil::ByteSizeOf of its defining instruction's whole shape; that is what goes wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.memory.intervals import Curve
from hlotool.analysis.memory.memory_map import MemoryMap, list_holdings, padding_bytes_of
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, describe_values
from hlotool.errors import UsageError
from hlotool.hlo.buffers import BufferValue, LiveRanges
from hlotool.table import column, figure
from hlotool.table.words import suggest

# A peak is separate from a higher one if memory falls by a tenth of it in between.
SEPARATING_PART: Final = 10


class TimelineRow(Struct, frozen=True):
    """What is in use at one position, while `instruction` runs; it is None after the last."""

    position: Annotated[int, column("position in the schedule")]
    bytes: Annotated[int, column("bytes in use", heading="in use", is_summed=False)]
    instruction: Annotated[
        str | None, column("the instruction that runs there; null after the last")
    ]


def timeline(curve: Curve, sequence: tuple[str, ...]) -> list[TimelineRow]:
    """Return the bytes in use at every position, 0 to the sequence's length."""
    return [_row(one, curve.at(one), sequence) for one in range(len(sequence) + 1)]


def choose_peaks(curve: Curve, sequence: tuple[str, ...], count: int) -> list[TimelineRow]:
    """Return the highest `count` separate peaks, highest first.

    A peak is a position that memory rises to and falls from; it is separate if, on the way
    to any higher one, memory falls by at least a tenth of it. Of equal peaks, the earlier
    counts as higher.
    """
    levels = curve.levels
    left = _saddles(levels, may_equal=True)
    right = _saddles(levels[::-1], may_equal=False)[::-1]
    found = [
        place
        for place, level in enumerate(levels)
        if level and (level - max(left[place], right[place])) * SEPARATING_PART >= level
    ]
    found.sort(key=lambda place: (-levels[place], place))
    return [_row(curve.positions[place], levels[place], sequence) for place in found[:count]]


def _row(position: int, level: int, sequence: tuple[str, ...]) -> TimelineRow:
    return TimelineRow(position, level, sequence[position] if position < len(sequence) else None)


def _saddles(levels: tuple[int, ...], *, may_equal: bool) -> list[int]:
    """Return, for each level, the lowest level on the way left to the nearest higher one.

    0 where no higher one is there; `may_equal` lets an equal one count as higher.

        levels     3  1  2  0  2
        saddles    0  1  1  0  0     2 falls to 1 on its way to 3; the last to 0 on its way to 2
    """
    saddles: list[int] = []
    stack: list[tuple[int, int]] = []  # (level, lowest since the one below it on the stack)
    for level in levels:
        lowest = level
        while stack and (stack[-1][0] < level or (stack[-1][0] == level and not may_equal)):
            lowest = min(lowest, stack.pop()[1])
        saddles.append(lowest if stack else 0)
        stack.append((level, lowest))
    return saddles


_MOST_GROUPS: Final = 9  # colours that can be told apart; the rest is one group


class Moment(Struct, frozen=True):
    """Who holds the space at a position: places in `Moments.values`, with bytes, largest first."""

    position: int
    instruction: str
    used_bytes: int
    holders: tuple[tuple[int, int], ...]


class Moments(Struct, frozen=True):
    """Moments in order, and every value that holds bytes in one of them."""

    values: tuple[BufferRow, ...]
    moments: tuple[Moment, ...]


def list_moments(report: MemoryReport, space: int, most: int) -> Moments:
    """Return at most so many moments of a space; none where nothing says when values are live.

    The schedule is cut into equal stretches, and of each the position with most bytes in use is
    a moment, so that no peak is lost. `holders` of a moment add up to `used_bytes`.
    """
    curve = report.map.curve(space)
    live_ranges = report.map.live_ranges
    if curve is None or live_ranges is None:
        return Moments((), ())
    places: dict[BufferValue, int] = {}
    moments = []
    for position in choose_positions(curve, live_ranges.end, most):
        held = tuple(
            (places.setdefault(one.value, len(places)), one.live_bytes)
            for one in list_holdings(report.map, position, space)
        )
        running = live_ranges.instruction_at(position) or ""
        moments.append(Moment(position, running, sum(size for _, size in held), held))
    return Moments(tuple(describe_values(report, places)), tuple(moments))


def stack_moments(
    found: Moments, group_of: Callable[[BufferRow], str], most: int = _MOST_GROUPS
) -> dict[str, tuple[int, ...]]:
    """Return bytes for each moment by group, the largest groups first, the others together."""
    groups = [group_of(row) for row in found.values]
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * len(found.moments))
    for place, moment in enumerate(found.moments):
        for value, size in moment.holders:
            sums[groups[value]][place] += size
    ranked = sorted(sums, key=lambda name: max(sums[name]), reverse=True)
    stacks = {name: tuple(sums[name]) for name in ranked[:most]}
    if rest := [sums[name] for name in ranked[most:]]:
        stacks["the rest"] = tuple(map(sum, zip(*rest, strict=True)))
    return stacks


def choose_positions(curve: Curve, end: int, most: int) -> tuple[int, ...]:
    """Return the highest position of each of at most so many stretches from 0 to `end`.

    >>> choose_positions(Curve((0, 3, 4), (5, 9, 1)), 9, 2)
    (3, 5)
    """
    count = min(most, end + 1)
    chosen = []
    for stretch in range(count):
        first = stretch * (end + 1) // count
        last = (stretch + 1) * (end + 1) // count - 1
        inside = [one for one in curve.positions if first <= one <= last]
        chosen.append(max((first, *inside), key=curve.at))
    return tuple(chosen)


class Instant(Struct, frozen=True):
    """The position that the rows show, and what is in use there."""

    space: Annotated[int | None, figure("number of the memory space; null for all")]
    position: Annotated[int, figure("position in the schedule")]
    instruction: Annotated[str | None, figure("the instruction that runs there")]
    bytes: Annotated[int, figure("bytes in use; in all spaces together if space is null")]


def find_position(report: MemoryReport, place: str, color: int) -> int | None:
    """Return the position that `place` names: a number, an instruction, or `peak`.

    None where the peak is asked for and nothing says when values are live. Raises UsageError
    for a position or a name that the schedule does not have.
    """
    live_ranges = report.map.live_ranges
    if place == "peak":
        return report.peak_of(color).position
    if live_ranges is None:
        raise UsageError(f"--at {place}: the live ranges of values are unknown in this dump.")
    if place.isdecimal() and place.isascii():
        if len(place) > len(str(live_ranges.end)) or int(place) > live_ranges.end:
            raise UsageError(f"--at {place}: positions go from 0 to {live_ranges.end}.")
        return int(place)
    name = place.removeprefix("%")
    if name in live_ranges.sequence:
        return live_ranges.sequence.index(name)
    raise UsageError(
        f"--at {place}: no scheduled instruction has this name; instructions inside "
        "fusions and reducers have no position.",
        suggest(name, live_ranges.sequence),
    )


def instant_at(report: MemoryReport, position: int, color: int | None) -> Instant:
    """Return what is in use at a position, in one space or (None) in all."""
    live_ranges = report.map.live_ranges
    colors = report.map.colors() if color is None else (color,)
    curves = [report.map.curve(one) for one in colors]
    return Instant(
        color,
        position,
        live_ranges.instruction_at(position) if live_ranges else None,
        sum(curve.at(position) for curve in curves if curve),
    )


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
