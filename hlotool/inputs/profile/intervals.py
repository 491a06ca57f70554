"""How long did something last in which nothing else ran? Unions of spans of time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

_MOST: Final = 1 << 62  # picoseconds: 53 days


class Spans:
    """Spans of time in picoseconds; 16 bytes each, counted from the first."""

    def __init__(self) -> None:
        self._base: int | None = None
        self._begins = array("q")
        self._ends = array("q")
        self._is_sorted = True

    def add(self, begin: int, end: int) -> None:
        """Add a span; empty ones count for nothing."""
        if end <= begin or (self._base is not None and abs(begin - self._base) > _MOST):
            return
        if self._base is None:
            self._base = begin
        begin -= self._base
        end = min(end - self._base, _MOST)
        if self._begins and begin < self._begins[-1]:
            self._is_sorted = False
        elif self._begins and self._is_sorted and begin <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], end)
            return
        self._begins.append(begin)
        self._ends.append(end)

    def union(self) -> Iterator[tuple[int, int]]:
        """Yield the spans in order, those that touch as one."""
        begins, ends, base = self._begins, self._ends, self._base or 0
        order: Iterable[int] = range(len(begins))
        if not self._is_sorted:
            order = sorted(order, key=begins.__getitem__)
        low = high = None
        for number in order:
            begin, end = base + begins[number], base + ends[number]
            if low is None or high is None or begin > high:
                if low is not None and high is not None:
                    yield low, high
                low, high = begin, end
            elif end > high:
                high = end
        if low is not None and high is not None:
            yield low, high


def measure_alone(spans: Spans, others: Spans) -> tuple[int, int]:
    """Return how long spans last, and how much of that time none of the others does."""
    total = alone = 0
    beside = others.union()
    current = next(beside, None)
    for begin, end in spans.union():
        total += end - begin
        at = begin
        while current is not None and current[1] <= at:
            current = next(beside, None)
        while current is not None and current[0] < end:
            alone += max(current[0] - at, 0)
            at = max(at, min(current[1], end))
            if current[1] > end:
                break
            current = next(beside, None)
        alone += max(end - at, 0)
    return total, alone
