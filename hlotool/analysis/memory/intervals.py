"""Bytes in use over time: curves, blocks that share bytes, and trees that say who is in use when.

A block is a range of bytes, [low, high), in use from one position of the schedule to another.
Values share bytes, at one time and over time; what is in use is the length of the union of the byte
ranges of the blocks that live. Blocks that share bytes while they live are a group; two groups
never hold a byte at one position, so their bytes simply add up. Only a group whose blocks are not
all the same bytes needs a tree.

    block        bytes      positions
    a            [0, 64)    0 … 2      a block alone: 64 bytes, while it lives
    b            [0, 64)    3 … 5      the same bytes, later
    c            [32, 96)   4 … 6      shares bytes with b while b lives: one group of both,
                                       whose union the tree adds up: 64, then 96, then 64
    position     0    3    4    6    7
    in use       64   64   96   64   0     as Curve((0, 4, 6, 7), (64, 96, 64, 0))

Positions of blocks and curves are moments, ends included. `Usage` and `ByteUsage`, which the
estimate asks where memory is free, are about the time between moments: `[begin, end)`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import isqrt
from typing import TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.sharing import Groups


class LiveBlock(Struct, frozen=True, gc=False):
    """The bytes [low, high) of an allocation, in use from position start to end, inclusive."""

    low: int
    high: int
    start: int
    end: int


class Curve(Struct, frozen=True):
    """Bytes in use over time: `levels[k]` from `positions[k]` to the next one; 0 before."""

    positions: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()

    def at(self, position: int) -> int:
        """Return the bytes in use at a position."""
        place = bisect_right(self.positions, position)
        return self.levels[place - 1] if place else 0

    def peak(self) -> tuple[int, int]:
        """Return the largest level and the first position that has it; (0, 0) if empty."""
        most = max(self.levels, default=0)
        return (most, self.positions[self.levels.index(most)]) if most else (0, 0)


def add_curves(curves: Sequence[Curve], alone: Sequence[LiveBlock] = ()) -> Curve:
    """Return the sum of several curves, and of blocks each in memory of its own."""
    if len(curves) == 1 and not alone:
        return curves[0]
    changes: dict[int, int] = {}
    add_blocks(alone, changes)
    for curve in curves:
        before = 0
        for position, level in zip(curve.positions, curve.levels, strict=True):
            changes[position] = changes.get(position, 0) + level - before
            before = level
    return make_curve(changes)


def add_up_groups(blocks: Sequence[LiveBlock], groups: Iterable[Sequence[int]]) -> Curve:
    """Return the length of the union of live byte ranges at every position, in O(n log n).

    `groups` are the numbers of the blocks that share bytes, as `join_blocks` returns them.
    """
    changes: dict[int, int] = {}
    grouped: set[int] = set()
    for group in groups:
        parts = [blocks[number] for number in group]
        low, high = parts[0].low, parts[0].high
        if all(one.low == low and one.high == high for one in parts):
            start, end = min(one.start for one in parts), max(one.end for one in parts)
            add_blocks([LiveBlock(low, high, start, end)], changes)
        else:
            add_union(parts, changes)
        grouped.update(group)
    add_blocks((one for number, one in enumerate(blocks) if number not in grouped), changes)
    return make_curve(changes)


def add_blocks(blocks: Iterable[LiveBlock], changes: dict[int, int]) -> None:
    """Add what blocks that share no bytes change where they begin, and behind their ends."""
    for block in blocks:
        size, start, behind = block.high - block.low, block.start, block.end + 1
        changes[start] = changes.get(start, 0) + size
        changes[behind] = changes.get(behind, 0) - size


def make_curve(changes: dict[int, int]) -> Curve:
    """Add up changes by position; positions where nothing changes are left out."""
    positions = tuple(sorted(position for position, change in changes.items() if change))
    return Curve(positions, tuple(accumulate([changes[one] for one in positions])))


# The bytes from one to another, until when they are needed, and the number of a block that is
# joined to all that need them.
_Cell: TypeAlias = tuple[int, int, int, int]


def join_blocks(blocks: Sequence[LiveBlock]) -> list[list[int]]:
    """Return the numbers of blocks that share a byte at a position, directly or through others.

    Blocks that share none are left out. O(n log n) steps: a sweep over time that keeps, for all
    bytes that any block has used so far, until when they are needed.
    """
    joined: Groups[int] = Groups()
    cells: dict[int, _Cell] = {}  # by their first byte
    lows: list[int] = []  # the first bytes of the cells, sorted
    starts = [block.start for block in blocks]
    for number in sorted(range(len(blocks)), key=starts.__getitem__):
        block = blocks[number]
        low, high, end = block.low, block.high, block.end
        cell = cells.get(low)
        if cell is not None and cell[1] == high:  # as most lie where others lay before
            if cell[2] >= block.start:
                joined.join(cell[3], number)
            cells[low] = low, high, max(end, cell[2]), number
        elif low < high:
            _lay(number, block, cells, lows, joined)
    return sorted(map(sorted, joined.all()))


def _lay(
    number: int, block: LiveBlock, cells: dict[int, _Cell], lows: list[int], joined: Groups[int]
) -> None:
    """Lay a block over the cells whose bytes it touches, and join it to those still needed."""
    low, high, end = block.low, block.high, block.end
    if (first := bisect_left(lows, low)) and cells[lows[first - 1]][1] > low:
        first -= 1
    last = bisect_left(lows, high, first)
    new: list[_Cell] = []
    behind: list[_Cell] = []
    done = low
    for place in lows[first:last]:
        cell_low, cell_high, cell_end, owner = cells.pop(place)
        if cell_low < low:
            new.append((cell_low, low, cell_end, owner))
        if cell_high > high:
            behind.append((high, cell_high, cell_end, owner))
        if cell_end >= block.start:
            joined.join(owner, number)
        if cell_end > end:  # these bytes are needed longer than the block needs them
            begin, until = max(cell_low, low), min(cell_high, high)
            if done < begin:
                new.append((done, begin, end, number))
            new.append((begin, until, cell_end, number))
            done = until
    if done < high:
        new.append((done, high, end, number))
    new += behind
    lows[first:last] = [cell[0] for cell in new]
    for cell in new:
        cells[cell[0]] = cell


class _SegmentTree:
    """A binary tree over leaves in order: the root is 1, below node k are 2·k and 2·k + 1.

    What holds for a stretch of leaves is written at the few nodes that make it up, O(log n), and
    not at each leaf; so who asks for a leaf, or sums things up, looks at the nodes above too.

        leaves 0 … 3 are nodes 4 … 7      cover(0, 3) is [6, 2]: leaf 2, and node 2 over 0 and 1
                                          climb(0, 3) is [2, 3, 1]: above leaves 0 and 2
    """

    def __init__(self, count: int) -> None:
        self.leaves = 1 << max(count - 1, 0).bit_length()

    def cover(self, begin: int, end: int) -> list[int]:
        """Return the fewest nodes that make up the leaves from `begin` to before `end`."""
        low, high = begin + self.leaves, end + self.leaves
        nodes: list[int] = []
        while low < high:
            if low & 1:
                nodes.append(low)
                low += 1
            if high & 1:
                high -= 1
                nodes.append(high)
            low >>= 1
            high >>= 1
        return nodes

    def climb(self, begin: int, end: int) -> list[int]:
        """Return all nodes above the first and the last leaf of a stretch, lower ones first."""
        left, right = begin + self.leaves >> 1, end - 1 + self.leaves >> 1
        nodes: list[int] = []
        while left:
            nodes.append(left)
            if right != left:
                nodes.append(right)
            left >>= 1
            right >>= 1
        return nodes


def add_union(blocks: Sequence[LiveBlock], changes: dict[int, int]) -> None:
    """Add the changes of the union's length, by a tree over the elementary byte ranges.

    Each node counts the blocks that cover all of it; this is the sweep for the area of a
    union of rectangles (J. L. Bentley, 1977).
    """
    borders = sorted({border for block in blocks for border in (block.low, block.high)})
    place_of = {border: place for place, border in enumerate(borders)}
    tree = _CoverTree(borders)
    events = [(block.start, number) for number, block in enumerate(blocks)]
    events += [(block.end + 1, ~number) for number, block in enumerate(blocks)]
    before = 0
    for position, number in sorted(events):
        block = blocks[number if number >= 0 else ~number]
        tree.add(place_of[block.low], place_of[block.high], 1 if number >= 0 else -1)
        if tree.covered[1] != before:
            changes[position] = changes.get(position, 0) + tree.covered[1] - before
            before = tree.covered[1]


class _CoverTree(_SegmentTree):
    """Length of the bytes that at least one of the added ranges covers: `covered[1]`."""

    def __init__(self, borders: Sequence[int]) -> None:
        super().__init__(len(borders) - 1)
        self.length = [0] * (2 * self.leaves)
        for place in range(len(borders) - 1):
            self.length[self.leaves + place] = borders[place + 1] - borders[place]
        for node in range(self.leaves - 1, 0, -1):
            self.length[node] = self.length[2 * node] + self.length[2 * node + 1]
        self.count = [0] * (2 * self.leaves)
        self.covered = [0] * (2 * self.leaves)

    def add(self, first: int, last: int, change: int) -> None:
        """Cover, or uncover, the elementary ranges [first, last) once more."""
        nodes = self.cover(first, last)
        for node in nodes:
            self.count[node] += change
        for node in (*nodes, *self.climb(first, last)):
            if self.count[node]:
                self.covered[node] = self.length[node]
            elif node < self.leaves:
                self.covered[node] = self.covered[2 * node] + self.covered[2 * node + 1]
            else:
                self.covered[node] = 0


class Usage(_SegmentTree):
    """Which of many pieces of memory are in use during a stretch of time: bits of a set.

    Each node keeps the memory that is in use throughout its time, and what comes into use in it.
    What is in use during a stretch is so at its beginning, as the nodes above that leaf say, or
    comes into use within it. Ranges that meet in one position have no time in common.
    """

    def __init__(self, end: int) -> None:
        super().__init__(end)
        self.throughout = [0] * (2 * self.leaves)
        self.begun = [0] * (2 * self.leaves)

    def add(self, number: int, start: int, end: int) -> None:
        """Say that a memory is in use from a position to another."""
        if start < end:
            bit = 1 << number
            for node in self.cover(start, end):
                self.throughout[node] |= bit
            node = start + self.leaves
            while node and not self.begun[node] & bit:  # else those above have it
                self.begun[node] |= bit
                node >>= 1

    def find(self, start: int, end: int) -> int:
        """Return the set of all memory in use at any time between two positions."""
        found = 0
        if start < end:
            for node in self.cover(start, end):
                found |= self.begun[node]
            node = start + self.leaves
            while node:
                found |= self.throughout[node]
                node >>= 1
        return found


ByteRange: TypeAlias = tuple[int, int]


class ByteUsage(_SegmentTree):
    """Which bytes of a heap, in any unit, are in use during spans of time, `[0, end)`.

    Time is cut into as many stretches as a stretch has moments. Bytes in use throughout a stretch
    are in its `whole`, what is in use in a part of it in its `parts`, with its span. Each node of
    the tree over stretches has the bytes that come into use in its time. All are in order, which is
    quick to merge; all but the parts are ranges `[low, high)` that do not touch, so that those of a
    full heap are few.
    """

    def __init__(self, end: int) -> None:
        self.width = isqrt(end) or 1
        count = end // self.width + 1
        super().__init__(count)
        self.whole: list[list[ByteRange]] = [[] for _ in range(count)]
        self.parts: list[list[tuple[ByteRange, int, int]]] = [[] for _ in range(count)]
        self.begun: list[list[ByteRange]] = [[] for _ in range(2 * self.leaves)]

    def add(self, low: int, high: int, spans: Iterable[tuple[int, int]]) -> None:
        """Say that the bytes [low, high) are in use in some spans of time."""
        for begin, end in spans:
            first, last = begin // self.width, (end - 1) // self.width
            part = (low, high), begin, end
            insort(self.parts[first], part)
            if first < last:
                insort(self.parts[last], part)
            for stretch in range(first + 1, last):
                join_range(self.whole[stretch], low, high)
            node = first + self.leaves
            while node and join_range(self.begun[node], low, high):  # else those above have them
                node >>= 1

    def find(self, spans: Iterable[tuple[int, int]]) -> list[ByteRange]:
        """Return all bytes in use at any time of some spans, in order; some several times."""
        found: list[ByteRange] = []
        for begin, end in spans:
            first, last = begin // self.width, (end - 1) // self.width
            found += self.whole[first]
            for stretch in (first, last) if first < last else (first,):
                parts = self.parts[stretch]
                found += [used for used, since, until in parts if since < end and begin < until]
            for node in self.cover(first + 1, last):
                found += self.begun[node]
        found.sort()
        return found


def join_range(ranges: list[ByteRange], low: int, high: int) -> bool:
    """Add [low, high) to ranges in order that do not touch; say whether that changes them."""
    last = bisect_left(ranges, (high + 1, 0))
    if not last or ranges[last - 1][1] < low:
        ranges.insert(last, (low, high))
        return True
    start, end = ranges[last - 1]
    if start <= low and end >= high:
        return False
    high = max(high, end)
    first = last - 1
    while first and ranges[first - 1][1] >= low:
        first -= 1
        start = ranges[first][0]
    ranges[first:last] = [(min(low, start), high)]
    return True
