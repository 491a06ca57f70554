"""The buffer assignment that a scheduled module without one may come out with, and its accuracy.

`memory/report` asks `find_obstacle`, then `estimate_assignment`, where a dump has no assignment.
The result has the form of one that was read, so that every analysis of memory takes either.

Values, live ranges and what shares a buffer follow XLA (`dataflow`, `buffer_assigner`); sizes are
those of the backend's shapes. All temporary values of a space together have a size, but none has a
place: every offset is 0. The workspace that libraries ask for at run time is not modelled.

How far the estimate is off was measured against XLA's own assignments (docs/accuracy.md).
`find_accuracy` has what came out, with room to spare; `make accuracy` measures again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.live_ranges import (
    LiveRanges,
    name_live_ranges,
    shared_buffers,
    value_ranges,
)
from hlotool.analysis.dataflow.schedule import find_problem, require_schedule
from hlotool.analysis.dataflow.values import Dataflow, Value, trace_values
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.buffer_assigner import (
    HloBuffer,
    NewDonation,
    join_buffers,
    list_buffers,
    make_allocation,
    measure_temp,
)
from hlotool.hlo import Module, Shape, TupleShape
from hlotool.hlo.buffers import BufferAssignment, BufferValue, LiveRange

HOST_ARRAY_BYTES: Final = 4096  # the TPU's allocator gives host arrays, `S(4)`, a page
_TPU_HOST_SPACE: Final = 4
_TPU_TABLE_BYTES: Final = 512
_POINTER_BYTES: Final = 8
_FIRST_SPARSE_CORE_SPACE: Final = 8  # S(8) to S(12) are those of sparse cores


class Obstacle(Struct, frozen=True):
    """Why there is no estimate: in half a sentence, and with what to do about it."""

    reason: str
    advice: str


def find_obstacle(module: Module) -> Obstacle | None:
    """Say why a module's memory cannot be estimated, None if it can."""
    if module.source.is_fragment:
        return Obstacle(
            "the text is part of a program",
            "this is part of a program, and the rest may hold memory. Give the whole program.",
        )
    if problem := find_problem(module):
        is_scheduled = module.header.is_scheduled
        lost = "the text is not in schedule order"
        return Obstacle(lost if is_scheduled else "the module is not scheduled", problem)
    # All shapes but those of scalars have a layout where layouts are printed.
    leaves = (leaf for one in module.instructions() for leaf in one.shape.leaves())
    if not any(leaf.layout for leaf in leaves) and find_backend(module) == "tpu":
        return Obstacle(
            "the text has no layouts, and on TPU their tiles determine sizes",
            "this text has no layouts, whose tiles determine sizes on TPU, so its memory "
            "is unknown. Use the text that XLA dumps, compiled.as_text() in JAX, or its "
            "buffer assignment (--buffers).",
        )
    return None


class EstimatedAssignment(Struct, frozen=True):
    """A buffer assignment as it may come out: one allocation a buffer, every offset 0.

    `temp_bytes` is what temporary values take together, by space; None where unknown. `flow` are
    the values it was made of.
    """

    assignment: BufferAssignment
    live_ranges: LiveRanges
    backend: Backend | None
    temp_bytes: Mapping[int, int | None]
    flow: Dataflow


def estimate_assignment(module: Module) -> EstimatedAssignment:
    """Return what a buffer assignment of the module would hold, with live ranges.

    Raises InputError for a module that is not scheduled.
    """
    flow = trace_values(require_schedule(module))
    backend = find_backend(module)
    assignment, joined, ranges = _assign(flow, backend, ())
    temps = (
        group
        for group, allocation in zip(joined, assignment.allocations, strict=True)
        if allocation.allocation_type == "temp"
    )
    # Before the live ranges have names: both need much memory, and not at once.
    temp_bytes = measure_temp(flow.schedule, ranges, temps, backend)
    return EstimatedAssignment(assignment, name_live_ranges(flow), backend, temp_bytes, flow)


def assign_donated(flow: Dataflow, donations: Collection[NewDonation]) -> BufferAssignment:
    """Return what a buffer assignment would hold if more parameters were donated."""
    return _assign(flow, find_backend(flow.schedule.module), donations)[0]


