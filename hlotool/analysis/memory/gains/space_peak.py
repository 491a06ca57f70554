"""How far does the peak of a memory space fall without some of its bytes?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final

from hlotool.analysis.memory.curve import Curve, add_curves
from hlotool.analysis.memory.gains.tenure import Tenure

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
        """Return the highest of the levels from one to another, both included."""
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
