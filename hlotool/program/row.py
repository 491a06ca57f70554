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
    """Measure one program.

    Memory is that of space 0; an estimate, which the row says, where there is no buffer
    assignment. Raises what the analyses raise.
    """
    row = _add_memory(ProgramRow(program.name, path, place, None, stage), program)
    runs = describe_runs(program.measured)
    if runs is not None:
        row = replace(row, measured_count=runs.run_count, measured_seconds=runs.run_seconds)
    if program.module is None:
        return row
    cost, collectives, findings = program.cost, program.collectives.totals, program.findings
    return replace(
        row,
        backend=find_backend(program.module),
        instruction_count=program.module.instruction_count(),
        collective_count=collectives.count,
        wire_bytes_per_run=collectives.wire_bytes_per_run,
        total_flops_per_run=cost.total_flops_per_run,
        finding_count=len(findings),
        worst_finding=findings[0].code if findings else None,
        is_wire_lower_bound=collectives.is_lower_bound,
        is_total_lower_bound=cost.is_total_lower_bound,
        is_wire_upper_bound=collectives.is_upper_bound,
        is_total_upper_bound=cost.is_upper_bound,
    )


def _add_memory(row: ProgramRow, program: Program) -> ProgramRow:
    if program.memory is None:
        return row
    figures = program.memory.figures
    row = replace(row, backend=figures.backend)
    if figures.estimated:
        return replace(
            row,
            allocated_bytes=figures.estimated.allocated_bytes,
            peak_bytes=figures.estimated.peak_bytes,
            is_estimate=True,
            is_memory_lower_bound=figures.estimated.is_lower_bound,
        )
    return replace(
        row,
        allocated_bytes=figures.totals.allocated_bytes,
        temp_bytes=figures.totals.temp_bytes,
        peak_bytes=figures.totals.peak_bytes,
    )