def _assign(
    flow: Dataflow, backend: Backend | None, donations: Collection[NewDonation]
) -> tuple[BufferAssignment, list[list[HloBuffer]], Mapping[Value, LiveRange]]:
    """Return the assignment with the buffers of each allocation, and when values live."""
    together = [(one.parameter, one.output) for one in donations if one.copied is None]
    shared = shared_buffers(flow, together)
    ranges = value_ranges(flow, shared, {one.parameter for one in donations})
    placed = _make_buffer_values(flow, ranges, backend)
    buffers = list_buffers(flow, shared, placed, donations)
    joined = join_buffers(flow, buffers, ranges, backend)
    allocations = tuple(
        make_allocation(number, buffers, placed) for number, buffers in enumerate(joined)
    )
    source = flow.schedule.module.source
    return BufferAssignment(source, allocations, is_estimate=True), joined, ranges


def estimate_size(shape: Shape, backend: Backend | None, *, has_sparse_cores: bool = False) -> int:
    """Return the bytes a backend gives a value; 0 where the shape has an unknown dimension.

    Tuples cost their own table: a pointer an element; on TPU v5e, which has no sparse cores,
    512 bytes; on TPUs that have some (v5p, v6e, 7x) 4 bytes an element, in steps of 32.
    """
    if isinstance(shape, TupleShape):
        if backend != "tpu":
            return _POINTER_BYTES * len(shape.elements)
        return -(-len(shape.elements) // 8) * 32 if has_sparse_cores else _TPU_TABLE_BYTES
    if backend == "tpu" and shape.memory_space == _TPU_HOST_SPACE:
        return HOST_ARRAY_BYTES
    return shape.size_bytes or 0


def _make_buffer_values(
    flow: Dataflow, ranges: Mapping[Value, LiveRange], backend: Backend | None
) -> dict[Value, BufferValue]:
    """Return each value with its name, size and range, at offset 0."""
    # Thousands of values share few shapes: each shape is measured once.
    shapes = {id(value.shape): value.shape for value in flow.values}
    has_sparse_cores = backend == "tpu" and any(
        shape.memory_space >= _FIRST_SPARSE_CORE_SPACE for shape in shapes.values()
    )
    sizes = {
        key: estimate_size(shape, backend, has_sparse_cores=has_sparse_cores)
        for key, shape in shapes.items()
    }
    return {
        value: BufferValue(
            value.number,
            value.instruction.full_name,
            value.index if isinstance(value.instruction.shape, TupleShape) else None,
            value.is_phi,
            value.shape.memory_space,
            sizes[id(value.shape)],
            0,
            value.shape,
            live=ranges[value],
        )
        for value in flow.values
    }


EstimatedFigure: TypeAlias = Literal["peak", "temp_peak", "allocated"]
_KIB: Final = 1024


class Accuracy(Struct, frozen=True):
    """An estimate is typically off by no more than so much of it, or than so many KiB.

    Of a small program little is off, but that may be much of it: 1 % of 10 KiB says too much.
    """

    percent: int
    least_kib: int

    def margin_bytes(self, size_bytes: int) -> int:
        """Return how far an estimate of this size may be off."""
        return max(size_bytes * self.percent // 100, self.least_kib * _KIB)

    def render(self, size_bytes: int) -> str:
        """Return `within 1 %`, or `within 4 KiB` where that is more of an estimate of this size."""
        is_small = self.margin_bytes(size_bytes) == self.least_kib * _KIB
        return f"within {self.least_kib} KiB" if is_small else f"within {self.percent} %"


# On TPU a temp peak is at most as estimated, and may be half of it: no accuracy is stated.
_ACCURACY: Final[Mapping[tuple[EstimatedFigure, Backend], Accuracy]] = {
    ("peak", "cpu"): Accuracy(1, 4),
    ("peak", "gpu"): Accuracy(1, 4),
    ("peak", "tpu"): Accuracy(1, 4),
    ("temp_peak", "cpu"): Accuracy(2, 4),
    ("temp_peak", "gpu"): Accuracy(2, 4),
    ("allocated", "cpu"): Accuracy(1, 4),
    ("allocated", "gpu"): Accuracy(1, 4),
    ("allocated", "tpu"): Accuracy(3, 512),
}


def find_accuracy(
    figure: EstimatedFigure, backend: Backend | None, color: int = 0
) -> Accuracy | None:
    """Return how near a figure of this backend is; None where that was not measured.

    It was measured in space 0 only.
    """
    return _ACCURACY.get((figure, backend)) if backend and not color else None
