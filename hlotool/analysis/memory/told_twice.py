"""What a memory-usage report, or an out-of-memory message, tells twice, and not alike.

Sums against totals, values against allocations, sizes against shapes: all of it holds in every one
known here, as far as rounding lets tell. What does not was damaged, or is of a compiler that does
otherwise, and the user is told. XLA leaves allocations, and values of one, out of a report after
the first 51; what it does not list can only be missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.contradictions import ALIGNMENT_BYTES, describe_kinds
from hlotool.hlo import ArrayShape, Shape
from hlotool.hlo.shape import DTYPE_BITS
from hlotool.hlo.shape_parser import ShapeCache
from hlotool.oom.usage_report import ReportedAllocation, RunningSum, UsageReport
from hlotool.oom.wordings import ListedBuffer, MemoryPart, OutOfMemory, Size
from hlotool.table.sums import group_by
from hlotool.text import Source

_ALL_LISTED: Final = 50  # a report of no more allocations has all of them
_VMEM: Final = 1  # of which each core of some TPUs has a part
_CUT_OFF: Final = 5  # 1024 / 200: the slack of two decimals is a two-hundredth of their unit
_SHAPE: Final = re.compile(r"(?:(?P<count>\d{1,18})×)?(?P<shape>.+)", re.DOTALL)
_DESCRIBED: Final = re.compile(r"shape \|(?P<shape>[^|]*)\|")
_COMMENT: Final = re.compile(r"/\*.*?\*/")
_TOTALS: Final = frozenset({"total", "total allocation"})
_STATS: Final = re.compile(r"BufferAssignment stats|Stats")
_USAGE: Final = re.compile(r"Total (?P<space>\w+) usage")
_NEED: Final = re.compile(r"Program (?P<space>\w+) requirement")


def contradict_report(report: UsageReport) -> tuple[str, ...]:
    """Return a phrase for each kind of contradiction of a report: the first, and how many."""
    shapes = ShapeCache(Source(""))
    return describe_kinds(
        _check_totals(report),
        _check_lists(report),
        _check_slots(report, shapes),
        _check_allocations(report, shapes),
    )


def contradict_message(message: OutOfMemory) -> tuple[str, ...]:
    """Return a phrase for each kind of contradiction of a message: the first, and how many."""
    return describe_kinds(_check_sums(message), _check_buffers(message.buffers))


class _Range(Struct, frozen=True):
    """Between what a size may lie that was rounded, or is a sum of such."""

    least: int = 0
    most: float = float("inf")  # else a whole number too

    def __add__(self, other: _Range) -> _Range:
        return _Range(self.least + other.least, self.most + other.most)

    def meets(self, other: _Range) -> bool:
        """Whether both may be the same size."""
        return self.least <= other.most and other.least <= self.most

    def within(self, other: _Range) -> _Range:
        """Return where both may lie; the least is above the most where there is no such place."""
        return _Range(max(self.least, other.least), min(self.most, other.most))


def _read(size: Size) -> _Range:
    """Return what a size may be before rounding.

    XLA divides by 1024 without a rest until the number is small, and rounds only then: two decimals
    may be as much as a thousandth of their unit too small.
    """
    slack = size.slack_bytes + 1 if size.slack_bytes else 0
    return _Range(size.bytes - slack, size.bytes + slack + slack // _CUT_OFF)


def _exactly(size_bytes: int) -> _Range:
    return _Range(size_bytes, size_bytes)


def _add_up(parts: Iterable[_Range]) -> _Range:
    return sum(parts, _exactly(0))


# Reports.


def _check_totals(report: UsageReport) -> Iterator[str]:
    """Hold the totals of spaces against their allocations, and against themselves."""
    counts = Counter(one.color for one in report.spaces)
    for color, count in counts.items():
        if count > 1:
            yield f"{_name_space(color)} has {count} totals"
    by_color = group_by(report.allocations, lambda one: one.color)
    for space in {one.color: one for one in report.spaces}.values():
        total = _exactly(space.total_bytes)
        if space.rounded and not total.meets(_read(space.rounded)):
            yield f"a total of {space.total_bytes:,} bytes contradicts {space.rounded.bytes:,}"
        parts = report.allocations if space.color is None else by_color.get(space.color, ())
        found = _add_up(map(_measure, parts))
        if not found.meets(total) and (found.least > space.total_bytes or _is_whole(parts)):
            yield (
                f"the allocations of {_name_space(space.color)} add up to {found.least:,} "
                f"bytes, but its total is {space.total_bytes:,}"
            )
    for color in sorted(by_color):
        if counts.keys().isdisjoint({None, color}):
            yield f"{_name_space(color)} has allocations but no total"


def _is_whole(allocations: Sequence[ReportedAllocation]) -> bool:
    """Whether nothing is left out of a list that counts for a total."""
    if all(one.size for one in allocations):
        return True
    return len(allocations) <= _ALL_LISTED and not any(one.left_out_count for one in allocations)


def _measure(one: ReportedAllocation) -> _Range:
    """Return the size of an allocation: as told, or else where the last listed slot ends."""
    return _read(one.size) if one.size else _find_end(one)


def _find_end(one: ReportedAllocation) -> _Range:
    ends = [_exactly(slot.offset) + _read(slot.size) for slot in one.slots]
    least = max((end.least for end in ends), default=0)
    return _Range(least, max((end.most for end in ends), default=0))


def _check_lists(report: UsageReport) -> Iterator[str]:
    """Hold the running sums of each list against its rows."""
    rows = [(one.size, one.sum) for one in report.listed if one.size and one.sum]
    totals = [_exactly(one.total_bytes) for one in report.spaces if one.color is None]
    yield from _check_sums_of_rows("allocations", rows, *totals)
    for place, one in enumerate(report.described, 1):
        slots = [(slot.size, slot.sum) for slot in one.slots]
        last = [_read(slots[-1][1].size)] if slots and not one.left_out_count else []
        name = _name_allocation(one, place)
        yield from _check_sums_of_rows(f"values of {name}", slots, *last)


def _check_sums_of_rows(
    what: str, rows: list[tuple[Size, RunningSum]], *totals: _Range
) -> Iterator[str]:
    """Find rows that do not add up, stand below smaller ones, or are parts of no one total."""
    before, above, total = _exactly(0), _Range(), _Range()
    for one in totals:
        total = total.within(one)
    for size, told in rows:
        up_to = _read(told.size)
        if not up_to.meets(before + _read(size)):
            yield f"the {what} do not add up to {told.size.bytes:,} bytes"
        if size.bytes - size.slack_bytes > above.most:
            yield f"the {what} are not sorted by size at {size.bytes:,} bytes"
        before, above = up_to, _read(size)
        total = total.within(_find_whole(told))
    if total.least > total.most:
        yield f"the {what} belong to different totals"


def _find_whole(told: RunningSum) -> _Range:
    """Return of what total a running sum may be that part, and have that rest."""
    size, percent = _read(told.size), told.percent
    whole = _Range()
    if percent is not None:
        most = -(-200 * size.most // (2 * percent - 1)) if percent else float("inf")
        whole = _Range(200 * size.least // (2 * percent + 1), most)
    return whole.within(size + _read(told.rest)) if told.rest else whole


def _check_slots(report: UsageReport, shapes: ShapeCache) -> Iterator[str]:
    """Hold counts and sizes of slots against the shapes that they list."""
    empty = {one.color for one in report.spaces if not one.total_bytes}
    for place, one in enumerate(report.described, 1):
        name = _name_allocation(one, place)
        if one.has_table and not one.slots and one.color not in empty:
            yield f"the table of {name} is empty"
        for offset, count in Counter(slot.offset for slot in one.slots).items():
            if count > 1:
                yield f"{name} has {count} slots at byte {offset:,}"
        for slot in one.slots:
            found = list(_read_shapes(slot.shapes, shapes))
            unknown = next((text for text, _, shape in found if shape is None), None)
            count = sum(count for _, count, _ in found)
            where = f"the slot at byte {slot.offset:,} of {name}"
            if slot.offset % ALIGNMENT_BYTES:
                yield f"{where} is not aligned to a word"
            if unknown is not None:
                yield f"{where} has the invalid shape {unknown!r}"
            elif count != slot.value_count:
                yield f"{where} is used by {slot.value_count:,} values, but lists {count:,}"
            least = max((_find_least(shape) for _, _, shape in found if shape), default=0)
            if one.color != _VMEM and _read(slot.size).most < least:
                yield f"{where} has {slot.size.bytes:,} bytes, but a value of {least:,}"


def _read_shapes(text: str, shapes: ShapeCache) -> Iterator[tuple[str, int, Shape | None]]:
    """Yield the shapes of `f32[8,4], 2×(s32[], f32[8])`, with how many values have each."""
    depth = start = 0
    for at, mark in enumerate(f"{text},"):
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "," and not depth:
            if (match := _SHAPE.fullmatch(text[start:at].strip())) is not None:
                plain = _COMMENT.sub("", match["shape"])
                yield match["shape"], int(match["count"] or 1), shapes.find(plain)
            start = at + 1


def _find_least(shape: Shape) -> int:
    """Return the bytes that an array takes at least: a type below 8 bits may be packed."""
    bits = DTYPE_BITS.get(shape.dtype) if isinstance(shape, ArrayShape) else None
    count = shape.element_count if isinstance(shape, ArrayShape) else None
    return (count * min(bits, 8 * -(-bits // 8)) + 7) // 8 if count and bits else 0


def _check_allocations(report: UsageReport, shapes: ShapeCache) -> Iterator[str]:
    """Hold allocations against their slots, their shape, and what is said of them elsewhere."""
    listed = {one.number: one for one in report.listed}
    counts = Counter(one.number for one in report.described if one.number is not None)
    if 0 < len(report.listed) <= _ALL_LISTED and counts.keys() != listed.keys():
        yield f"{len(listed)} allocations are listed, but {len(counts)} described"
    for one in report.allocations:
        name = _name_allocation(one, 0)
        if one.number is None or one.size is None:
            continue
        size = _read(one.size)
        if counts[one.number] != 1:
            yield f"{name} is described {counts[one.number]} times"
        first = listed.get(one.number, one)
        told = (first.size, first.description, first.color)
        if told != (one.size, one.description, one.color):
            yield f"{name} differs in list and description"
        end = _find_end(one)
        if one.slots and not (end.meets(size) or (one.left_out_count and end.most <= size.most)):
            yield f"{name} has {one.size.bytes:,} bytes, but its values use {end.least:,}"
        match = _DESCRIBED.search(one.description or "")
        shape = shapes.find(match["shape"]) if match else None
        if match and shape is None:
            yield f"{name} has the invalid shape {match['shape']!r}"
        elif shape is not None and size.most < _find_least(shape):
            yield (
                f"{name} has {one.size.bytes:,} bytes, but its shape has {match and match['shape']}"
            )


def _name_space(color: int | None) -> str:
    return "the program" if color is None else f"space {color}"


def _name_allocation(one: ReportedAllocation, place: int) -> str:
    return f"table {place}" if one.number is None else f"allocation {one.number}"


# Messages.


def _check_sums(message: OutOfMemory) -> Iterator[str]:
    """Hold totals against their parts, and what was asked against what the program needs."""
    for group, parts in group_by(message.parts, lambda part: part.group).items():
        for name, count in Counter(one.name for one in parts).items():
            if count > 1:
                yield f"{name!r} of {group!r} appears {count} times"
        totals = [one for one in parts if one.name in _TOTALS and one.size_bytes is not None]
        if totals:
            yield from _check_parts(group, totals[0], [one for one in parts if one not in totals])
    needed = {
        match["space"]: part
        for part in message.parts
        if part.name == "total" and (match := _NEED.fullmatch(part.group))
    }
    for part in message.parts:
        usage = _USAGE.fullmatch(part.group)
        need = needed.get(usage["space"]) if usage and part.name == "program" else None
        if need and not _read_part(need).meets(_read_part(part)):
            yield f"the program takes {part.size_bytes:,} bytes, but {need.size_bytes:,} later"
    asked, available, excess = message.requested, message.available, message.excess
    if asked and available and excess:
        found = _read(available) + _read(excess)
        if not found.meets(_read(asked)):
            yield f"{asked.bytes:,} bytes are not {excess.bytes:,} more than {available.bytes:,}"


def _check_parts(group: str, total: MemoryPart, parts: list[MemoryPart]) -> Iterator[str]:
    """Hold a total against its parts; those of a program's requirement are not all told."""
    whole, found = _read_part(total), _add_up(map(_read_part, parts))
    if _STATS.fullmatch(group):
        for one in parts:
            if _read_part(one).least > whole.most:
                yield f"{one.name!r} is {one.size_bytes:,} bytes, but its parts {whole.least:,}"
    elif parts and (
        found.least > whole.most or (not _NEED.fullmatch(group) and found.most < whole.least)
    ):
        yield f"{group!r} is {total.size_bytes:,} bytes, but its parts {found.least:,}"


def _read_part(part: MemoryPart) -> _Range:
    return _Range() if part.size_bytes is None else _read(Size(part.size_bytes, part.slack_bytes))


def _check_buffers(buffers: Sequence[ListedBuffer]) -> Iterator[str]:
    """Hold the sizes of listed buffers against their shapes, their padding, and the order."""
    shapes = ShapeCache(Source(""))
    for one in buffers:
        if one.size_bytes is None:
            continue
        name = f"the buffer of {one.size_bytes:,} bytes"
        size = _read(Size(one.size_bytes, one.slack_bytes))
        unpadded = one.unpadded_bytes
        plain = size if unpadded is None else _read(Size(unpadded, one.slack_bytes))
        if plain.least > size.most:
            yield f"{name} takes {one.unpadded_bytes:,} without padding"
        elif not (plain + _read(one.padding or Size(0))).meets(size):
            padding = one.padding.bytes if one.padding else 0
            yield f"{name} is not {one.unpadded_bytes:,} and {padding:,} of padding"
        shape = shapes.find(_COMMENT.sub("", one.shape)) if one.shape else None
        least = _find_least(shape) if shape is not None else 0
        if least > plain.most:
            yield f"{name} has the shape {one.shape}, which takes {least:,}"
