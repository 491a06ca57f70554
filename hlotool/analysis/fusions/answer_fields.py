"""What `hlotool fusions` answers: names, units and meanings of its figures."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.analysis.fusions.expansion import ExpandedRow
from hlotool.analysis.fusions.flags import FLAGS
from hlotool.analysis.fusions.missed import MissedRow
from hlotool.analysis.fusions.recompute import RecomputeRow
from hlotool.analysis.fusions.report import FusionRow, FusionTotals
from hlotool.fields import Block, DocumentSpec, Field, RowList, Unit


def _once(name: str, unit: Unit, meaning: str, heading: str = "") -> Field:
    """Declare a figure of one execution, which adds up to nothing: rows run differently often."""
    return Field(name, unit, f"{meaning}, in one execution", heading=heading, is_summed=False)


def _per_run(name: str, unit: Unit, meaning: str, heading: str = "") -> tuple[Field, Field]:
    """Declare a figure of all executions, null if their number is not, and what is known of it."""
    return (
        Field(
            name,
            unit,
            f"{meaning} in one run of the entry; null under a loop of unknown trip count",
            heading=heading,
            in_table=True,
            is_nullable=True,
            once=f"known_{name}",
        ),
        Field(
            f"known_{name}",
            unit,
            f"{meaning} in one run, unknown trip counts taken as one",
            is_summed=False,
        ),
    )


_OPERATION: Final = (
    Field("opcode", Unit.TEXT, "the opcode", in_table=True),
    Field("shape", Unit.TEXT, "the result's shape", in_table=True),
)
_EXECUTIONS: Final = (
    Field(
        "executions",
        Unit.COUNT,
        "executions of all of them in one run; null under a loop of unknown trip count",
        heading="runs",
        in_table=True,
        is_nullable=True,
        once="known_executions",
    ),
    Field(
        "known_executions",
        Unit.COUNT,
        "the same with unknown trip counts taken as one",
        is_summed=False,
    ),
)
_SOURCE: Final = (
    Field(
        "scope",
        Unit.TEXT,
        "the module path that all of them share, from op_name",
        in_table=True,
        is_nullable=True,
        null_text="",
    ),
    Field("op_name", Unit.TEXT, "the user's name of the first", is_nullable=True, null_text=""),
    Field("source_file", Unit.TEXT, "the first one's source file", is_nullable=True, null_text=""),
    Field(
        "source_line", Unit.NUMBER, "the first one's source line", is_nullable=True, null_text=""
    ),
)
_CONDITIONAL: Final = Field(
    "is_conditional", Unit.FLAG, "whether a branch that may not be taken holds one of them"
)
_MEMBERS: Final = Field("members", Unit.LIST, "all of them by name")

ROWS: Final = RowList(
    "rows",
    FusionRow,
    "fusions in executed computations, equal bodies in one row",
    sort="-known_bytes_accessed_per_run",
    size="bytes_accessed_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_conditional",),
    fields=(
        Field("name", Unit.TEXT, "the first fusion of these", heading="fusion", in_table=True),
        Field("count", Unit.TIMES, "fusions with an equal body", heading="×", in_table=True),
        Field("kind", Unit.TEXT, "kLoop, kInput, …", in_table=True, is_nullable=True),
        Field(
            "backend_kind",
            Unit.TEXT,
            "the emitter that the backend config names",
            heading="emitter",
            is_nullable=True,
            null_text="",
        ),
        Field("root_opcode", Unit.TEXT, "opcode of the body's root", heading="root", in_table=True),
        Field("computation", Unit.TEXT, "where the first stands"),
        Field("fused_computation", Unit.TEXT, "the first one's body"),
        Field(
            "instruction_count",
            Unit.COUNT,
            "instructions of the body, parameters included",
            heading="ops",
            in_table=True,
            is_summed=False,
        ),
        _once("operand_bytes", Unit.BYTES, "size of all operands"),
        _once("result_bytes", Unit.BYTES, "size of all results"),
        _once("bytes_accessed", Unit.BYTES, "bytes read and written: of what is sliced, the slice"),
        _once("saved_bytes", Unit.BYTES, "results inside the body that reach no memory"),
        _once("flops", Unit.FLOPS, "floating-point operations"),
        _once("transcendentals", Unit.FLOPS, "exponentials, logarithms and their kin, by element"),
        Field(
            "flops_per_byte",
            Unit.RATIO,
            "flops for each byte accessed; null where no byte is",
            heading="flops/B",
            in_table=True,
            is_nullable=True,
        ),
        *_EXECUTIONS,
        *_per_run("bytes_accessed_per_run", Unit.BYTES, "bytes read and written", "bytes/run"),
        *_per_run("flops_per_run", Unit.FLOPS, "floating-point operations"),
        *_per_run("saved_bytes_per_run", Unit.BYTES, "results that reach no memory", "saved/run"),
        Field(
            "bound",
            Unit.TEXT,
            "with --chip: what the estimate is limited by",
            is_nullable=True,
            null_text="",
            values=("compute", "memory"),
        ),
        Field(
            "estimated_seconds",
            Unit.SECONDS,
            "with --chip: an estimate of all executions in one run, at the chip's peaks",
            heading="estimate/run",
            is_nullable=True,
            null_text="",
            is_summed=True,
        ),
        Field("flags", Unit.LIST, f"what is odd: {', '.join(FLAGS)}", in_table=True),
        *_SOURCE,
        _CONDITIONAL,
        Field("is_lower_bound", Unit.FLAG, "whether the body holds what cannot be counted"),
        _MEMBERS,
    ),
)

MISSED: Final = RowList(
    "missed",
    MissedRow,
    "elementwise operations, copies, transposes, broadcasts and reshapes outside fusions",
    sort="-known_bytes_accessed_per_run",
    size="bytes_accessed_per_run",
    upper_if=("is_conditional",),
    is_optional=True,
    title="Not fused",
    fields=(
        Field("name", Unit.TEXT, "the first of these", heading="instruction", in_table=True),
        Field("count", Unit.TIMES, "equal operations from one place", heading="×", in_table=True),
        *_OPERATION,
        Field("computation", Unit.TEXT, "where they stand"),
        _once("operand_bytes", Unit.BYTES, "size of all operands"),
        _once("result_bytes", Unit.BYTES, "size of all results"),
        _once("bytes_accessed", Unit.BYTES, "bytes read and written"),
        _once("flops", Unit.FLOPS, "floating-point operations"),
        _once("transcendentals", Unit.FLOPS, "exponentials, logarithms and their kin, by element"),
        *_EXECUTIONS,
        *_per_run("bytes_accessed_per_run", Unit.BYTES, "bytes read and written", "bytes/run"),
        *_SOURCE,
        _CONDITIONAL,
        _MEMBERS,
    ),
)

RECOMPUTE: Final = RowList(
    "recompute",
    RecomputeRow,
    "dots, convolutions and transcendentals that several fusions compute from the same values",
    sort="-known_repeated_per_run",
    size="repeated_per_run",
    upper_if=("is_conditional",),
    is_optional=True,
    title="Computed again",
    fields=(
        Field("name", Unit.TEXT, "the operation in the first", heading="operation", in_table=True),
        Field("count", Unit.TIMES, "how many compute this value", heading="×", in_table=True),
        *_OPERATION,
        Field("computation", Unit.TEXT, "where the fusions stand"),
        _once("flops", Unit.FLOPS, "floating-point operations to compute it once"),
        _once("transcendentals", Unit.FLOPS, "transcendentals to compute it once"),
        *_EXECUTIONS,
        *_per_run("repeated_per_run", Unit.FLOPS, "flops and transcendentals of all but the first"),
        *_SOURCE,
        _CONDITIONAL,
        Field("members", Unit.LIST, "who computes it", heading="computed in", in_table=True),
    ),
)

EXPANDED: Final = RowList(
    "expanded",
    ExpandedRow,
    "the body of one fusion, in the order of the dump; figures of one execution",
    size="bytes_accessed",
    is_optional=True,
    limit=0,
    title="Body",
    fields=(
        Field("name", Unit.TEXT, "the instruction", heading="instruction", in_table=True),
        *_OPERATION,
        Field("operands", Unit.LIST, "its operands by name", in_table=True),
        Field(
            "place",
            Unit.TEXT,
            "an operand or constant from memory, a value that stays on chip, a result to memory, "
            "or an alias, which is none of its own",
            in_table=True,
            values=("operand", "constant", "on chip", "result", "alias"),
        ),
        Field("result_bytes", Unit.BYTES, "size of the result", is_summed=False),
        Field(
            "bytes_accessed",
            Unit.BYTES,
            "bytes of it that are read from or written to memory",
            heading="memory",
            in_table=True,
        ),
        Field(
            "saved_bytes", Unit.BYTES, "bytes that stay on chip", heading="on chip", in_table=True
        ),
        Field("flops", Unit.FLOPS, "floating-point operations", in_table=True),
        Field("transcendentals", Unit.FLOPS, "exponentials, logarithms and their kin, by element"),
        *_SOURCE,
    ),
)

TOTALS: Final = Block(
    "totals",
    FusionTotals,
    "all fusions together",
    fields=(
        Field("fusion_count", Unit.COUNT, "fusions in executed computations", is_summed=False),
        Field("distinct_count", Unit.COUNT, "different bodies among them", is_summed=False),
        Field("flops_per_run", Unit.FLOPS, "their flops in one run of the entry"),
        Field("bytes_accessed_per_run", Unit.BYTES, "bytes they read and write in one run"),
        Field("saved_bytes_per_run", Unit.BYTES, "results that never reach memory, in one run"),
        Field("is_lower_bound", Unit.FLAG, "whether a trip count or a custom call is unknown"),
        Field("is_upper_bound", Unit.FLAG, "whether a branch counts that may not be taken"),
    ),
)

FUSIONS: Final = DocumentSpec(
    "fusions",
    "what each fusion costs",
    blocks=(TOTALS,),
    row_lists=(ROWS, MISSED, RECOMPUTE, EXPANDED),
)

_ESTIMATES: Final = frozenset(("bound", "estimated_seconds"))
# The same document with the estimates among the columns of its table, and sorted by them.
FUSIONS_ON_CHIP: Final = replace(
    FUSIONS,
    row_lists=(
        replace(
            ROWS,
            fields=tuple(
                replace(one, in_table=one.in_table or one.name in _ESTIMATES) for one in ROWS.fields
            ),
            sort="-estimated_seconds",
        ),
        *FUSIONS.row_lists[1:],
    ),
)
