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
