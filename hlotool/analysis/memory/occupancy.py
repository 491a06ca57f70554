"""How many bytes of one allocation are in use at each position?

Values share bytes, at one time and over time; what is in use is the length of the union of
the byte ranges of the values that are live. A sweep over time keeps live values in
clusters that do not touch each other: nearly all hold one byte range, and their bytes
simply add up. Only ranges that overlap without being equal need a tree.

    block        bytes      positions
    a            [0, 64)    0 … 2      a cluster; it ends with a, and 64 bytes with it
    b            [0, 64)    3 … 5      the same bytes, later: a cluster of its own
    c            [32, 96)   4 … 6      touches b while b lives: one cluster [0, 96) of both,
                                       whose union the tree adds up: 64, then 96, then 64
    position     0    3    4    6    7
    in use       64   64   96   64   0     as Curve((0, 4, 6, 7), (64, 96, 64, 0))
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

from hlotool.analysis.memory.cover_tree import add_union
from hlotool.analysis.memory.curve import Curve, OccupiedBlock, make_curve

MOST_CLUSTERS: Final = 1 << 15  # live at once; beyond this inserting costs more than the tree


def occupancy(blocks: Iterable[OccupiedBlock]) -> Curve:
    """Return the length of the union of live byte ranges at every position, in O(n log n)."""
    used = [block for block in blocks if block.high > block.low]
    if not used:
        return Curve()
    low, high, start, end = used[0]
    if len(used) == 1:
        return Curve((start, end + 1), (high - low, 0))
    if all(block.low == low and block.high == high for block in used):
        return _one_range(used)
    changes = _Sweep(used).run()
    if changes is None:
        changes = {}
        add_union(used, changes)
    return make_curve(changes)


def _one_range(blocks: Sequence[OccupiedBlock]) -> Curve:
    """Return the curve of blocks that all lie in the same bytes: full where any is live."""
    size = blocks[0].high - blocks[0].low
    positions: list[int] = []
    for _, _, start, end in sorted(blocks):
        if not positions or start > positions[-1]:
            positions += (start, end + 1)
        elif end >= positions[-1]:
            positions[-1] = end + 1
    return Curve(tuple(positions), (size, 0) * (len(positions) // 2))


class _Cluster:
    """Blocks whose bytes touched while live; together they lie in [low, high)."""

    __slots__ = ("high", "is_uniform", "live", "low", "members", "start")

    def __init__(self, low: int, high: int, start: int) -> None:
        self.low = low
        self.high = high
        self.start = start
        self.live = 0
        self.is_uniform = True  # every member fills [low, high)
        self.members: list[int] = []


class _Sweep:
    """One pass over time; clusters live at an instant are sorted by their first byte."""

    def __init__(self, blocks: Sequence[OccupiedBlock]) -> None:
        self.blocks = blocks
        self.lows: list[int] = []
        self.clusters: list[_Cluster] = []
        self.owner: list[_Cluster | None] = [None] * len(blocks)
        self.changes: dict[int, int] = {}

    def run(self) -> dict[int, int] | None:
        """Return the changes of occupancy by position; None if too many clusters live."""
        blocks = self.blocks
        births = sorted(range(len(blocks)), key=lambda number: blocks[number].start)
        deaths = sorted(range(len(blocks)), key=lambda number: blocks[number].end)
        dead = 0
        for number in births:
            start = blocks[number].start
            while blocks[deaths[dead]].end < start:
                self._die(deaths[dead])
                dead += 1
            self._bear(number)
            if len(self.lows) > MOST_CLUSTERS:
                return None
        for number in deaths[dead:]:
            self._die(number)
        return self.changes

    def _bear(self, number: int) -> None:
        """Put a block into the cluster of the bytes it touches, or into one of its own."""
        low, high, start, _ = self.blocks[number]
        first = bisect_right(self.lows, low)
        if first and self.clusters[first - 1].high > low:
            first -= 1
        last = first
        while last < len(self.lows) and self.lows[last] < high:
            last += 1
        if first == last:
            cluster = _Cluster(low, high, start)
            self.lows.insert(first, low)
            self.clusters.insert(first, cluster)
        else:
            cluster = self._merge(first, last)
            if cluster.low != low or cluster.high != high:
                cluster.is_uniform = False
                cluster.low = self.lows[first] = min(cluster.low, low)
                cluster.high = max(cluster.high, high)
        cluster.live += 1
        cluster.members.append(number)
        self.owner[number] = cluster

    def _merge(self, first: int, last: int) -> _Cluster:
        """Make one cluster of those at [first, last), the smaller ones into the largest."""
        if last - first == 1:
            return self.clusters[first]
        parts = self.clusters[first:last]
        largest = max(parts, key=lambda part: len(part.members))
        for part in parts:
            if part is not largest:
                for number in part.members:
                    self.owner[number] = largest
                largest.members += part.members
                largest.live += part.live
        largest.low, largest.high = parts[0].low, parts[-1].high
        largest.is_uniform = False
        self.clusters[first:last] = [largest]
        self.lows[first:last] = [largest.low]
        return largest

    def _die(self, number: int) -> None:
        """End a block; the last of its cluster ends the cluster and adds up its bytes."""
        cluster = self.owner[number]
        if cluster is None:
            return
        self.owner[number] = None
        cluster.live -= 1
        if cluster.live:
            return
        place = bisect_left(self.lows, cluster.low)
        del self.lows[place]
        del self.clusters[place]
        if cluster.is_uniform:
            changes = self.changes
            size = cluster.high - cluster.low
            after = self.blocks[number].end + 1
            changes[cluster.start] = changes.get(cluster.start, 0) + size
            changes[after] = changes.get(after, 0) - size
        else:
            add_union([self.blocks[member] for member in cluster.members], self.changes)
