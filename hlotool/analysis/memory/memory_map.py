"""The memory map: which bytes of which allocation are in use at every position, and who has them.

`MemoryMap` joins a buffer assignment with lifetimes and measures the curves of its allocations.
`list_holdings` gives each byte that is in use at a position to one value. What a value's size
consists of, elements and padding, stands at the end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Final

from msgspec import Struct, field

from hlotool.analysis.dataflow.lifetimes import Lifetimes
from hlotool.analysis.memory.intervals import (
    Curve,
    OccupiedBlock,
    add_curves,
    add_up_groups,
    join_blocks,
)
from hlotool.hlo import TupleShape
from hlotool.hlo.buffers import (
    Allocation,
    AllocationClass,
    BufferAssignment,
    BufferValue,
    LiveRange,
)


class MemoryMap(Struct, frozen=True):
    """An assignment with its lifetimes, None where nothing says when values are live.

    A value without a range, such as a constant of a fused computation, is live throughout.
    Curves are measured when they are asked for, and kept: `_curves`, with the places of values that
    share bytes, by the number of the allocation, `_sums` by space and class.
    """

    assignment: BufferAssignment
    lifetimes: Lifetimes | None
    _curves: dict[int, tuple[Curve, list[list[int]]]] = field(default_factory=dict)
    _sums: dict[tuple[int, AllocationClass | None], Curve] = field(default_factory=dict)

    def colors(self) -> tuple[int, ...]:
        """Return the memory spaces that hold anything beside thread-local memory, and 0."""
        return tuple(sorted({0} | {one.color for one in self.placed()}))

    def placed(self, color: int | None = None) -> Iterator[Allocation]:
        """Yield the allocations of a space, or of all, without thread-local ones."""
        for allocation in self.assignment.allocations:
            if not allocation.is_thread_local and color in {None, allocation.color}:
                yield allocation

    def range_of(self, value: BufferValue) -> LiveRange | None:
        """Return when a value is live: as known, else throughout; None without lifetimes."""
        return value.live or (LiveRange(0, self.lifetimes.end) if self.lifetimes else None)

    def live_at(
        self, position: int, color: int
    ) -> Iterator[tuple[Allocation, BufferValue, LiveRange]]:
        """Yield what is live at a position in a space, and when; zero-sized values left out."""
        for allocation in self.placed(color):
            for value in allocation.values:
                found = self.range_of(value)
                if found and found.start <= position <= found.end and value.size_bytes:
                    yield allocation, value, found

    def blocks_of(self, values: Sequence[BufferValue]) -> list[OccupiedBlock]:
        """Return which bytes values hold, and when; empty without lifetimes."""
        return [
            OccupiedBlock(value.offset, value.offset + value.size_bytes, found.start, found.end)
            for value in values
            if (found := self.range_of(value))
        ]

    def measure(self, allocation: Allocation) -> tuple[Curve, list[list[int]]] | None:
        """Return an allocation's bytes in use, and the places of its values that share bytes.

        Values that share none while they live are in no group. None without lifetimes, and of
        thread-local memory: it belongs to threads, not to the program.
        """
        if self.lifetimes is None or allocation.is_thread_local:
            return None
        known = self._curves.get(allocation.number)
        if known is None:
            blocks = self.blocks_of(allocation.values)
            groups = join_blocks(blocks)
            known = self._curves[allocation.number] = add_up_groups(blocks, groups), groups
        return known

    def curve(self, color: int, only: AllocationClass | None = None) -> Curve | None:
        """Return the bytes in use in a space over time, of one class of allocations or of all."""
        if self.lifetimes is None:
            return None
        found = self._sums.get((color, only))
        if found is None:
            parts = [one for one in self.placed(color) if only in {None, one.allocation_class}]
            # Allocations never share bytes, so curves of one space add up. Of a single value, as in
            # most of an estimate, no curve is needed.
            alone = [one.values[0] for one in parts if len(one.values) == 1]
            measured = [self.measure(one) for one in parts if len(one.values) != 1]
            curves = [each[0] for each in measured if each]
            found = self._sums[color, only] = add_curves(curves, self.blocks_of(alone))
        return found


MOST_ALIASES: Final = 100  # named for one value; in-place chains have a handful


class Holding(Struct):
    """A live value that has bytes of its own: those of which it is the value born last.

    `occupied_bytes` counts them; `aliases` are the live values that lie in some of its
    bytes, born last first, at most MOST_ALIASES of them.
    """

    allocation: Allocation
    value: BufferValue
    born: int
    dies: int
    occupied_bytes: int = 0
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
        """Smaller for who takes the bytes: born last, then the smaller number."""
        return -self.born, self.value.number


def list_holdings(memory: MemoryMap, position: int, color: int) -> list[Holding]:
    """Return who holds the bytes of a space at a position, largest first.

    Each byte belongs to the live value born last (ties: the smaller number), so that
    `occupied_bytes` add up to what is in use. Values without a byte of their own are only
    named as aliases. Empty without lifetimes.
    """
    by_allocation: dict[int, list[Holding]] = {}
    for allocation, value, found in memory.live_at(position, color):
        one = Holding(allocation, value, found.start, found.end)
        by_allocation.setdefault(allocation.number, []).append(one)
    for live in by_allocation.values():
        _give_bytes(live)
        if len(live) > 1:  # in an estimate most are alone
            _name_aliases(live)
    holdings = [one for live in by_allocation.values() for one in live if one.occupied_bytes]
    return sorted(holdings, key=lambda one: (-one.occupied_bytes, one.value.number))


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
            starts[heap[0][1]].occupied_bytes += borders[place + 1] - border


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
        if one.occupied_bytes:
            first, end = bisect_left(lows, one.low), bisect_left(lows, one.high)
            near = starts[first : min(end, first + MOST_ALIASES + 1)]
            found = [other for other in (*before[one.low], *near) if other is not one]
            found.sort(key=lambda other: other.rank)
            one.aliases = tuple(other.value for other in found[:MOST_ALIASES])


def padding_bytes_of(value: BufferValue) -> int | None:
    """Return what tiles and allocator minima add to a value; None where that is unknown.

    So it is where the value is said to be smaller than its elements.
    """
    unpadded = unpadded_bytes_of(value)
    if unpadded is None or unpadded > value.size_bytes:
        return None
    return value.size_bytes - unpadded


def unpadded_bytes_of(value: BufferValue) -> int | None:
    """Return the bytes of a value's elements; a tuple's table has no tiles to leave out."""
    return value.size_bytes if isinstance(value.shape, TupleShape) else value.shape.unpadded_bytes
