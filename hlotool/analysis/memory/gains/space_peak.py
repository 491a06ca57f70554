"""How far does the peak of a memory space fall without some of its bytes?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import isqrt

from hlotool.analysis.memory.curve import Curve, add_curves
from hlotool.analysis.memory.gains.tenure import Tenure


class SpacePeak:
    """The peak of one curve, and what it would be without parts of it; exact for this schedule."""

    def __init__(self, curve: Curve) -> None:
        self.positions = curve.positions
        self.peak_bytes, _ = curve.peak()
        self._levels = (0, *curve.levels)  # level 0 is before the first
        # The highest of each stretch of levels; as many stretches as levels in each.
        self._length = length = isqrt(len(self._levels))
        self._highs = [
            max(self._levels[at : at + length]) for at in range(0, len(self._levels), length)
        ]

    def gain(self, tenures: Iterable[Tenure]) -> int:
        """Return how far the peak falls if all of these were not there; the next one stays.

        Something that is not alive at every position of the peak gains nothing.
        """
        return self.peak_bytes - self.peak_without(
            add_curves(tenure.curve() for tenure in set(tenures))
        )

    def peak_without(self, part: Curve) -> int:
        """Return the peak that is left when a part of the curve is taken away."""
        removed, first, highest = 0, 0, 0
        for position, level in zip(part.positions, part.levels, strict=True):
            last = bisect_left(self.positions, position)
            highest = max(highest, self._highest(first, last) - removed)
            first, removed = bisect_right(self.positions, position), level
        return max(highest, self._highest(first, len(self.positions)) - removed)

    def _highest(self, first: int, last: int) -> int:
        """Return the highest of the levels from one to another, both included."""
        levels, length = self._levels, self._length
        begin, end = -(-first // length), (last + 1) // length  # the whole stretches between
        if begin >= end:
            return max(levels[first : last + 1])
        whole = max(self._highs[begin:end])
        around = (*levels[first : begin * length], *levels[end * length : last + 1])
        return max(whole, *around) if around else whole
