"""How large a heap does XLA need for temporary buffers?

Each buffer goes into the smallest gap that is free while it lives, the lowest of equal ones;
backends differ in who comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from typing import Final

from hlotool.analysis.memory.estimate.byte_usage import ByteUsage
from hlotool.analysis.memory.estimate.free_bytes import FreeBytes
from hlotool.analysis.memory.estimate.heap_blocks import HeapBlock

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
