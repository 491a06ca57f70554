"""Which values must lie in one buffer, and what else may lie there?

Which temporary values move into the memory of an output or a donated parameter?

Follows BufferAssigner::AssignSingleHloBuffer and MaybeAssignBuffer
(xla/service/buffer_assignment.cc): from the largest to the smallest, each buffer goes where
one of its operands lies, else into the smallest allocation that is free while it lives. What
finds no place is left to the heap simulator.

Which values lie, or probably lie, in one allocation?

What must share is a rule of dataflow (`shared_buffers`); what may is the allocator's choice.
It first lets temporary values move into the memory of outputs and donated parameters
(`reused_memory`), then simulates a heap for the rest. Where in the heap they lie does not
matter here, but what is written over an operand needs no memory of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.dataflow.lifetimes import find_last_position
from hlotool.analysis.dataflow.schedule import number_post_order
from hlotool.analysis.dataflow.sharing import SharingRule
from hlotool.analysis.dataflow.values import Dataflow, Value, resolve
from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.intervals import Usage
from hlotool.hlo import TupleShape
from hlotool.hlo.buffers import BufferValue, LiveRange

Role: TypeAlias = Literal["fixed", "reusable", "temp"]


class HloBuffer(Struct, eq=False):
    """Values that share memory by rule, or a single value; in order of definition.

    `role` is `fixed` for constants, tables of tuples, and parameters that are not donated:
    their memory is never another's. That of outputs and donated parameters is `reusable`
    while they do not need it. All others are `temp`. `leaves` says whether the program
    returns one of the values.
    """

    values: list[Value]
    size_bytes: int
    color: int
    role: Role
    leaves: bool


def list_buffers(
    flow: Dataflow, shared: Iterable[list[Value]], placed: Mapping[Value, BufferValue]
) -> list[HloBuffer]:
    """Put each value into one buffer; `shared` holds those with company."""
    aliases = flow.schedule.module.header.aliases
    donated = {(alias.number, alias.index) for alias in aliases}
    leaving = _find_leaving(flow)
    groups = [sorted(group, key=attrgetter("number")) for group in shared]
    grouped = {value for group in groups for value in group}
    groups += [[value] for value in flow.values if value not in grouped]
    buffers = []
    for group in groups:
        size = max([placed[value].size_bytes for value in group])
        leaves = not leaving.isdisjoint(group)
        role: Role = "reusable" if leaves else "temp"
        for value in group:
            if value.instruction.opcode == "constant" or isinstance(value.shape, TupleShape):
                role = "fixed"
            elif is_entry_parameter(value):
                key = value.instruction.parameter_number, value.index
                role = "reusable" if key in donated else "fixed"
        buffers.append(HloBuffer(group, size, placed[group[0]].color, role, leaves))
    return buffers


def is_entry_parameter(value: Value) -> bool:
    """Whether a value is, or is in, a parameter of the entry."""
    one = value.instruction
    return one.opcode == "parameter" and one.computation is one.computation.module.entry


def _find_leaving(flow: Dataflow) -> set[Value]:
    """Return the values that are part of what the program returns."""
    root = flow.schedule.module.entry.root
    leaving: set[Value] = set()
    pending = [flow.nodes[root]]
    while pending:
        value, children = pending.pop()
        leaving.add(resolve(value))
        pending += children
    return leaving


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


def join_buffers(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    buffers: Iterable[HloBuffer],
    backend: Backend | None,
) -> list[list[HloBuffer]]:
    """Group the buffers that lie, or probably lie, in one allocation; in order of definition.

    The TPU compiler keeps its own rules, which are in no open source: nothing is joined there.
    """
    joined = []
    moving: dict[int, list[HloBuffer]] = {}
    for buffer in buffers:
        if buffer.role == "fixed" or backend == "tpu":
            joined.append([buffer])
        else:
            moving.setdefault(buffer.color, []).append(buffer)
    rule = SharingRule(backend)
    for group in moving.values():
        reuse = Reuse(flow, ranges, rule)
        left = reuse.place(group)
        joined += [memory.buffers for memory in reuse.memory]
        joined += _share_heap(flow, ranges, rule, left)
    joined.sort(key=lambda group: min([buffer.values[0].number for buffer in group]))
    return joined


def _share_heap(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    rule: SharingRule,
    buffers: Iterable[HloBuffer],
) -> list[list[HloBuffer]]:
    """Let each value that is alone in its buffer be written over an operand, where it may.

    Follows HeapSimulator::RunComputation (xla/service/heap_simulator/heap_simulator.cc).
    """
    chains = [[buffer] for buffer in buffers]
    chain_of = {chain[0].values[0]: chain for chain in chains if len(chain[0].values) == 1}
    ends = {value: ranges[value].end for value in chain_of}
    sharing = [one for one in chain_of if rule.concerns(one.instruction.opcode)]
    sharing.sort(key=lambda one: (ranges[one].start, ranges[one].end, one.number))
    for output in sharing:
        for operand in output.instruction.operands:
            source = flow.value_at(operand, ())
            if (
                source is not None
                and ends.get(source) == ranges[output].start
                and rule.allows((source.instruction, source.index), output)
            ):
                ends[source] = -1  # it is taken
                chain, other = chain_of[source], chain_of[output]
                chain += other
                other.clear()
                chain_of[output] = chain
                break
    return [chain for chain in chains if chain]
