"""Which of many pieces of memory are in use during a stretch of time?"""

from __future__ import annotations

from hlotool.analysis.memory.estimate.time_tree import count_leaves, cover_stretch


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
        for node in self._above(start, end):
            self.in_part[node] |= bit

    def find(self, start: int, end: int) -> int:
        """Return the set of all memory in use at any time between two positions."""
        found = 0
        for node in cover_stretch(self.leaves, start, end):
            found |= self.throughout[node] | self.in_part[node]
        for node in self._above(start, end):
            found |= self.throughout[node]
        return found

    def _above(self, start: int, end: int) -> list[int]:
        """Return the nodes above the first and the last moment of a stretch."""
        if start >= end:
            return []
        left, right = start + self.leaves, end - 1 + self.leaves
        nodes: list[int] = []
        while left > 1:
            left >>= 1
            right >>= 1
            nodes += {left, right}
        return nodes
