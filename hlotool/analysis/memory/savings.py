"""Savings: how far the peak of a memory space falls without some of the bytes that values hold.

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
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Final, Generic, Self, TypeVar

from msgspec import Struct

from hlotool.analysis.memory.intervals import Curve, OccupiedBlock, add_curves, add_up_groups
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.hlo.buffers import Allocation, BufferValue
from hlotool.hlo.module import Node


class Tenure(Node, eq=False):
    """Values of an allocation that share bytes while they live, directly or through others.

    Two tenures never hold a byte at one position, so that the curves of all that an allocation
    has add up to its own. `is_owner`: a parameter, an output or a constant, for which the
    allocation is there; others in it are guests.
    """

    allocation: Allocation
    values: list[BufferValue]
    blocks: list[OccupiedBlock]
    is_owner: bool = False

    @property
    def is_temp(self) -> bool:
        """Whether it lies among the temporaries."""
        return self.allocation.allocation_class == "temp"

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
        self.positions = curve.positions
        self.peak_bytes, _ = curve.peak()
        self._levels = levels = (0, *curve.levels)  # level 0 is before the first
        stretches = [levels[at : at + _STRETCH] for at in range(0, len(levels), _STRETCH)]
        # rows[k][n]: the highest of the 2^k stretches from the n-th on.
        self._rows: list[list[int]] = [list(map(max, stretches))]
        self._gains: dict[frozenset[Tenure], int] = {}  # many values may be of one tenure

    def gain(self, tenures: Iterable[Tenure]) -> int:
        """Return how far the peak falls if all of these were not there; the next one stays.

        Something that is not alive at every position of the peak gains nothing.
        """
        parts = frozenset(tenures)
        found = self._gains.get(parts)
        if found is None:
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
    """The part of memory that a row is about, with what measures the gain of several parts.

    It is no part of what a row says: rows are compared, and written down, without it. So it has no
    fields; what it keeps stands beside them.
    """

    @classmethod
    def of(cls, measure: Callable[[list[T]], int], part: T | None) -> Self:
        """Keep a part, None where nothing can be gained, and what measures it."""
        found = cls()
        found.__dict__.update(measure=measure, part=part)
        return found

    @property
    def part(self) -> T | None:
        """The part; None of what was written down and read back too."""
        return self.__dict__.get("part")

    def together(self, others: Iterable[Saving[T]]) -> int:
        """Return what is gained without all of these, itself not counted unless named.

        Gains that are measured apart, as those of several spaces, are added up.
        """
        parts: dict[Callable[[list[T]], int], list[T]] = defaultdict(list)
        for one in others:
            if one.part is not None:
                parts[one.__dict__["measure"]].append(one.part)
        return sum(measure(found) for measure, found in parts.items())


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
            curve = self.memory.curve(color)
            if curve is None:
                return None
            self._peaks[color] = SpacePeak(curve)
        return Saving.of(self._peaks[color].gain, self.of(allocation).get(value))

    def of(self, allocation: Allocation) -> dict[BufferValue, Tenure]:
        """Return the tenure of each wanted value of an allocation; one without a byte has none.

        None of them has where nothing says when values live, or in thread-local memory.
        """
        found = self._known.get(allocation.number)
        if found is not None:
            return found
        found = self._known[allocation.number] = {}
        lifetimes, values = self.memory.lifetimes, allocation.values
        if lifetimes is None or allocation.is_thread_local:
            return found
        places = range(len(values))
        wanted = {at for at in places if values[at].size_bytes and values[at] in self.wanted}
        # A single value, as in most allocations of an estimate, needs no curve to be told apart.
        measured = self.memory.measure(allocation) if len(values) > 1 else None
        groups = [one for one in measured[1] if not wanted.isdisjoint(one)] if measured else []
        of = allocation.allocation_class
        for group in (*groups, *([at] for at in sorted(wanted.difference(*groups)))):
            held = [values[at] for at in group]
            blocks = self.memory.blocks_of(held)
            is_given = of in {"parameter", "constant"} and any(not one.start for one in blocks)
            leaves = of != "temp" and any(one.end >= lifetimes.end for one in blocks)
            tenure = Tenure(allocation, held, blocks, is_given or leaves)
            found.update((value, tenure) for value in held)
        return found
