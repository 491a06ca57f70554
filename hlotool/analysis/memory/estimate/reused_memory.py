"""Which temporary values move into the memory of an output or a donated parameter?

Follows BufferAssigner::AssignSingleHloBuffer and MaybeAssignBuffer
(xla/service/buffer_assignment.cc): from the largest to the smallest, each buffer goes where
one of its operands lies, else into the smallest allocation that is free while it lives. What
finds no place is left to the heap simulator.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.dataflow.last_position import find_last_position
from hlotool.analysis.dataflow.may_share import SharingRule
from hlotool.analysis.dataflow.post_order import number_post_order
from hlotool.analysis.dataflow.values import Value
from hlotool.analysis.memory.estimate.hlo_buffers import HloBuffer
from hlotool.analysis.memory.estimate.usage import Usage
from hlotool.ir.buffers import LiveRange

MOST_REUSED: Final = 4096  # outputs and donated parameters; the memory of more is not reused
MOST_TRIED: Final = 256  # of these, for one buffer, where its time just meets that of others


class ReusedMemory(Struct, eq=False):
    """The memory of one output or donated parameter: its own buffer first, then its guests.

    `held` are all their values as time goes by. Their ranges have at most an end in common, so
    `starts` and `ends` grow too.
    """

    number: int
    buffers: list[HloBuffer] = field(default_factory=list)
    held: list[Value] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class Reuse:
    """All memory of a space that may be reused, the largest first, and what lies where."""

    def __init__(
        self, flow: Dataflow, ranges: Mapping[Value, LiveRange], rule: SharingRule
    ) -> None:
        self.flow = flow
        self.ranges = ranges
        self.rule = rule
        self.memory: list[ReusedMemory] = []
        self.memory_of: dict[Value, ReusedMemory] = {}
        self.usage = Usage(flow.schedule.end)

    def place(self, buffers: Iterable[HloBuffer]) -> list[HloBuffer]:
        """Give a place to what finds one; return the temporary buffers that are left."""
        left = []
        for buffer in self._order(buffers):
            memory: ReusedMemory | None
            if buffer.role == "reusable":
                memory = ReusedMemory(len(self.memory))
                self.memory.append(memory)
            else:
                memory = self._find_place(buffer)
            if memory is None:
                left.append(buffer)
            else:
                self._add(memory, buffer)
        return left

    def _order(self, buffers: Iterable[HloBuffer]) -> list[HloBuffer]:
        """Put the larger first, then what leaves the program, then what XLA visits first."""
        order = number_post_order(self.flow.schedule)

        def key(buffer: HloBuffer) -> tuple[int, bool, int, int]:
            visited = min([order[value.instruction] for value in buffer.values])
            return -buffer.size_bytes, not buffer.leaves, visited, buffer.values[0].number

        return sorted(buffers, key=key)

    def _find_place(self, buffer: HloBuffer) -> ReusedMemory | None:
        """Return the memory of an operand, else the smallest, that has room for a buffer."""
        free = (1 << min(len(self.memory), MOST_REUSED)) - 1
        for value in buffer.values if free else ():
            found = self.ranges[value]
            free &= ~self.usage.find(found.start, found.end)
        if not free:
            return None
        for value in buffer.values:
            for operand in () if value.index else value.instruction.operands:
                source = self.flow.value_at(operand, ())
                memory = self.memory_of.get(source) if source else None
                if memory and free >> memory.number & 1 and self._admits(memory, buffer):
                    return memory
        for _ in range(MOST_TRIED):
            if not free:
                break
            number = free.bit_length() - 1
            if self._admits(self.memory[number], buffer):
                return self.memory[number]
            free ^= 1 << number
        return None

    def _admits(self, memory: ReusedMemory, buffer: HloBuffer) -> bool:
        """Whether a buffer may lie there; a copy never lies where its operand does."""
        for value in buffer.values:
            found = self.ranges[value]
            for place in range(bisect_left(memory.ends, found.start), len(memory.held)):
                if memory.starts[place] > found.end:
                    break
                if not self._may_meet(value, memory.held[place]):
                    return False
            if value.instruction.opcode == "copy":
                source = self.flow.value_at(value.instruction.operands[0], ())
                if source and self.memory_of.get(source) is memory:
                    return False
        return True

    def _may_meet(self, value: Value, other: Value) -> bool:
        """Whether one of two values ends where the other begins, and may be written over."""
        first, second = self.ranges[value], self.ranges[other]
        if first.end == second.start:
            return self._may_follow(value, other)
        return second.end == first.start and self._may_follow(other, value)

    def _may_follow(self, value: Value, output: Value) -> bool:
        return self.rule.allows(find_last_position(self.flow.schedule, value), output)

    def _add(self, memory: ReusedMemory, buffer: HloBuffer) -> None:
        memory.buffers.append(buffer)
        for value in buffer.values:
            found = self.ranges[value]
            place = bisect_left(memory.starts, found.start)
            while place < len(memory.held) and memory.ends[place] < found.end:
                place += 1
            memory.held.insert(place, value)
            memory.starts.insert(place, found.start)
            memory.ends.insert(place, found.end)
            self.memory_of[value] = memory
            if memory.number < MOST_REUSED:
                self.usage.add(memory.number, found.start, found.end)
