"""Which nodes of a binary tree over time make up a stretch?

A tree of n leaves is a list of 2·n nodes: the root is 1, the leaves n to 2·n − 1 are moments, and
node k stands above 2·k and 2·k + 1.

Which bytes of a heap are in use at any time of a stretch?

Which of many pieces of memory are in use during a stretch of time?
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TypeAlias


def count_leaves(end: int) -> int:
    """Return the leaves of a tree over `end` moments, a power of two."""
    leaves = 1
    while leaves < end:
        leaves *= 2
    return leaves


def cover_stretch(leaves: int, begin: int, end: int) -> list[int]:
    """Return the fewest nodes that make up the moments from `begin` to before `end`."""
    low, high = begin + leaves, end + leaves
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


class Usage:
    """A tree over the time from each position to the next; numbers of memory are bits of a set.

    Each node keeps the memory that is in use throughout its time, and what is in use in a part
    of it. Ranges that meet in one position have no time in common.
    """

    def __init__(self, end: int) -> None:
        self.leaves = leaves = count_leaves(end)
        self.throughout = [0] * (2 * leaves)
        self.in_part = [0] * (2 * leaves)

    def add(self, number: int, start: int, end: int) -> None:
        """Say that a memory is in use from a position to another."""
        bit = 1 << number
        for node in cover_stretch(self.leaves, start, end):
            self.throughout[node] |= bit
        for moment in (start, end - 1) if start < end else ():
            node = moment + self.leaves >> 1
            while node and not self.in_part[node] & bit:
                self.in_part[node] |= bit
                node >>= 1

    def find(self, start: int, end: int) -> int:
        """Return the set of all memory in use at any time between two positions."""
        found = 0
        if start >= end:
            return found
        throughout = self.throughout
        for node in cover_stretch(self.leaves, start, end):
            found |= throughout[node] | self.in_part[node]
        left, right = start + self.leaves >> 1, end - 1 + self.leaves >> 1
        while left != right:
            found |= throughout[left] | throughout[right]
            left >>= 1
            right >>= 1
        while left:
            found |= throughout[left]
            left >>= 1
        return found
