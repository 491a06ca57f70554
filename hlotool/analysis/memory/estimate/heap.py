"""Which gap of a heap is just large enough?

When does the heap simulator give each temporary buffer its memory, and when is it given back?

Follows HeapSimulator::RunComputation (xla/service/heap_simulator/heap_simulator.cc). Its clock
counts events, not positions: at each position first what is defined there begins, then what
ends there is freed. What is written over an operand begins as soon as that is freed.

How large a heap does XLA need for temporary buffers?

Each buffer goes into the smallest gap that is free while it lives, the lowest of equal ones;
backends differ in who comes first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.values import Value
from hlotool.analysis.memory.estimate.buffers import HloBuffer
from hlotool.analysis.memory.intervals import ByteUsage
from hlotool.hlo.buffers import LiveRange


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


class HeapBlock(Struct, eq=False):
    """Memory for buffers that lie together, in use in some spans `[begin, end)` of time.

    The spans are in order and do not touch. `first_duration` and `number` are those of the
    value that begins first.
    """

    size_bytes: int
    number: int
    first_duration: int
    spans: list[tuple[int, int]]

    @property
    def begin(self) -> int:
        """When it is first in use."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """When it is in use no more."""
        return self.spans[-1][1]


def list_blocks(
    groups: Iterable[list[HloBuffer]], ranges: Mapping[Value, LiveRange]
) -> list[HeapBlock]:
    """Return the blocks of one heap, in no order; nothing is made for groups without bytes.

    A group holds buffers each of which is written over the one before.
    """
    sizes = [(group, max([buffer.size_bytes for buffer in group])) for group in groups]
    sized = [(group, size) for group, size in sizes if size]
    begins, ends = _run_clock([group for group, _ in sized], ranges)
    blocks = []
    for group, size in sized:
        values = [value for buffer in group for value in buffer.values]
        first = min(values, key=begins.__getitem__)
        spans = _unite([(begins[value], ends[value]) for value in values])
        blocks.append(HeapBlock(size, first.number, ends[first] - begins[first], spans))
    return blocks


def _unite(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that overlap or touch."""
    united: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if united and begin <= united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        else:
            united.append((begin, end))
    return united


def _run_clock(
    groups: Iterable[list[HloBuffer]], ranges: Mapping[Value, LiveRange]
) -> tuple[dict[Value, int], dict[Value, int]]:
    """Return when each value begins and ends."""
    written_over: dict[Value, Value] = {}
    values = []
    for group in groups:
        values += [value for buffer in group for value in buffer.values]
        for before, after in pairwise(group):
            written_over[after.values[0]] = before.values[0]
    values.sort(key=lambda value: (ranges[value].start, ranges[value].end, value.number))
    dying = iter(sorted(values, key=lambda value: ranges[value].end))
    begins: dict[Value, int] = {}
    ends: dict[Value, int] = {}
    last = next(dying, None)
    for value in values:
        start = ranges[value].start
        while last is not None and ranges[last].end < start:
            ends.setdefault(last, len(begins) + len(ends))
            last = next(dying, None)
        if value in written_over:
            ends.setdefault(written_over[value], len(begins) + len(ends))
        begins[value] = len(begins) + len(ends)
    while last is not None:
        ends.setdefault(last, len(begins) + len(ends))
        last = next(dying, None)
    return begins, ends


MOST_PLACED: Final = 8192  # blocks; time grows with the square of what lives at once


def round_up(size: int, alignment: int) -> int:
    """Return the next multiple of an alignment."""
    return -(-size // alignment) * alignment


def pack_best(blocks: Sequence[HeapBlock], alignment: int) -> int:
    """Return the bytes of the smaller of two heaps: the largest first, the longest-lived first.

    More than MOST_PLACED blocks get two heaps, one for the smallest; that may be too much.
    Follows ChooseBestHeapAlgorithm and GlobalDecreasingSizeBestFitHeap
    (xla/service/heap_simulator/heap_simulator.cc), which the compilers for CPU and GPU use.
    """
    blocks = sorted(blocks, key=_spatial)
    if len(blocks) > MOST_PLACED:
        small = round_up(pack_in_time(blocks[MOST_PLACED:], alignment), alignment)
        return small + pack_best(blocks[:MOST_PLACED], alignment)
    by_size = _pack(blocks, alignment)
    if round_up(by_size, alignment) == _most_in_use(blocks, alignment):
        return by_size  # there is no smaller heap
    return _pack(sorted(blocks, key=_temporal), alignment, at_most=by_size)


def _most_in_use(blocks: Iterable[HeapBlock], alignment: int) -> int:
    """Return the most bytes that blocks, each with its alignment, need at once."""
    changes: list[tuple[int, int]] = []
    for block in blocks:
        size = round_up(block.size_bytes, alignment)
        for begin, end in block.spans:
            changes += ((begin, size), (end, -size))
    changes.sort()
    return max(accumulate(change for _, change in changes), default=0)


def _spatial(block: HeapBlock) -> tuple[int, int, int]:
    return -block.size_bytes, -block.first_duration, block.number


def _temporal(block: HeapBlock) -> tuple[int, int, int]:
    return block.begin - block.end, -block.size_bytes, block.number


def _pack(blocks: Sequence[HeapBlock], alignment: int, at_most: int | None = None) -> int:
    """Place blocks in their order; a heap that grows beyond `at_most` is given up for that."""
    usage = ByteUsage(moment for block in blocks for span in block.spans for moment in span)
    heap_bytes = 0
    for block in blocks:
        low = _find_gap(usage.find(block.spans), block.size_bytes)
        heap_bytes = max(heap_bytes, low + block.size_bytes)
        if at_most is not None and heap_bytes >= at_most:
            return at_most
        usage.add(low, low + round_up(block.size_bytes, alignment), block.spans)
    return heap_bytes


def _find_gap(used: Iterable[tuple[int, int]], size: int) -> int:
    """Return where the smallest gap begins that is large enough; there is no end to the last."""
    best: int | None = None
    found = start = 0
    for low, high in used:
        gap = low - start
        if gap >= size and (best is None or gap < best):
            best, found = gap, start
        if high > start:  # noqa: PLR1730  max() takes twice as long
            start = high
    return start if best is None else found


def pack_in_time(blocks: Iterable[HeapBlock], alignment: int) -> int:
    """Return the bytes of a heap that blocks enter as they begin, and leave for good at their end.

    Follows ConstrainedGlobalDecreasingSizeBestFitHeap::FinishFastMerge of the same file, which
    is what dumps of newer TPU compilers show; those of older ones show the largest first.
    """
    free = FreeBytes()
    dying: list[tuple[int, int, int]] = []
    heap_bytes = 0
    for block in sorted(blocks, key=lambda one: (one.begin, -one.size_bytes, one.number)):
        while dying and dying[0][0] <= block.begin:
            _, low, high = heappop(dying)
            free.give_back(low, high)
        size = round_up(block.size_bytes, alignment)
        low = free.take(size)
        heappush(dying, (block.end, low, low + size))
        heap_bytes = max(heap_bytes, low + block.size_bytes)
    return heap_bytes
