"""How much work stands beside a collective, and how long does it take?"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from msgspec import Struct

from hlotool.analysis.cost.chips import Chip


class OverlapWork(Struct, frozen=True):
    """Instructions that work: how many, their flops and bytes, of how many a part is unknown.

    `limiting_flops` adds up the flops of those that the arithmetic of the meter's chip limits,
    weighed (`weigh_flops`),
    `limiting_bytes` the bytes of those that its memory limits. `taken_seconds` are those in which
    the work hides transfers inside, such as those of a loop's body: they hide no other.
    """

    instruction_count: int = 0
    flops: int = 0
    memory_bytes: int = 0
    unknown_count: int = 0
    limiting_flops: int = 0
    limiting_bytes: int = 0
    taken_seconds: Fraction | int = 0

    def plus(self, other: OverlapWork) -> OverlapWork:
        """Return both together."""
        return self.plus_rounds(other, 1)

    def without(self, part: OverlapWork) -> OverlapWork:
        """Return what is left without a part of it."""
        return self.plus_rounds(part, -1)

    def spare_seconds(self, chip: Chip) -> Fraction:
        """Return how long a chip takes at its peaks, without what is taken."""
        computing = self.limiting_flops / Fraction(chip.flops_per_second)
        return computing + move_seconds(self.limiting_bytes, chip) - self.taken_seconds

    def plus_rounds(self, other: OverlapWork, factor: int) -> OverlapWork:
        """Return this and so many rounds of another."""
        return OverlapWork(
            self.instruction_count + factor * other.instruction_count,
            self.flops + factor * other.flops,
            self.memory_bytes + factor * other.memory_bytes,
            self.unknown_count + factor * other.unknown_count,
            self.limiting_flops + factor * other.limiting_flops,
            self.limiting_bytes + factor * other.limiting_bytes,
            self.taken_seconds + factor * other.taken_seconds,
        )


NO_WORK: Final = OverlapWork()


def move_seconds(size_bytes: int, chip: Chip) -> Fraction:
    """Return how long the memory of a chip takes to move so many bytes."""
    return size_bytes / Fraction(chip.hbm_bytes_per_second)


def take_least(branches: Iterable[OverlapWork], chip: Chip) -> OverlapWork:
    """Return the branch that takes the chip the least time, of those alike the best known."""
    works = list(branches)
    return min(works, key=lambda one: (one.spare_seconds(chip), one.unknown_count), default=NO_WORK)
