"""The estimate: peak memory of a scheduled module that comes without a buffer assignment.

Values, lifetimes and what must share a buffer follow XLA (`dataflow`, `lifetimes`); sizes
are those of the backend's shapes. What the allocator decides is not modelled: alignment,
fragmentation, and the workspace that libraries ask for at run time. docs/accuracy.md shows
how far the estimate was from XLA's own assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hlotool.analysis.backend import Backend, find_backend
from hlotool.analysis.dataflow import Dataflow, find_values
from hlotool.analysis.lifetimes import Lifetimes, name_ranges, shared_buffers, value_ranges
from hlotool.analysis.may_share import Pair, may_share
from hlotool.analysis.schedule import Schedule, require_schedule
from hlotool.analysis.values import Value
from hlotool.ir.buffers import Allocation, BufferAssignment, BufferValue, LiveRange
from hlotool.ir.module import Instruction, Module
from hlotool.ir.shape import Shape, TupleShape
from hlotool.records import record

TYPICAL_PERCENT: Final = 1  # how far off it typically is; measured, see docs/accuracy.md
_HOST_ARRAY_BYTES: Final = 4096  # the TPU's allocator gives host arrays, `S(4)`, a page
_TPU_TUPLE_BYTES: Final = 512
_POINTER_BYTES: Final = 8
_TPU_HOST_SPACE: Final = 4
_MOST_COMPARED: Final = 64  # values of one buffer that are looked at before sharing it


def estimate_size(shape: Shape, backend: Backend | None) -> int:
    """Return the bytes a backend gives a value; 0 where the shape has an unknown dimension.

    Tuples cost their own table: a pointer an element, on TPU 512 bytes.
    """
    if isinstance(shape, TupleShape):
        return _TPU_TUPLE_BYTES if backend == "tpu" else _POINTER_BYTES * len(shape.elements)
    if backend == "tpu" and shape.memory_space == _TPU_HOST_SPACE:
        return _HOST_ARRAY_BYTES
    return shape.size_bytes or 0


@record
class Estimate:
    """A buffer assignment as it may come out: one allocation a buffer, every offset 0."""

    assignment: BufferAssignment
    lifetimes: Lifetimes


def estimate_assignment(module: Module) -> Estimate:
    """Return what a buffer assignment of the module would hold, with lifetimes.

    Raises InputError for a module that is not scheduled.
    """
    flow = find_values(require_schedule(module))
    ranges = value_ranges(flow)
    backend = find_backend(module)
    buffers = _join_shared(flow, ranges, backend)
    allocations = [
        _allocation(number, values, flow.schedule, backend) for number, values in enumerate(buffers)
    ]
    assignment = BufferAssignment(module.source, tuple(allocations))
    return Estimate(assignment, name_ranges(flow, ranges))


def _allocation(
    number: int, values: list[Value], schedule: Schedule, backend: Backend | None
) -> Allocation:
    """Make the allocation of one buffer; its class is that of the first value that decides."""
    allocation = Allocation(number, 0)
    module = schedule.module
    root = module.entry.root
    for place, value in enumerate(values):
        instruction = value.instruction
        is_table = isinstance(instruction.shape, TupleShape)
        size = estimate_size(value.shape, backend)
        color = value.shape.memory_space
        allocation.size_bytes = max(allocation.size_bytes, size)
        allocation.color = color if not place else allocation.color
        allocation.values.append(
            BufferValue(
                value.number,
                schedule.names[instruction],
                value.index if is_table else None,
                value.is_phi,
                color,
                size,
                0,
                value.shape,
            )
        )
        if _is_parameter(value, module):
            allocation.parameter = instruction.parameter_number
            allocation.parameter_index = value.index
        allocation.is_constant |= instruction.opcode == "constant"
        allocation.is_live_out |= _leaves(value, root)
    return allocation


def _leaves(value: Value, root: Instruction) -> bool:
    """Whether a value is part of what the program returns."""
    return value.instruction is root or any(
        position.instruction is root for position in value.positions
    )


def _is_parameter(value: Value, module: Module) -> bool:
    instruction = value.instruction
    return instruction.opcode == "parameter" and instruction.computation is module.entry


def _join_shared(
    flow: Dataflow, ranges: Mapping[Value, LiveRange], backend: Backend | None
) -> list[list[Value]]:
    """Group the values that lie, or probably lie, in one buffer; in order of definition."""
    joined = _Buffers(flow, ranges, backend)
    for value in flow.values:
        user = value.instruction
        if value.is_phi or user.opcode == "parameter":
            continue
        for number, operand in enumerate(user.operands):
            source = flow.value_at(operand, ())
            if (
                source is not None
                and joined.can_follow(source, value)
                and may_share(Pair(user, number, source.shape, value.shape, value.index), backend)
            ):
                joined.join(source, value)
                break
    return joined.all()


class _Buffers:
    """Values by buffer, with the time each buffer is in use.

    Two values that share with nobody by rule may share by choice
    (xla/service/heap_simulator/heap_simulator.cc); others may only move in where a
    parameter was, as parameters have memory before temporary values look for theirs
    (BufferAssigner::AssignSingleHloBuffer, xla/service/buffer_assignment.cc).
    """

    def __init__(
        self, flow: Dataflow, ranges: Mapping[Value, LiveRange], backend: Backend | None
    ) -> None:
        module = flow.schedule.module
        self.flow = flow
        self.ranges = ranges
        self.backend = backend
        self.group_of: dict[Value, list[Value]] = {
            one: group for group in shared_buffers(flow) for one in group
        }
        self.has_rule = set(self.group_of)
        for value in flow.values:
            self.group_of.setdefault(value, [value])
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.is_parameter: dict[int, bool] = {}
        for group in self.group_of.values():
            if id(group) in self.starts:
                continue
            self.starts[id(group)] = min(ranges[value].start for value in group)
            self.ends[id(group)] = max(ranges[value].end for value in group)
            self.is_parameter[id(group)] = any(_is_parameter(value, module) for value in group)

    def can_follow(self, operand: Value, output: Value) -> bool:
        """Whether a buffer is needed last where the other is written, and not needed before."""
        first, second = self.group_of[operand], self.group_of[output]
        born = self.ranges[output].start
        if (
            first is second
            or operand.instruction.opcode == "constant"
            or self.ends[id(first)] != born
            or len(second) > _MOST_COMPARED
        ):
            return False
        if not self.is_parameter[id(second)]:
            return operand not in self.has_rule and output not in self.has_rule
        start = self.starts[id(first)]
        return all(
            self.ranges[one].start >= born
            or self.ranges[one].end < start
            or (self.ranges[one].end == start and self.may_share(one, first[0]))
            for one in second
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
        first, second = self.group_of[operand], self.group_of[output]
        self.starts[id(first)] = min(self.starts[id(first)], self.starts[id(second)])
        self.ends[id(first)] = self.ends[id(second)]
        self.is_parameter[id(first)] |= self.is_parameter[id(second)]
        first += second
        for value in second:
            self.group_of[value] = first

    def all(self) -> list[list[Value]]:
        """Return each buffer once, in the order of its first value."""
        groups = {id(group): group for group in self.group_of.values()}.values()
        return sorted(groups, key=lambda group: min(value.number for value in group))
