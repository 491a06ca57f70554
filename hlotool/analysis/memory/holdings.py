"""Which live value has which bytes at a position, and with whom does it share them?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.ir.buffers import Allocation, BufferValue, LiveRange

MOST_ALIASES: Final = 100  # named for one value; in-place chains have a handful


class Holding(Struct, frozen=True):
    """A live value that has bytes of its own: those of which it is the value born last.

    `occupied_bytes` counts them; `aliases` are the live values that lie in some of its
    bytes, born last first, at most MOST_ALIASES of them.
    """

    allocation: Allocation
    value: BufferValue
    born: int
    dies: int
    occupied_bytes: int
    aliases: tuple[BufferValue, ...]


class _Live(Struct, eq=False):
    """A live value while its bytes are given out."""

    value: BufferValue
    found: LiveRange
    own_bytes: int = 0

    @property
    def low(self) -> int:
        return self.value.offset

    @property
    def high(self) -> int:
        return self.value.offset + self.value.size_bytes

    @property
    def rank(self) -> tuple[int, int]:
        """Smaller for who takes the bytes: born last, then the smaller number."""
        return -self.found.start, self.value.number


def find_holdings(memory: MemoryMap, position: int, color: int) -> list[Holding]:
    """Return who holds the bytes of a space at a position, largest first.

    Each byte belongs to the live value born last (ties: the smaller number), so that
    `occupied_bytes` add up to what is in use. Values without a byte of their own are only
    named as aliases. Empty without lifetimes.
    """
    by_allocation: dict[int, list[_Live]] = {}
    for allocation, value, found in memory.live_at(position, color):
        by_allocation.setdefault(allocation.number, []).append(_Live(value, found))
    holdings = [
        holding
        for number, live in by_allocation.items()
        for holding in _hold(memory.assignment.allocations[number], live)
    ]
    return sorted(holdings, key=lambda one: (-one.occupied_bytes, one.value.number))


def _hold(allocation: Allocation, live: list[_Live]) -> Iterable[Holding]:
    _give_bytes(live)
    aliases = _Aliases(live) if len(live) > 1 else None  # in an estimate most are alone
    for one in live:
        if one.own_bytes:
            yield Holding(
                allocation,
                one.value,
                one.found.start,
                one.found.end,
                one.own_bytes,
                aliases.of(one) if aliases else (),
            )


def _give_bytes(live: list[_Live]) -> None:
    """Sweep over the bytes; each stretch goes to the value of the smallest rank over it."""
    starts = sorted(live, key=lambda one: one.low)
    borders = sorted({border for one in live for border in (one.low, one.high)})
    heap: list[tuple[tuple[int, int], int]] = []
    taken = 0
    for place, border in enumerate(borders[:-1]):
        while taken < len(starts) and starts[taken].low == border:
            heappush(heap, (starts[taken].rank, taken))
            taken += 1
        while heap and starts[heap[0][1]].high <= border:
            heappop(heap)
        if heap:
            starts[heap[0][1]].own_bytes += borders[place + 1] - border


class _Aliases:
    """Finds the live values that touch the bytes of another, in the order of their first byte."""

    def __init__(self, live: Sequence[_Live]) -> None:
        self.starts = sorted(live, key=lambda one: one.low)
        self.lows = [one.low for one in self.starts]
        self.before: dict[int, list[_Live]] = {}  # by low: those that began below and reach it
        open_values: list[tuple[int, int]] = []
        reaching: dict[int, _Live] = {}
        for place, one in enumerate(self.starts):
            if one.low not in self.before:
                while open_values and open_values[0][0] <= one.low:
                    reaching.pop(heappop(open_values)[1])
                self.before[one.low] = _first(reaching.values())
            heappush(open_values, (one.high, place))
            reaching[place] = one

    def of(self, one: _Live) -> tuple[BufferValue, ...]:
        """Return the other values in the bytes of one, born last first."""
        first = bisect_left(self.lows, one.low)
        end = bisect_left(self.lows, one.high)
        near = self.starts[first : min(end, first + MOST_ALIASES + 1)]
        found = [other for other in (*self.before[one.low], *near) if other is not one]
        found.sort(key=lambda other: other.rank)
        return tuple(other.value for other in found[:MOST_ALIASES])


def _first(values: Iterable[_Live]) -> list[_Live]:
    """Return the first few of many."""
    return [one for one, _ in zip(values, range(MOST_ALIASES), strict=False)]
