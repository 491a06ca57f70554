"""How much work stands beside a collective, and how much of a transfer can it hide?"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from msgspec import Struct

from hlotool.analysis.cost.chips import Chip


class OverlapWork(Struct, frozen=True):
    """Instructions that work: how many, their flops and bytes, of how many a part is unknown.

    `flops_at` adds up the flops of those that the arithmetic of a chip limits, `bytes_at` the
    bytes of those that its memory limits; one figure for each chip that the meter was given.
    """

    instruction_count: int = 0
    flops: int = 0
    memory_bytes: int = 0
    unknown_count: int = 0
    flops_at: tuple[int, ...] = ()
    bytes_at: tuple[int, ...] = ()

    def plus(self, other: OverlapWork) -> OverlapWork:
        """Return both together."""
        return self.plus_rounds(other, 1)

    def without(self, part: OverlapWork) -> OverlapWork:
        """Return what is left without a part of it."""
        return self.plus_rounds(part, -1)

    def hidden_bytes(self, chip: Chip, place: int) -> Fraction:
        """Return how many bytes the memory of the chip at `place` moves in the same time."""
        if not self.flops_at:
            return Fraction()
        seconds = Fraction(self.flops_at[place]) / Fraction(chip.flops_per_second)
        return self.bytes_at[place] + seconds * Fraction(chip.hbm_bytes_per_second)

    def seconds(self, chip: Chip, place: int) -> float:
        """Return how long the chip at `place` takes at its peaks."""
        return float(self.hidden_bytes(chip, place) / Fraction(chip.hbm_bytes_per_second))

    def plus_rounds(self, other: OverlapWork, factor: int) -> OverlapWork:
        """Return this and so many rounds of another."""
        return OverlapWork(
            self.instruction_count + factor * other.instruction_count,
            self.flops + factor * other.flops,
            self.memory_bytes + factor * other.memory_bytes,
            self.unknown_count + factor * other.unknown_count,
            _add_all(self.flops_at, other.flops_at, factor),
            _add_all(self.bytes_at, other.bytes_at, factor),
        )


NO_WORK: Final = OverlapWork()


def _add_all(left: tuple[int, ...], right: tuple[int, ...], factor: int) -> tuple[int, ...]:
    """Add figures chip by chip; no work has none."""
    if not right:
        return left
    left = left or (0,) * len(right)
    return tuple(one + factor * other for one, other in zip(left, right, strict=True))


def take_largest(branches: Iterable[OverlapWork]) -> OverlapWork:
    """Return the largest of each figure."""
    works = [one for one in branches if one.instruction_count]
    if not works:
        return NO_WORK
    return OverlapWork(
        max(one.instruction_count for one in works),
        max(one.flops for one in works),
        max(one.memory_bytes for one in works),
        max(one.unknown_count for one in works),
        tuple(map(max, zip(*(one.flops_at for one in works), strict=True))),
        tuple(map(max, zip(*(one.bytes_at for one in works), strict=True))),
    )
