"""The memory map: which bytes of which allocation are in use at every position, and who has them.

`MemoryMap` joins a buffer assignment with live ranges and measures the curves of its allocations.
`list_holdings` gives each byte that is in use at a position to one value. `SpacePeak` says how far
the peak of a memory space falls without some of the bytes that values hold, its `Tenures`.

A value hands its bytes on while both are live: to what is written over it, to the next round of a
loop, to the output that a donated parameter becomes. What only comes to lie there later, when
nothing lives there, has them anew. So not values are taken away, but tenures: values that hold the
same bytes, from when the first takes them until the last is done.

    value        bytes      positions
    a            [0, 64)    0 … 2      a tenure of 64 bytes, 0 … 5: a, and b that took over
    b            [0, 64)    2 … 5
    c            [0, 64)    6 … 9      another
    d            [64, 96)   4 … 9      and a third, of 32 bytes

All is exact for the schedule and the places of this assignment: what is compiled again without the
values may come out otherwise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Final, Generic, Self, TypeVar

from msgspec import Struct, field

from hlotool.analysis.dataflow.live_ranges import LiveRanges
from hlotool.analysis.memory.intervals import (
    Curve,
    LiveBlock,
    add_curves,
    add_up_groups,
    join_blocks,
)
from hlotool.hlo import TupleShape
from hlotool.hlo.buffers import Allocation, AllocationType, BufferAssignment, BufferValue, LiveRange
from hlotool.hlo.module import Node
from hlotool.table.sums import group_by, group_pairs


class MemoryMap(Struct, frozen=True):
    """An assignment with its live ranges, None where nothing says when values are live.

    A value without a range, such as a constant of a fused computation, is live throughout.
    Curves are measured when they are asked for, and kept: `_curves`, with the places of values that
    share bytes, by the number of the allocation, `_sums` by space and class.
    """

    assignment: BufferAssignment
    live_ranges: LiveRanges | None
    _curves: dict[int, tuple[Curve, list[list[int]]]] = field(default_factory=dict)
    _sums: dict[tuple[int, AllocationType | None], Curve] = field(default_factory=dict)

    def colors(self) -> tuple[int, ...]:
        """Return the memory spaces that hold anything beside thread-local memory, and 0."""
        return tuple(sorted({0} | {one.color for one in self.placed()}))

    def placed(self, color: int | None = None) -> Iterator[Allocation]:
        """Yield the allocations of a space, or of all, without thread-local ones."""
        for allocation in self.assignment.allocations:
            if not allocation.is_thread_local and (color is None or color == allocation.color):
                yield allocation

    def range_of(self, value: BufferValue) -> LiveRange | None:
        """Return when a value is live: as known, else throughout; None without live ranges."""
        return value.live or (LiveRange(0, self.live_ranges.end) if self.live_ranges else None)

    def live_at(
        self, position: int, color: int
    ) -> Iterator[tuple[Allocation, BufferValue, LiveRange]]:
        """Yield what is live at a position in a space, and when; zero-sized values left out."""
        for allocation in self.placed(color):
            for value in allocation.values:
                found = self.range_of(value)
                if found and found.start <= position <= found.end and value.size_bytes:
                    yield allocation, value, found

    def blocks_of(self, values: Sequence[BufferValue]) -> list[LiveBlock]:
        """Return which bytes values hold, and when; empty without live ranges."""
        return [
            LiveBlock(value.offset, value.offset + value.size_bytes, found.start, found.end)
            for value in values
            if (found := self.range_of(value))
        ]

    def measure(self, allocation: Allocation) -> tuple[Curve, list[list[int]]] | None:
        """Return an allocation's bytes in use, and the places of its values that share bytes.

        Values that share none while they live are in no group. None without live ranges, and of
        thread-local memory: it belongs to threads, not to the program.
        """
        if self.live_ranges is None or allocation.is_thread_local:
            return None
        if (known := self._curves.get(allocation.number)) is None:
            blocks = self.blocks_of(allocation.values)
            groups = join_blocks(blocks)
            known = self._curves[allocation.number] = add_up_groups(blocks, groups), groups
        return known

    def curve(self, color: int, only: AllocationType | None = None) -> Curve | None:
        """Return the bytes in use in a space over time, of one type of allocations or of all."""
        if self.live_ranges is None:
            return None
        if (color, None) not in self._sums:
            parts = group_by(self.placed(color), lambda one: one.allocation_type)
            # Allocations never share bytes, so curves of one space add up.
            sums = {each: self._add_up(ones) for each, ones in parts.items()}
            self._sums.update(((color, each), found) for each, found in sums.items())
            self._sums[color, None] = add_curves(list(sums.values()))
        return self._sums.get((color, only), Curve())

    def _add_up(self, parts: Sequence[Allocation]) -> Curve:
        """Add up allocations; of a single value, as in most of an estimate, no curve is needed."""
        alone = [one.values[0] for one in parts if len(one.values) == 1]
        measured = [self.measure(one) for one in parts if len(one.values) != 1]
        return add_curves([each[0] for each in measured if each], self.blocks_of(alone))


MOST_ALIASES: Final = 100  # named for one value; in-place chains have a handful


class Holding(Struct):
    """A live value that has bytes of its own: those of which its live range begins last.

    `live_bytes` counts them; `aliases` are the live values that lie in some of its
    bytes, the last to begin first, at most MOST_ALIASES of them.
    """

    allocation: Allocation
    value: BufferValue
    live_from: int
    live_until: int
    live_bytes: int = 0
    aliases: tuple[BufferValue, ...] = ()

    @property
    def low(self) -> int:
        """Its first byte in the allocation."""
        return self.value.offset

    @property
    def high(self) -> int:
        """The byte behind its last."""
        return self.value.offset + self.value.size_bytes

    @property
    def rank(self) -> tuple[int, int]:
        """Smaller for who takes the bytes: the last to begin, then the smaller number."""
        return -self.live_from, self.value.number


def list_holdings(memory: MemoryMap, position: int, color: int) -> list[Holding]:
    """Return who holds the bytes of a space at a position, largest first.

    Each byte belongs to the live value that begins last (ties: the smaller number), so that
    `live_bytes` add up to what is in use. Values without a byte of their own are only
    named as aliases. Empty without live ranges.
    """
    found = memory.live_at(position, color)
    holdings = [Holding(home, value, live.start, live.end) for home, value, live in found]
    for near in group_by(holdings, lambda one: one.allocation.number).values():
        _give_bytes(near)
        if len(near) > 1:  # in an estimate most are alone
            _name_aliases(near)
    with_bytes = (one for one in holdings if one.live_bytes)
    return sorted(with_bytes, key=lambda one: (-one.live_bytes, one.value.number))


def _give_bytes(live: list[Holding]) -> None:
    """Sweep over the bytes; each stretch goes to the value of the smallest rank over it."""
    starts = sorted(live, key=lambda one: one.low)
    borders = sorted({border for one in live for border in (one.low, one.high)})
    heap: list[tuple[tuple[int, int], int]] = []
    taken = 0
    for place, border in enumerate(borders[:-1]):
        while taken < len(starts) and starts[taken].low == border:
            heappush(heap, (starts[taken].rank, taken))
            taken += 1
        # Values that ended deeper in the heap are dropped when they come to its top.
        while heap and starts[heap[0][1]].high <= border:
            heappop(heap)
        if heap:
            starts[heap[0][1]].live_bytes += borders[place + 1] - border


def _name_aliases(live: list[Holding]) -> None:
    """Tell each value that holds bytes which others touch them, in the order of their first byte.

    No more than MOST_ALIASES are looked at for one value: in a hand-made assignment all values
    may share their bytes, and naming each beside each would take quadratic time.
    """
    starts = sorted(live, key=lambda one: one.low)
    lows = [one.low for one in starts]
    before: dict[int, list[Holding]] = {}  # by low: those that began below and reach it
    ends: list[tuple[int, int]] = []
    reaching: dict[int, Holding] = {}
    for place, one in enumerate(starts):
        if one.low not in before:
            while ends and ends[0][0] <= one.low:
                reaching.pop(heappop(ends)[1])
            before[one.low] = list(islice(reaching.values(), MOST_ALIASES))
        heappush(ends, (one.high, place))
        reaching[place] = one
    for one in starts:
        if one.live_bytes:
            first, end = bisect_left(lows, one.low), bisect_left(lows, one.high)
            near = starts[first : min(end, first + MOST_ALIASES + 1)]
            found = [other for other in (*before[one.low], *near) if other is not one]
            found.sort(key=lambda other: other.rank)
            one.aliases = tuple(other.value for other in found[:MOST_ALIASES])


def padding_bytes_of(value: BufferValue) -> int | None:
    """Return what tiles and allocator minima add to a value; None where that is unknown.

    So it is where the value is said to be smaller than its elements.
    """
    if (unpadded := unpadded_bytes_of(value)) is None or unpadded > value.size_bytes:
        return None
    return value.size_bytes - unpadded


def unpadded_bytes_of(value: BufferValue) -> int | None:
    """Return the bytes of a value's elements; a tuple's table has no tiles to leave out."""
    return value.size_bytes if isinstance(value.shape, TupleShape) else value.shape.unpadded_bytes


class Tenure(Node, eq=False):
    """Values of an allocation that share bytes while they live, directly or through others.

    Two tenures never hold a byte at one position, so that the curves of all that an allocation
    has add up to its own. `is_owner`: a parameter, an output or a constant, for which the
    allocation is there; others in it are guests.
    """

    allocation: Allocation
    values: list[BufferValue]
    blocks: list[LiveBlock]
    is_owner: bool = False

    @property
    def is_temp(self) -> bool:
        """Whether it lies among the temporaries."""
        return self.allocation.allocation_type == "temp"

    @property
    def end(self) -> int:
        """The last position at which one of its values is live."""
        return max(block.end for block in self.blocks)

    def curve(self) -> Curve:
        """Return the bytes it holds over time; its blocks are one group."""
        numbers = range(len(self.blocks))
        return add_up_groups(self.blocks, [numbers] if len(numbers) > 1 else ())


_STRETCH: Final = 16  # levels whose highest is written down


class SpacePeak:
    """The peak of one curve, and what it would be without parts of it; exact for this schedule."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self.positions = curve.positions
        self.peak_bytes, _ = curve.peak()
        self._levels = levels = (0, *curve.levels)  # level 0 is before the first
        stretches = [levels[at : at + _STRETCH] for at in range(0, len(levels), _STRETCH)]
        # rows[k][n]: the highest of the 2^k stretches from the n-th on.
        self._rows: list[list[int]] = [list(map(max, stretches))]
        self._gains: dict[frozenset[Tenure], int] = {}  # many values may be of one tenure

    def saving(self, tenures: Iterable[Tenure]) -> int:
        """Return how far the peak falls if all of these were not there; the next one stays.

        Something that is not alive at every position of the peak saves nothing.
        """
        parts = frozenset(tenures)
        if (found := self._gains.get(parts)) is None:
            part = add_curves([tenure.curve() for tenure in parts])
            found = self._gains[parts] = self.peak_bytes - self.peak_without(part)
        return found

    def peak_without(self, part: Curve) -> int:
        """Return the peak that is left when a part of the curve is taken away."""
        removed, first, highest = 0, 0, 0
        for position, level in zip(part.positions, part.levels, strict=True):
            last = bisect_left(self.positions, position)
            highest = max(highest, self._highest(first, last) - removed)
            first, removed = bisect_right(self.positions, position), level
        return max(highest, self._highest(first, len(self.positions)) - removed)

    def _highest(self, first: int, last: int) -> int:
        """Return the highest of the levels from one to another, both included.

        A sparse table over stretches of levels: a maximum takes constant time, and each row is made
        when it is first needed. Thousands of rows ask, of curves of tens of thousands of levels.
        """
        levels, rows = self._levels, self._rows
        begin, end = -(-first // _STRETCH), (last + 1) // _STRETCH  # the whole stretches between
        if begin >= end:
            return max(levels[first : last + 1])
        row = (end - begin).bit_length() - 1
        while len(rows) <= row:
            above, half = rows[-1], 1 << (len(rows) - 1)
            rows.append(list(map(max, above, above[half:])))
        around = levels[first : begin * _STRETCH] + levels[end * _STRETCH : last + 1]
        return max(rows[row][begin], rows[row][end - (1 << row)], *around)


T = TypeVar("T")


class Saving(Struct, Generic[T], frozen=True, dict=True):
    """The part of memory that a row is about, with what measures what several parts save.

    It is no part of what a row says: rows are compared, and written down, without it. So it has no
    fields; what it keeps stands beside them.
    """

    @classmethod
    def of(cls, measure: Callable[[list[T]], int], part: T | None) -> Self:
        """Keep a part, None where nothing can be saved, and what measures it."""
        found = cls()
        found.__dict__.update(measure=measure, part=part)
        return found

    @property
    def part(self) -> T | None:
        """The part; None of what was written down and read back too."""
        return self.__dict__.get("part")

    def together(self, others: Iterable[Saving[T]]) -> int:
        """Return what is saved without all of these, itself not counted unless named.

        Savings that are measured apart, as those of several spaces, are added up.
        """
        known = ((one.__dict__["measure"], one.part) for one in others if one.part is not None)
        return sum(measure(parts) for measure, parts in group_pairs(known).items())


class Tenures:
    """The tenures of some values of a program, worked out an allocation at a time, once."""

    def __init__(self, memory: MemoryMap, wanted: Collection[BufferValue]) -> None:
        self.memory = memory
        self.wanted = wanted
        self._known: dict[int, dict[BufferValue, Tenure]] = {}
        self._peaks: dict[int, SpacePeak] = {}

    def find_saving(self, allocation: Allocation, value: BufferValue) -> Saving[Tenure] | None:
        """Return what a row keeps of a value's bytes, None where nothing says when values live."""
        color = allocation.color
        if color not in self._peaks:
            if (curve := self.memory.curve(color)) is None:
                return None
            self._peaks[color] = SpacePeak(curve)
        return Saving.of(self._peaks[color].saving, self.of(allocation).get(value))

    def of(self, allocation: Allocation) -> dict[BufferValue, Tenure]:
        """Return the tenure of each wanted value of an allocation; one without a byte has none.

        None of them has where nothing says when values live, or in thread-local memory.
        """
        if (found := self._known.get(allocation.number)) is not None:
            return found
        found = self._known[allocation.number] = {}
        live_ranges, values = self.memory.live_ranges, allocation.values
        if live_ranges is None or allocation.is_thread_local:
            return found
        places = range(len(values))
        wanted = {at for at in places if values[at].size_bytes and values[at] in self.wanted}
        # A single value, as in most allocations of an estimate, needs no curve to be told apart.
        measured = self.memory.measure(allocation) if len(values) > 1 else None
        groups = [one for one in measured[1] if not wanted.isdisjoint(one)] if measured else []
        of = allocation.allocation_type
        for group in (*groups, *([at] for at in sorted(wanted.difference(*groups)))):
            held = [values[at] for at in group]
            blocks = self.memory.blocks_of(held)
            is_given = of in {"parameter", "constant"} and any(not one.start for one in blocks)
            leaves = of != "temp" and any(one.end >= live_ranges.end for one in blocks)
            tenure = Tenure(allocation, held, blocks, is_given or leaves)
            found.update((value, tenure) for value in held)
        return found
