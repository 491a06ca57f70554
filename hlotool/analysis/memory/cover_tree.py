"""How many bytes do blocks cover that overlap without being equal?"""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.analysis.memory.curve import OccupiedBlock


def add_union(blocks: Sequence[OccupiedBlock], changes: dict[int, int]) -> None:
    """Add the changes of the union's length, by a tree over the elementary byte ranges.

    Each node counts the blocks that cover all of it; this is the sweep for the area of a
    union of rectangles (J. L. Bentley, 1977).
    """
    borders = sorted({border for block in blocks for border in (block.low, block.high)})
    place_of = {border: place for place, border in enumerate(borders)}
    tree = _CoverTree(borders)
    events = [(block.start, number) for number, block in enumerate(blocks)]
    events += [(block.end + 1, ~number) for number, block in enumerate(blocks)]
    before = 0
    for position, number in sorted(events):
        block = blocks[number if number >= 0 else ~number]
        tree.add(place_of[block.low], place_of[block.high], 1 if number >= 0 else -1)
        if tree.covered[1] != before:
            changes[position] = changes.get(position, 0) + tree.covered[1] - before
            before = tree.covered[1]


class _CoverTree:
    """Length of the bytes that at least one of the added ranges covers: `covered[1]`."""

    def __init__(self, borders: Sequence[int]) -> None:
        leaves = 1
        while leaves < len(borders) - 1:
            leaves *= 2
        self.leaves = leaves
        self.length = [0] * (2 * leaves)
        for place in range(len(borders) - 1):
            self.length[leaves + place] = borders[place + 1] - borders[place]
        for node in range(leaves - 1, 0, -1):
            self.length[node] = self.length[2 * node] + self.length[2 * node + 1]
        self.count = [0] * (2 * leaves)
        self.covered = [0] * (2 * leaves)

    def add(self, first: int, last: int, change: int) -> None:
        """Cover, or uncover, the elementary ranges [first, last) once more."""
        low, high = first + self.leaves, last + self.leaves
        left, right = low >> 1, (high - 1) >> 1
        while low < high:
            if low & 1:
                self._change(low, change)
                low += 1
            if high & 1:
                high -= 1
                self._change(high, change)
            low >>= 1
            high >>= 1
        while left != right:
            self._update(left)
            self._update(right)
            left >>= 1
            right >>= 1
        while left:
            self._update(left)
            left >>= 1

    def _change(self, node: int, change: int) -> None:
        self.count[node] += change
        if self.count[node]:
            self.covered[node] = self.length[node]
        elif node < self.leaves:
            self.covered[node] = self.covered[2 * node] + self.covered[2 * node + 1]
        else:
            self.covered[node] = 0

    def _update(self, node: int) -> None:
        if not self.count[node]:
            self.covered[node] = self.covered[2 * node] + self.covered[2 * node + 1]
