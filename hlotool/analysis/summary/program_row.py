"""One program of a dump directory, in one row."""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.report import sum_collectives
from hlotool.analysis.cost import analyze_cost, measure_costs
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.call_graph import read_call_graph
from hlotool.analysis.graph.executions import count_executions
from hlotool.analysis.memory.report import find_memory_figures
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment


class ModuleRow(Struct, frozen=True):
    """The figures by which programs are ranked; None where the dump does not tell.

    `place` is the path in short. `error` says why a program could not be read; all its
    figures are None then.
    """

    module: str
    path: str
    place: str
    backend: Backend | None = None
    stage: str | None = None
    instruction_count: int | None = None
    allocated_bytes: int | None = None
    temp_bytes: int | None = None
    peak_bytes: int | None = None
    collective_count: int | None = None
    wire_bytes_per_run: int | None = None
    flops_per_run: int | None = None
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    error: str | None = None


def measure_program(
    name: str,
    path: str,
    place: str,
    stage: str | None,
    *,
    module: Module | None,
    assignment: BufferAssignment | None,
) -> ModuleRow:
    """Measure one program: memory where it has a buffer assignment, the rest from its text.

    Memory is that of space 0, never an estimate. Raises what the analyses raise.
    """
    memory = find_memory_figures(module, assignment) if assignment is not None else None
    allocated = memory.totals.allocated_bytes if memory else None
    temp = memory.totals.temp_bytes if memory else None
    peak = memory.totals.peak_bytes if memory else None
    if module is None:
        backend = memory.backend if memory else None
        return ModuleRow(name, path, place, backend, stage, None, allocated, temp, peak)
    executions = count_executions(module)
    graph = read_call_graph(module)
    cost = analyze_cost(module, executions, measure_costs(module, graph))
    collectives = sum_collectives(module, executions, graph)
    return ModuleRow(
        module.name or name,
        path,
        place,
        find_backend(module),
        stage,
        module.instruction_count(),
        allocated,
        temp,
        peak,
        collectives.count,
        collectives.wire_bytes_per_run,
        cost.flops_per_run,
        cost.is_lower_bound or collectives.is_lower_bound,
        cost.is_upper_bound or collectives.is_upper_bound,
    )
