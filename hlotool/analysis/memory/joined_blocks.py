"""Which blocks of an allocation share bytes while they live, directly or through others?

A sweep over time keeps, for all bytes that anything has used so far, until when they are needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

from hlotool.analysis.dataflow.groups import Groups
from hlotool.analysis.memory.curve import OccupiedBlock

# The bytes from one to another, until when they are needed, and the number of a block that is
# joined to all that need them.
_Cell: TypeAlias = tuple[int, int, int, int]


def join_blocks(blocks: Sequence[OccupiedBlock]) -> list[list[int]]:
    """Return the numbers of blocks that share a byte at a position, directly or through others.

    Blocks that share none are left out. O(n log n) steps.
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
    number: int,
    block: OccupiedBlock,
    cells: dict[int, _Cell],
    lows: list[int],
    joined: Groups[int],
) -> None:
    """Lay a block over the cells whose bytes it touches, and join it to those still needed."""
    low, high, end = block.low, block.high, block.end
    first = bisect_left(lows, low)
    if first and cells[lows[first - 1]][1] > low:
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
