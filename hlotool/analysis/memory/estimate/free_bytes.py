"""Which gap of a heap is just large enough?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort


class FreeBytes:
    """The gaps in a heap, by place and by size; above `top` all is free.

    `borders` are where gaps begin and end, `[low, high, low, high, …]`; no two gaps touch.
    """

    def __init__(self) -> None:
        self.borders: list[int] = []
        self.by_size: list[tuple[int, int]] = []
        self.top = 0

    def take(self, size: int) -> int:
        """Take so many bytes of the smallest gap, the lowest of equal ones, and say where."""
        number = bisect_left(self.by_size, (size, 0))
        if number == len(self.by_size):
            self.top += size
            return self.top - size
        gap, low = self.by_size.pop(number)
        place = bisect_left(self.borders, low)
        if gap == size:
            del self.borders[place : place + 2]
        else:
            self.borders[place] = low + size
            insort(self.by_size, (gap - size, low + size))
        return low

    def give_back(self, low: int, high: int) -> None:
        """Make bytes free again, together with the gaps they touch."""
        first, last = bisect_left(self.borders, low), bisect_right(self.borders, high)
        first, last = first - first % 2, last + last % 2
        for place in range(first, last, 2):
            start, end = self.borders[place : place + 2]
            del self.by_size[bisect_left(self.by_size, (end - start, start))]
            low, high = min(low, start), max(high, end)
        if high == self.top:
            self.top = low
            del self.borders[first:last]
        else:
            self.borders[first:last] = [low, high]
            insort(self.by_size, (high - low, low))
