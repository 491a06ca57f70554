"""What a summary of one module holds: names, units and meanings of its figures."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.answer_fields import TOTALS as COLLECTIVE_TOTALS
from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings.fields import FINDINGS
from hlotool.analysis.memory.figures import MemoryFigures
from hlotool.analysis.memory.figures_fields import ESTIMATED, PEAK, TOTALS
from hlotool.analysis.summary.module_counts import DtypeRow, LoopRow, ModuleFacts, OpcodeRow
from hlotool.fields import Block, DocumentSpec, Field, RowList, Unit

MODULE: Final = Block(
    "module",
    ModuleFacts,
    "the module itself; all bytes are per device",
    fields=(
        Field("name", Unit.TEXT, "the module's name"),
        Field(
            "backend",
            Unit.TEXT,
            "the backend whose marks the text bears, null before optimization",
            is_nullable=True,
            values=("cpu", "gpu", "tpu"),
        ),
        Field("is_scheduled", Unit.FLAG, "whether the order of instructions is a schedule"),
        Field("num_partitions", Unit.COUNT, "partitions the program is split into"),
        Field("replica_count", Unit.COUNT, "copies of the program that run"),
        Field("entry", Unit.TEXT, "the entry computation"),
        Field("computation_count", Unit.COUNT, "computations in the text"),
        Field("instruction_count", Unit.COUNT, "instructions in the text"),
        Field(
            "executed_instruction_count",
            Unit.COUNT,
            "instructions of computations that run on their own: entry, loop bodies, branches",
        ),
        Field("parameter_count", Unit.COUNT, "parameters of the entry"),
        Field(
            "parameter_bytes", Unit.BYTES, "their sizes, tile padding included", is_nullable=True
        ),
        Field("result_bytes", Unit.BYTES, "the size of the entry's result", is_nullable=True),
        Field(
            "donated_parameter_count",
            Unit.COUNT,
            "parameters whose memory is given up: aliased with a result, or buffer donors",
        ),
        Field("donated_bytes", Unit.BYTES, "the size of what is given up", is_nullable=True),
    ),
)

OPCODES: Final = RowList(
    "opcodes",
    OpcodeRow,
    "opcodes, those that make most first",
    sort="-executed_bytes,-executed_count,-count",
    size="executed_bytes",
    title="Opcodes",
    limit=12,
    fields=(
        Field("opcode", Unit.TEXT, "the opcode; async sugar is undone", in_table=True),
        Field("count", Unit.COUNT, "instructions in the text"),
        Field(
            "executed_count",
            Unit.COUNT,
            "those that run on their own: in the entry, loop bodies, branches",
            heading="executed",
            in_table=True,
        ),
        Field(
            "fused_count",
            Unit.COUNT,
            "those inside fusions, reducers and other embedded computations",
            heading="fused",
            in_table=True,
        ),
        Field(
            "executions",
            Unit.COUNT,
            "how often the executed ones run in one run of the entry; null under a loop of "
            "unknown trip count",
            heading="runs",
            in_table=True,
            is_nullable=True,
            once="known_executions",
        ),
        Field(
            "known_executions",
            Unit.COUNT,
            "the same with unknown trip counts taken as one",
        ),
        Field(
            "result_bytes",
            Unit.BYTES,
            "the results of all of them, each instruction once",
            is_nullable=True,
        ),
        Field(
            "executed_bytes",
            Unit.BYTES,
            "the results that executed ones make, each instruction once; opcodes that only pass "
            "on what exists make nothing",
            heading="makes",
            in_table=True,
            is_nullable=True,
        ),
    ),
)

DTYPES: Final = RowList(
    "dtypes",
    DtypeRow,
    "element types, the one with most bytes first",
    sort="-result_bytes",
    size="result_bytes",
    title="Element types of all results",
    limit=8,
    fields=(
        Field("dtype", Unit.TEXT, "the element type of array results", in_table=True),
        Field("count", Unit.COUNT, "array results of that type, fused ones too", in_table=True),
        Field(
            "result_bytes",
            Unit.BYTES,
            "their sizes, each instruction once",
            heading="results",
            in_table=True,
            is_nullable=True,
        ),
    ),
)

LOOPS: Final = RowList(
    "loops",
    LoopRow,
    "loops in program order, inner behind outer ones",
    has_total=False,
    title="Loops",
    fields=(
        Field(
            "name",
            Unit.TEXT,
            "the while instruction",
            heading="loop",
            in_table=True,
            indent_by="depth",
        ),
        Field("computation", Unit.TEXT, "where it stands"),
        Field("body", Unit.TEXT, "the computation it repeats"),
        Field(
            "trip_count",
            Unit.NUMBER,
            "how often one execution runs the body; null when unknown",
            heading="trips",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "trip_count_source",
            Unit.TEXT,
            "printed in the backend config, or derived from condition, step and init",
            heading="from",
            in_table=True,
            is_nullable=True,
            values=("backend_config", "derived"),
        ),
        Field("depth", Unit.NUMBER, "how many loops are around it"),
        Field(
            "parent",
            Unit.TEXT,
            "the loop around it, null for none",
            is_nullable=True,
            null_text="",
        ),
        Field(
            "executions",
            Unit.COUNT,
            "how often the loop itself is started in one run of the entry",
            heading="runs",
            in_table=True,
            is_nullable=True,
        ),
        Field(
            "carried_bytes",
            Unit.BYTES,
            "the state that goes from round to round",
            heading="carries",
            in_table=True,
            is_nullable=True,
        ),
    ),
)

MEMORY: Final = Block(
    "memory",
    MemoryFigures,
    "memory of space 0; null for a module that is not scheduled",
    blocks=(TOTALS, PEAK, replace(ESTIMATED, is_nullable=True, is_optional=False)),
    is_nullable=True,
    fields=(
        Field(
            "source",
            Unit.TEXT,
            "where the figures come from",
            values=("buffer-assignment", "estimate"),
        ),
        Field(
            "lifetimes",
            Unit.TEXT,
            "where the lifetimes come from; null where nothing tells",
            is_nullable=True,
            values=("live-range", "derived"),
        ),
    ),
)

COLLECTIVES: Final = replace(COLLECTIVE_TOTALS, name="collectives")

SUMMARY: Final = DocumentSpec(
    "summary",
    "one module: what it is and what is in it",
    blocks=(MODULE, COST, MEMORY, COLLECTIVES),
    row_lists=(OPCODES, DTYPES, LOOPS, replace(FINDINGS, is_optional=True)),
)
