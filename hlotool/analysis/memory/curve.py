"""How are bytes in use over time written down, and added up?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import Struct


class OccupiedBlock(Struct, frozen=True, gc=False):
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
        if not self.levels:
            return 0, 0
        most = max(self.levels)
        return (most, self.positions[self.levels.index(most)]) if most else (0, 0)


def add_curves(curves: Sequence[Curve], alone: Sequence[OccupiedBlock] = ()) -> Curve:
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


def add_blocks(blocks: Iterable[OccupiedBlock], changes: dict[int, int]) -> None:
    """Add what blocks that share no bytes change where they begin, and behind their ends."""
    for block in blocks:
        size, start, behind = block.high - block.low, block.start, block.end + 1
        changes[start] = changes.get(start, 0) + size
        changes[behind] = changes.get(behind, 0) - size


def make_curve(changes: dict[int, int]) -> Curve:
    """Add up changes by position; positions where nothing changes are left out."""
    positions = tuple(sorted(position for position, change in changes.items() if change))
    return Curve(positions, tuple(accumulate([changes[one] for one in positions])))
