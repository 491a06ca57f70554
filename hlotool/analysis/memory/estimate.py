"""The estimate: peak memory of a scheduled module that comes without a buffer assignment.

Values, lifetimes and what must share a buffer follow XLA (`dataflow`, `lifetimes`); sizes
are those of the backend's shapes. What the allocator decides is not modelled: alignment,
fragmentation, and the workspace that libraries ask for at run time. docs/accuracy.md shows
how far the estimate was from XLA's own assignment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow, find_values
from hlotool.analysis.dataflow.lifetimes import Lifetimes, name_ranges, shared_buffers, value_ranges
from hlotool.analysis.dataflow.may_share import Pair, may_share, shares_by_choice
from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import Value, resolve
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.estimated_size import estimate_size
from hlotool.ir.buffers import Allocation, BufferAssignment, BufferValue, LiveRange
from hlotool.ir.module import Instruction, Module
from hlotool.ir.shape import TupleShape

TYPICAL_PERCENT: Final = 1  # how far off it typically is; measured, see docs/accuracy.md
_MOST_COMPARED: Final = 64  # values of one buffer that are looked at before sharing it


class Estimate(Struct, frozen=True):
    """A buffer assignment as it may come out: one allocation a buffer, every offset 0."""

    assignment: BufferAssignment
    lifetimes: Lifetimes
    backend: Backend | None


def estimate_assignment(module: Module) -> Estimate:
    """Return what a buffer assignment of the module would hold, with lifetimes.

    Raises InputError for a module that is not scheduled.
    """
    flow = find_values(require_schedule(module))
    shared = shared_buffers(flow)
    ranges = value_ranges(flow, shared)
    backend = find_backend(module)
    buffers = _join_shared(flow, ranges, shared, backend)
    placed = _place_values(flow, backend)
    leaving = _find_leaving(flow)
    allocations = tuple(
        _allocation(number, buffer, placed, leaving) for number, buffer in enumerate(buffers)
    )
    assignment = BufferAssignment(module.source, allocations)
    return Estimate(assignment, name_ranges(flow, ranges), backend)


def _place_values(flow: Dataflow, backend: Backend | None) -> dict[Value, BufferValue]:
    """Give each value its name and size, at offset 0; few shapes are many values'."""
    names = flow.schedule.names
    shapes = {id(value.shape): value.shape for value in flow.values}
    sizes = {key: estimate_size(shape, backend) for key, shape in shapes.items()}
    return {
        value: BufferValue(
            value.number,
            names[value.instruction],
            value.index if isinstance(value.instruction.shape, TupleShape) else None,
            value.inputs is not None,
            value.shape.memory_space,
            sizes[id(value.shape)],
            0,
            value.shape,
        )
        for value in flow.values
    }


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


def _allocation(
    number: int,
    buffer: _Buffer,
    placed: Mapping[Value, BufferValue],
    leaving: Collection[Value],
) -> Allocation:
    """Make the allocation of one buffer; its class is that of the first value that decides."""
    values = [placed[value] for value in buffer.values]
    size = values[0].size_bytes if len(values) == 1 else max(one.size_bytes for one in values)
    allocation = Allocation(number, size, values[0].color, values=values)
    for value in buffer.values:
        instruction = value.instruction
        if instruction.opcode == "constant":
            allocation.is_constant = True
        elif buffer.is_parameter and _is_parameter(value):
            allocation.parameter = instruction.parameter_number
            allocation.parameter_index = value.index
        if value in leaving:
            allocation.is_live_out = True
    return allocation


def _is_parameter(value: Value) -> bool:
    """Whether a value is, or is in, a parameter of the entry."""
    one = value.instruction
    return one.opcode == "parameter" and one.computation is one.computation.module.entry


def _join_shared(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    shared: Iterable[list[Value]],
    backend: Backend | None,
) -> list[_Buffer]:
    """Group the values that lie, or probably lie, in one buffer; in order of definition."""
    joined = _Buffers(flow, ranges, shared, backend)
    for user, outputs in groupby(flow.values, attrgetter("instruction")):
        if shares_by_choice(user.opcode, backend):
            joined.write_over(user, outputs)
    return joined.all()


