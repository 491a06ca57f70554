"""Which values hold the same bytes, from when the first takes them until the last is done?

A value hands its bytes on while both are live: to what is written over it, to the next round of a
loop, to the output that a donated parameter becomes. What only comes to lie there later, when
nothing lives there, has them anew.

    value        bytes      positions
    a            [0, 64)    0 … 2      a tenure of 64 bytes, 0 … 5: a, and b that took over
    b            [0, 64)    2 … 5
    c            [0, 64)    6 … 9      another
    d            [64, 96)   4 … 9      and a third, of 32 bytes
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from typing import NamedTuple

from hlotool.analysis.memory.curve import Curve, OccupiedBlock
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.occupancy import occupancy
from hlotool.ir.buffers import Allocation, BufferValue
from hlotool.ir.node import Node


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
    def end(self) -> int:
        """The last position at which one of its values is live."""
        return max(block.end for block in self.blocks)

    def curve(self) -> Curve:
        """Return the bytes it holds over time."""
        return occupancy(self.blocks)


class Tenures:
    """Finds the tenures of some values, an allocation at a time; each is worked out once."""

    def __init__(self, memory: MemoryMap, wanted: Collection[BufferValue]) -> None:
        self.memory = memory
        self.wanted = wanted
        self._known: dict[int, dict[BufferValue, Tenure]] = {}

    def of(self, allocation: Allocation) -> dict[BufferValue, Tenure]:
        """Return the tenure of each wanted value of an allocation; one without a byte has none.

        None of them has where nothing says when values live, or in thread-local memory.
        """
        known = self._known.get(allocation.number)
        if known is None:
            known = self._known[allocation.number] = self._find(allocation)
        return known

    def _find(self, allocation: Allocation) -> dict[BufferValue, Tenure]:
        if self.memory.lifetimes is None or allocation.is_thread_local:
            return {}
        values, blocks = [], []
        for value in allocation.values:
            live = self.memory.range_of(value)
            if live is not None and value.size_bytes:
                low = value.offset
                values.append(value)
                blocks.append(OccupiedBlock(low, low + value.size_bytes, live.start, live.end))
        found: dict[BufferValue, Tenure] = {}
        wanted = [number for number, value in enumerate(values) if value in self.wanted]
        for numbers in join_blocks(blocks, wanted):
            held = [values[number] for number in numbers]
            parts = [blocks[number] for number in numbers]
            tenure = Tenure(
                allocation, held, parts, _is_owner(allocation, parts, self.memory.lifetimes.end)
            )
            found.update((value, tenure) for value in held)
        return found


def _is_owner(allocation: Allocation, blocks: Sequence[OccupiedBlock], last: int) -> bool:
    """Whether an allocation is there for some of its values: what is given, and what leaves."""
    of = allocation.allocation_class
    is_given = of in {"parameter", "constant"} and any(not block.start for block in blocks)
    return is_given or (of != "temp" and any(block.end >= last for block in blocks))


class _Cell(NamedTuple):
    """The bytes [low, high), which `block` and others joined to it need until `end`."""

    low: int
    high: int
    end: int
    block: int


def join_blocks(blocks: Sequence[OccupiedBlock], wanted: Collection[int]) -> list[list[int]]:
    """Return the numbers of blocks that share a byte at a position, directly or through others.

    Groups without a `wanted` number are left out, and so are empty blocks. A sweep over time, in
    O(n log n) steps.
    """
    joined = _Joined(len(blocks))
    cells: list[_Cell] = []
    lows: list[int] = []  # of the cells
    used = [number for number, block in enumerate(blocks) if block.high > block.low]
    if len(used) == 1:  # as in most allocations of an estimate
        return [used] if wanted else []
    for number in sorted(used, key=lambda number: blocks[number].start):
        low, high, start, end = blocks[number]
        first = bisect_right(lows, low)
        if first and cells[first - 1].high > low:
            first -= 1
        last = bisect_left(lows, high)
        over = cells[first:last]
        new = [_Cell(low, high, end, number)]
        for cell in over:
            if cell.end >= start:
                joined.join(cell.block, number)
                if cell.end > end:
                    new = _lay_over(new, cell)
        if over and over[0].low < low:
            new.insert(0, over[0]._replace(high=low))
        if over and over[-1].high > high:
            new.append(over[-1]._replace(low=high))
        cells[first:last] = new
        lows[first:last] = [cell.low for cell in new]
    return joined.groups(used, wanted)


def _lay_over(cells: list[_Cell], longer: _Cell) -> list[_Cell]:
    """Let bytes of the last of some cells be needed as long as an older cell needs them."""
    *before, cell = cells
    low, high = max(cell.low, longer.low), min(cell.high, longer.high)
    parts = (cell._replace(high=low), _Cell(low, high, longer.end, cell.block))
    after = cell._replace(low=high)
    return [*before, *(part for part in (*parts, after) if part.low < part.high)]


class _Joined:
    """Numbers in groups; the roots of trees stand for them."""

    def __init__(self, count: int) -> None:
        self.parents = list(range(count))

    def join(self, one: int, other: int) -> None:
        """Say that two numbers are in one group."""
        self.parents[self._root(one)] = self._root(other)

    def groups(self, numbers: Sequence[int], wanted: Collection[int]) -> list[list[int]]:
        """Return the groups of some numbers, in their order, that hold a wanted one."""
        roots = set(map(self._root, wanted))
        found: dict[int, list[int]] = {}
        for number in numbers:
            root = self._root(number)
            if root in roots:
                found.setdefault(root, []).append(number)
        return list(found.values())

    def _root(self, number: int) -> int:
        parents = self.parents
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number
