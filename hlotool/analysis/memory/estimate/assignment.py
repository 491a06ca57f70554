"""How may the buffer assignment come out of a scheduled module that comes without one?

Values, lifetimes and what shares a buffer follow XLA (`dataflow`, `lifetimes`,
`joined_buffers`); sizes are those of the backend's shapes. All temporary values of a space
together have a size (`temp_size`), but none has a place. The workspace that libraries ask for
at run time is not modelled. docs/accuracy.md shows how far the estimate was from XLA's own
assignment.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow, find_values
from hlotool.analysis.dataflow.lifetimes import (
    Lifetimes,
    name_lifetimes,
    shared_buffers,
    value_ranges,
)
from hlotool.analysis.dataflow.schedule import require_schedule
from hlotool.analysis.dataflow.values import Value
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.estimate.hlo_buffers import HloBuffer, is_entry_parameter, list_buffers
from hlotool.analysis.memory.estimate.joined_buffers import join_buffers
from hlotool.analysis.memory.estimate.temp_size import measure_temp
from hlotool.analysis.memory.estimate.value_size import estimate_size, uses_sparse_cores
from hlotool.ir.buffers import Allocation, BufferAssignment, BufferValue, LiveRange
from hlotool.ir.module import Module
from hlotool.ir.shape import TupleShape


class EstimatedAssignment(Struct, frozen=True):
    """A buffer assignment as it may come out: one allocation a buffer, every offset 0.

    `temp_bytes` is what temporary values take together, by space; None where unknown. `flow` are
    the values it was made of.
    """

    assignment: BufferAssignment
    lifetimes: Lifetimes
    backend: Backend | None
    temp_bytes: Mapping[int, int | None]
    flow: Dataflow


def estimate_assignment(module: Module) -> EstimatedAssignment:
    """Return what a buffer assignment of the module would hold, with lifetimes.

    Raises InputError for a module that is not scheduled.
    """
    flow = find_values(require_schedule(module))
    shared = shared_buffers(flow)
    ranges = value_ranges(flow, shared)
    backend = find_backend(module)
    placed = _place_values(flow, ranges, backend)
    joined = join_buffers(flow, ranges, list_buffers(flow, shared, placed), backend)
    allocations = tuple(
        _allocation(number, buffers, placed) for number, buffers in enumerate(joined)
    )
    temps = (
        group
        for group, allocation in zip(joined, allocations, strict=True)
        if allocation.allocation_class == "temp"
    )
    temp_bytes = measure_temp(flow, ranges, temps, backend)  # before names take room
    return EstimatedAssignment(
        BufferAssignment(module.source, allocations, is_estimate=True),
        name_lifetimes(flow),
        backend,
        temp_bytes,
        flow,
    )


def _place_values(
    flow: Dataflow, ranges: Mapping[Value, LiveRange], backend: Backend | None
) -> dict[Value, BufferValue]:
    """Give each value its name, size and range, at offset 0; few shapes are many values'."""
    shapes = {id(value.shape): value.shape for value in flow.values}
    has_sparse_cores = backend == "tpu" and uses_sparse_cores(shapes.values())
    sizes = {
        key: estimate_size(shape, backend, has_sparse_cores=has_sparse_cores)
        for key, shape in shapes.items()
    }
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
            live=ranges[value],
        )
        for value in flow.values
    }


def _allocation(
    number: int, buffers: list[HloBuffer], placed: Mapping[Value, BufferValue]
) -> Allocation:
    """Make the allocation of some buffers; its class is that of the first value that decides."""
    values = [value for buffer in buffers for value in buffer.values]
    allocation = Allocation(
        number,
        max(buffer.size_bytes for buffer in buffers),
        buffers[0].color,
        is_live_out=any(buffer.leaves for buffer in buffers),
        values=[placed[value] for value in values],
    )
    for value in values:
        if value.instruction.opcode == "constant":
            allocation.is_constant = True
        elif is_entry_parameter(value):
            allocation.parameter = value.instruction.parameter_number
            allocation.parameter_index = value.index
    return allocation