class _Buffer:
    """Values that share memory, with the time it is in use."""

    __slots__ = ("end", "is_parameter", "start", "values")

    def __init__(self, values: list[Value], start: int, end: int, *, is_parameter: bool) -> None:
        self.values = values
        self.start = start
        self.end = end
        self.is_parameter = is_parameter


class _Buffers:
    """The buffer of each value.

    Two values that share with nobody by rule may share by choice
    (xla/service/heap_simulator/heap_simulator.cc); others may only move in where a
    parameter was, as parameters have memory before temporary values look for theirs
    (BufferAssigner::AssignSingleHloBuffer, xla/service/buffer_assignment.cc).
    """

    def __init__(
        self,
        flow: Dataflow,
        ranges: Mapping[Value, LiveRange],
        shared: Iterable[list[Value]],
        backend: Backend | None,
    ) -> None:
        self.flow = flow
        self.ranges = ranges
        self.backend = backend
        self.buffer_of: dict[Value, _Buffer] = {}
        for group in shared:
            buffer = _Buffer(
                group.copy(),
                min(ranges[value].start for value in group),
                max(ranges[value].end for value in group),
                is_parameter=any(map(_is_parameter, group)),
            )
            self.buffer_of.update(dict.fromkeys(group, buffer))
        self.has_rule = set(self.buffer_of)
        for value in flow.values:
            if value not in self.buffer_of:
                found = ranges[value]
                self.buffer_of[value] = _Buffer(
                    [value], found.start, found.end, is_parameter=_is_parameter(value)
                )

    def write_over(self, user: Instruction, outputs: Iterable[Value]) -> None:
        """Let each output of an instruction be written over one operand, where it may."""
        born = self.flow.schedule.positions[user]
        nodes, buffer_of = self.flow.nodes, self.buffer_of
        operands = []
        for number, operand in enumerate(user.operands):
            source = resolve(nodes[operand].value)
            if buffer_of[source].end == born:
                operands.append((number, source))
        for output in outputs if operands else ():
            if output.is_phi:
                continue
            for number, source in operands:
                if self.can_follow(source, output) and may_share(
                    Pair(user, number, source.shape, output.shape, output.index), self.backend
                ):
                    self.join(source, output)
                    break

    def can_follow(self, operand: Value, output: Value) -> bool:
        """Whether a buffer is needed last where the other is written, and not needed before."""
        first, second = self.buffer_of[operand], self.buffer_of[output]
        born = self.ranges[output].start
        if (
            first is second
            or operand.instruction.opcode == "constant"
            or first.end != born
            or len(second.values) > _MOST_COMPARED
        ):
            return False
        if not second.is_parameter:
            return operand not in self.has_rule and output not in self.has_rule
        start = first.start
        return all(
            self.ranges[one].start >= born
            or self.ranges[one].end < start
            or (self.ranges[one].end == start and self.may_share(one, first.values[0]))
            for one in second.values
        )

    def may_share(self, operand: Value, output: Value) -> bool:
        """Whether the instruction that defines `output` may write it over `operand`."""
        user = output.instruction
        for number, one in enumerate(user.operands):
            if self.flow.value_at(one, ()) is operand:
                pair = Pair(user, number, operand.shape, output.shape, output.index)
                return may_share(pair, self.backend)
        return False

    def join(self, operand: Value, output: Value) -> None:
        """Put two buffers into one."""
        first, second = self.buffer_of[operand], self.buffer_of[output]
        first.values += second.values
        first.start = min(first.start, second.start)
        first.end = second.end
        first.is_parameter |= second.is_parameter
        for value in second.values:
            self.buffer_of[value] = first

    def all(self) -> list[_Buffer]:
        """Return each buffer once, in the order of its first value."""
        return list(dict.fromkeys(self.buffer_of[value] for value in self.flow.values))
