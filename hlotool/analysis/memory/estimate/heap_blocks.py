"""When does the heap simulator give each temporary buffer its memory, and when is it given back?

Follows HeapSimulator::RunComputation (xla/service/heap_simulator/heap_simulator.cc). Its clock
counts events, not positions: at each position first what is defined there begins, then what
ends there is freed. What is written over an operand begins as soon as that is freed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from msgspec import Struct

from hlotool.analysis.dataflow.values import Value
from hlotool.analysis.memory.estimate.hlo_buffers import HloBuffer
from hlotool.ir.buffers import LiveRange


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
