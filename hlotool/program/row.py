"""The figures by which the programs of a directory are ranked: one row a program."""

from __future__ import annotations

from msgspec.structs import replace

from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.measured.facts import describe_runs
from hlotool.analysis.summary.program_row import ProgramRow, ProgramStage
from hlotool.program.program import Program


def measure_program(
    program: Program, path: str, place: str, stage: ProgramStage | None
) -> ProgramRow:
    """Measure one program: memory where it has a buffer assignment, the rest from its text.

    Memory is that of space 0, never an estimate. Raises what the analyses raise.
    """
    memory = program.memory.figures if program.assignment and program.memory else None
    row = ProgramRow(
        program.name,
        path,
        place,
        memory.backend if memory else None,
        stage,
        allocated_bytes=memory.totals.allocated_bytes if memory else None,
        temp_bytes=memory.totals.temp_bytes if memory else None,
        peak_bytes=memory.totals.peak_bytes if memory else None,
    )
    runs = describe_runs(program.measured)
    if runs is not None:
        row = replace(row, measured_count=runs.run_count, measured_seconds=runs.run_seconds)
    if program.module is None:
        return row
    cost, collectives = program.cost, program.collective_totals
    return replace(
        row,
        backend=find_backend(program.module),
        instruction_count=program.module.instruction_count(),
        collective_count=collectives.count,
        wire_bytes_per_run=collectives.wire_bytes_per_run,
        total_flops_per_run=cost.total_flops_per_run,
        is_wire_lower_bound=collectives.is_lower_bound,
        is_total_lower_bound=cost.is_total_lower_bound,
        is_upper_bound=cost.is_upper_bound or collectives.is_upper_bound,
    )
