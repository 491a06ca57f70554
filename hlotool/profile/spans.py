"""Spans of time: how long something lasts, what goes on beside it, and whose the time of a line is.

Times are picoseconds. Events come in the order of the file, which is mostly that of time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

_MOST: Final = 1 << 62  # picoseconds: 53 days


class Timeline:
    """Events, each of a kind; 24 bytes each, counted from the first."""

    def __init__(self) -> None:
        self._base: int | None = None
        self._begins, self._ends, self._kinds = array("q"), array("q"), array("q")
        self._is_sorted = True

    def add(self, begin: int, end: int, kind: int = 0) -> None:
        """Add an event; empty ones count for nothing."""
        if self._base is None:
            self._base = begin
        begin, end = (max(min(each - self._base, _MOST), -_MOST) for each in (begin, end))
        if end <= begin:
            return
        if self._begins and (begin, -end) < (self._begins[-1], -self._ends[-1]):
            self._is_sorted = False
        self._begins.append(begin)
        self._ends.append(end)
        self._kinds.append(kind)

    @cached_property
    def _united(self) -> tuple[array[int], array[int]]:
        """When something begins, and when all that overlaps or touches it ended."""
        begins, ends = array("q"), array("q")
        for at in self._order():
            if ends and self._begins[at] <= ends[-1]:
                ends[-1] = max(ends[-1], self._ends[at])
            else:
                begins.append(self._begins[at])
                ends.append(self._ends[at])
        return begins, ends

    def measure(self, others: Timeline) -> tuple[int, int]:
        """Return how long events last, and how much of that time none of the others does."""
        begins, ends = others._united
        offset = (self._base or 0) - (others._base or 0)
        total = beside = 0
        for begin, end in zip(*self._united, strict=True):
            total += end - begin
            low, high = begin + offset, end + offset
            at = bisect_right(ends, low)
            while at < len(ends) and begins[at] < high:
                beside += min(high, ends[at]) - max(low, begins[at])
                at += 1
        return total, total - beside

    def share(self, kind_count: int) -> list[int]:
        """Return how long each kind of event has the line; together, their union.

        Each instant is the last begun event's of those that go on: of nested ones the innermost.

        >>> line = Timeline()
        >>> for event in ((0, 10, 0), (2, 5, 1), (4, 6, 2)):
        ...     line.add(*event)
        >>> line.share(3)
        [6, 2, 2]
        """
        found, going, now = [0] * kind_count, list[tuple[int, int]](), -_MOST
        for at in chain[int | None](self._order(), (None,)):
            begin = _MOST if at is None else self._begins[at]
            while going and now < begin:
                end, kind = going[-1]
                until = max(min(end, begin), now)
                found[kind] += until - now
                now = until
                if end <= begin:
                    going.pop()
            now = max(now, begin)
            if at is not None:
                going.append((self._ends[at], self._kinds[at]))
        return found

    def time_runs(self, runs_each: int, later: Collection[int]) -> int | None:
        """Return how long runs take together, from the first event of each to the last to end.

        A run begins where the kind of the very first event is due again. None where a kind does
        not come equally often in each run, or that first one is of those that come `later`: a run
        is cut.
        """
        counts, order = Counter(self._kinds), self._order()
        first = self._kinds[order[0]] if order else None
        if first in later or any(count % runs_each for count in counts.values()):
            return None
        total, seen, begin, end = 0, 0, 0, 0
        for at in order:
            if self._kinds[at] == first:
                if seen % (counts[first] // runs_each) == 0:
                    total, begin, end = total + end - begin, self._begins[at], self._ends[at]
                seen += 1
            end = max(end, self._ends[at])
        return total + end - begin

    def _order(self) -> Sequence[int]:
        """Return the places of events in the order of time, what holds others before these."""
        order: Sequence[int] = range(len(self._begins))
        if not self._is_sorted:
            outermost = sorted(order, key=self._ends.__getitem__, reverse=True)
            order = sorted(outermost, key=self._begins.__getitem__)
        return order
