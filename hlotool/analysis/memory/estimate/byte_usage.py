"""Which bytes of a heap are in use at any time of a stretch?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TypeAlias

from hlotool.analysis.memory.estimate.time_tree import count_leaves, cover_stretch

_Range: TypeAlias = tuple[int, int]


class ByteUsage:
    """A tree over the moments when anything begins or ends.

    Each node keeps the bytes that are in use throughout its time, and in a part of it. Bytes are
    ranges `[low, high)` in order that do not touch. What is in use in a part of a node is so in a
    part of each node above it.
    """

    def __init__(self, moments: Iterable[int]) -> None:
        self.leaf_of = {moment: leaf for leaf, moment in enumerate(sorted(set(moments)))}
        self.leaves = count_leaves(len(self.leaf_of))
        self.throughout: list[list[_Range]] = [[] for _ in range(2 * self.leaves)]
        self.in_part: list[list[_Range]] = [[] for _ in range(2 * self.leaves)]

    def add(self, low: int, high: int, spans: Iterable[tuple[int, int]]) -> None:
        """Say that the bytes [low, high) are in use in some spans of time."""
        for begin, end in self._between_leaves(spans):
            for node in cover_stretch(self.leaves, begin, end):
                _join(self.throughout[node], low, high)
            for leaf in (begin, end - 1):
                node = leaf + self.leaves >> 1
                while node and _join(self.in_part[node], low, high):
                    node >>= 1

    def find(self, spans: Iterable[tuple[int, int]]) -> list[_Range]:
        """Return all bytes in use at any time of some spans, in order; some several times."""
        found: list[_Range] = []
        throughout = self.throughout
        for begin, end in self._between_leaves(spans):
            for node in cover_stretch(self.leaves, begin, end):
                found += self.in_part[node]
                found += throughout[node]
            left, right = begin + self.leaves >> 1, end - 1 + self.leaves >> 1
            while left != right:
                found += throughout[left]
                found += throughout[right]
                left >>= 1
                right >>= 1
            while left:
                found += throughout[left]
                left >>= 1
        found.sort()
        return found

    def _between_leaves(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(self.leaf_of[begin], self.leaf_of[end]) for begin, end in spans]


def _join(ranges: list[_Range], low: int, high: int) -> bool:
    """Put the bytes [low, high) in use too; say whether any was not."""
    last = bisect_left(ranges, (high + 1, 0))
    if not last or ranges[last - 1][1] < low:
        ranges.insert(last, (low, high))
        return True
    start, end = ranges[last - 1]
    if start <= low and end >= high:
        return False
    first = last - 1
    while first and ranges[first - 1][1] >= low:
        first -= 1
    ranges[first:last] = [(min(low, ranges[first][0]), max(high, end))]
    return True
