"""How may the buffer assignment come out of a scheduled module that comes without one?

Values, lifetimes and what must share a buffer follow XLA (`dataflow`, `lifetimes`); sizes
are those of the backend's shapes. What the allocator decides is not modelled: alignment,
fragmentation, and the workspace that libraries ask for at run time. docs/accuracy.md shows
how far the estimate was from XLA's own assignment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow, find_values
from hlotool.analysis.dataflow.lifetimes import Lifetimes, name_ranges, shared_buffers, value_ranges
from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import Value, resolve
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.estimated_buffers import (
    EstimatedBuffer,
    is_entry_parameter,
    join_values,
)
from hlotool.analysis.memory.estimated_size import estimate_size
from hlotool.ir.buffers import Allocation, BufferAssignment, BufferValue
from hlotool.ir.module import Module
from hlotool.ir.shape import TupleShape

TYPICAL_PERCENT: Final = 1  # how far off it typically is; measured, see docs/accuracy.md


class EstimatedAssignment(Struct, frozen=True):
    """A buffer assignment as it may come out: one allocation a buffer, every offset 0."""

    assignment: BufferAssignment
    lifetimes: Lifetimes
    backend: Backend | None


def estimate_assignment(module: Module) -> EstimatedAssignment:
    """Return what a buffer assignment of the module would hold, with lifetimes.

    Raises InputError for a module that is not scheduled.
    """
    flow = find_values(require_schedule(module))
    shared = shared_buffers(flow)
    ranges = value_ranges(flow, shared)
    backend = find_backend(module)
    buffers = join_values(flow, ranges, shared, backend)
    placed = _place_values(flow, backend)
    leaving = _find_leaving(flow)
    allocations = tuple(
        _allocation(number, buffer, placed, leaving) for number, buffer in enumerate(buffers)
    )
    assignment = BufferAssignment(module.source, allocations, is_estimate=True)
    return EstimatedAssignment(assignment, name_ranges(flow, ranges), backend)


def _place_values(flow: Dataflow, backend: Backend | None) -> dict[Value, BufferValue]:
    """Give each value its name and size, at offset 0; few shapes are many values'."""
    shapes = {id(value.shape): value.shape for value in flow.values}
    sizes = {key: estimate_size(shape, backend) for key, shape in shapes.items()}
    return {
        value: BufferValue(
            value.number,
            value.instruction.full_name,
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
    buffer: EstimatedBuffer,
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
        elif buffer.is_parameter and is_entry_parameter(value):
            allocation.parameter = instruction.parameter_number
            allocation.parameter_index = value.index
        if value in leaving:
            allocation.is_live_out = True
    return allocation
