"""What does `hlotool summary` answer, for a module and for a directory?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.answer import COLLECTIVE_TOTALS
from hlotool.analysis.collectives.host_rows import HOST_TOTALS
from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings.finding import FINDINGS, choose_finding_columns
from hlotool.analysis.measured.facts import MEASURED
from hlotool.analysis.measured.instructions import MEASURED_INSTRUCTIONS
from hlotool.analysis.memory.answer import HEADROOM, ROWS
from hlotool.analysis.memory.figures import ESTIMATED, PEAK, TOTALS, MemoryFigures
from hlotool.analysis.summary.compilation import Compilation
from hlotool.analysis.summary.dtype_rows import DtypeRow
from hlotool.analysis.summary.loop_rows import LoopRow
from hlotool.analysis.summary.module_facts import ModuleFacts
from hlotool.analysis.summary.opcode_rows import OpcodeRow
from hlotool.analysis.summary.program_row import ProgramRow
from hlotool.analysis.summary.report import Summary
from hlotool.analysis.summary.run_bound import RunBound
from hlotool.analysis.summary.run_estimate import RUN_TIME
from hlotool.fields import Block, DocumentSpec, Field, RowList

MODULE: Final = Block("module", ModuleFacts, "the module itself; all bytes are per device")
OPCODES: Final = RowList(
    "opcodes",
    OpcodeRow,
    "opcodes, largest results first",
    sort="-executed_bytes,-executed_count,-count",
    size="executed_bytes",
    title="Opcodes",
    limit=12,
)
DTYPES: Final = RowList(
    "dtypes",
    DtypeRow,
    "element types, most bytes first",
    sort="-result_bytes",
    size="result_bytes",
    title="Element types of all results",
    limit=8,
)
LOOPS: Final = RowList(
    "loops",
    LoopRow,
    "loops in program order, inner loops after outer ones",
    upper_if=("is_upper_bound",),
    has_total=False,
    title="Loops",
    limit=3,
)
MEMORY: Final = Block(
    "memory",
    MemoryFigures,
    "memory of space 0; null without a schedule, and on TPU without layouts, where nothing tells",
    blocks=(TOTALS, PEAK, replace(ESTIMATED, is_nullable=True, is_optional=False)),
    is_nullable=True,
)
COLLECTIVES: Final = replace(COLLECTIVE_TOTALS, name="collectives")
HOLDERS: Final = replace(
    ROWS,
    name="holders",
    meaning="values that hold memory at the peak of space 0, as `hlotool buffers` lists them",
    is_optional=True,
    has_total=False,
    limit=5,
    title="Who holds memory at the peak",
).showing({"occupied_bytes", "count", "class", "value", "source", "belongs_to"})
COMPILATION: Final = Block(
    "compilation", Compilation, "under what it was compiled, as far as its files tell"
)
BOUND: Final = Block(
    "bound", RunBound, "with --chip: what limits a run at its peaks", is_optional=True
)
SUMMARY: Final = DocumentSpec(
    "summary",
    "one module: what it is and what is in it",
    blocks=(
        *(MODULE, COMPILATION, COST, BOUND, RUN_TIME, MEMORY),
        replace(HEADROOM, meaning=f"with --hbm or --chip: {HEADROOM.meaning}"),
        *(COLLECTIVES, HOST_TOTALS, MEASURED),
    ),
    row_lists=(
        *(OPCODES, DTYPES, LOOPS, replace(FINDINGS, is_optional=True), HOLDERS),
        MEASURED_INSTRUCTIONS,
    ),
)


def choose_summary_columns(found: Summary) -> DocumentSpec:
    """Return the answer with columns for contradicted trip counts and measured times if any.

    Findings have the one that they are sorted by.
    """
    opcodes, shown = OPCODES, LOOPS
    if all(loop.contradicting_trip_count is None for loop in found.loops):
        shown = LOOPS.showing(LOOPS.shown() - {"contradicting_trip_count"})
    if found.measured is not None:
        chosen = OPCODES.showing(OPCODES.shown() | {"measured_count", "measured_seconds"})
        opcodes = replace(chosen, sort=f"-measured_seconds,{OPCODES.sort}")
    findings = replace(choose_finding_columns(found.findings), is_optional=True)
    chosen_lists = {OPCODES.name: opcodes, LOOPS.name: shown, FINDINGS.name: findings}
    row_lists = tuple(chosen_lists.get(one.name, one) for one in SUMMARY.row_lists)
    return replace(SUMMARY, row_lists=row_lists)


MODULES: Final = RowList(
    "modules",
    ProgramRow,
    "programs, most memory first",
    sort="-allocated_bytes,-peak_bytes,-instruction_count",
    size="allocated_bytes",
    key="place",
    has_total=False,
)
_MEASURED_COLUMNS: Final = {"measured_count", "measured_seconds"}
_GIVE_WAY_TO_TIMES: Final = {
    "measured_count": 4,
    "allocated_bytes": 1,
    "finding_count": 1,
    "worst_finding": 1,
}
SUMMARY_DIRECTORY: Final = DocumentSpec(
    "summary-directory", "the programs of a dump directory", row_lists=(MODULES,)
)


def choose_directory_columns(rows: Sequence[ProgramRow]) -> DocumentSpec:
    """Return the answer with columns for measured times if a profile has any."""
    if all(row.measured_count is None for row in rows):
        return SUMMARY_DIRECTORY
    shown = MODULES.showing(MODULES.shown() | _MEASURED_COLUMNS)
    fields = tuple(replace(each, give_way=_ways(each)) for each in shown.fields)
    return replace(SUMMARY_DIRECTORY, row_lists=(replace(shown, chosen=fields),))


def _ways(field: Field) -> int:
    """Return when a column leaves a table of measured programs: their times are the answer."""
    return _GIVE_WAY_TO_TIMES.get(field.name, field.give_way)
