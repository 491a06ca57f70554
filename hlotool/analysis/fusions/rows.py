"""The records and lists that `hlotool fusions` answers with, and the figures that they share.

`once` declares a figure of one execution, `per_step` one of all executions per step of the entry,
`known_per_step` what is known of that where a trip count is not. Bytes are those of shapes without
tile padding. A column that several lists have is declared once, under a name of its own. Kinds are
those of xla/hlo/ir/hlo_instruction.h. `report` and `missed` make the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

from hlotool.analysis.cost.cost import ACCESSED, ELEMENTARY, OF_TYPES, TYPES
from hlotool.analysis.cost.custom_calls import CostSource
from hlotool.analysis.measured import MeasuredCount, MeasuredSeconds
from hlotool.analysis.origin import Stack, StackFrame
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import FREE, MOVES, OPCODES
from hlotool.table import (
    BYTES,
    FLOPS,
    RATIO,
    TIMES,
    Block,
    DocumentSpec,
    RowList,
    Shown,
    Unit,
    column,
    figure,
)

FLOATING_POINT: Final = "floating-point operations"
MEMORY: Final = "bytes that cross memory space 0 (HBM on TPU)"


def once(meaning: str) -> Meta:
    """Declare a figure of one execution, which adds up to nothing: rows run differently often."""
    return figure(f"{meaning}, in one execution", is_summed=False)


def per_step(meaning: str, unit: Unit | None = None, *, lower_if: str = "") -> Meta:
    """Declare a figure of all executions, null if their number is."""
    said = f"{meaning} per step; null under a loop of unknown trip count"
    return column(said, unit, lower_if=lower_if)


def known_per_step(meaning: str, unit: Unit | None = None) -> Meta:
    """Declare what is known of a figure of all executions."""
    return figure(f"{meaning} per step, with unknown trip counts as one", unit, is_summed=False)


Opcode: TypeAlias = Annotated[str, column("the opcode", words=OPCODES)]
ResultShape: TypeAlias = Annotated[str, column("the result's shape")]
Members: TypeAlias = Annotated[tuple[str, ...], figure("names of all of them")]
# Of one execution.
OperandBytes: TypeAlias = Annotated[int, once("size of all operands")]
ResultBytes: TypeAlias = Annotated[int, once("size of all results")]
Flops: TypeAlias = Annotated[int, once(FLOATING_POINT)]
Transcendentals: TypeAlias = Annotated[int, once(ELEMENTARY)]
MemoryBytes: TypeAlias = Annotated[int, once(MEMORY)]
# Of all executions per step.
TotalExecutions: TypeAlias = Annotated[
    int | None,
    column(
        "executions of all of them per step; null under a loop of unknown trip count",
        heading="runs",
    ),
]
KnownExecutions: TypeAlias = Annotated[
    int, figure("the same with unknown trip counts as one", is_summed=False)
]
MemoryPerStep: TypeAlias = Annotated[int | None, per_step(MEMORY)]
KnownMemoryPerStep: TypeAlias = Annotated[int, known_per_step(MEMORY)]
BytesPerStep: TypeAlias = Annotated[
    int | None,
    figure(f"{ACCESSED} per step; null under a loop of unknown trip count", heading="bytes/step"),
]
KnownBytesPerStep: TypeAlias = Annotated[int, known_per_step(ACCESSED)]
IsConditional: TypeAlias = Annotated[
    bool, figure("whether one of them is in a branch that might not be taken")
]
# Where in the user's program they come from.
SharedScope: TypeAlias = Annotated[
    str | None,
    column(
        "common part of their module paths, from op_name; * for differing parts",
        null_text="",
        is_path=True,
    ),
]
FirstOpName: TypeAlias = Annotated[str | None, figure("op_name of the first", null_text="")]
FirstSourceFile: TypeAlias = Annotated[
    str | None, figure("the first one's source file", null_text="")
]
FirstSourceLine: TypeAlias = Annotated[
    int | None, figure("the first one's source line", null_text="")
]
# Those of xla/hlo/ir/hlo_instruction.h.
KIND_MEANINGS: Final[Mapping[str, str]] = {
    "kLoop": "a fusion that runs all operations in one loop over the elements of the result",
    "kInput": "a fusion of an operation, such as a reduction, with its producers",
    "kOutput": "a fusion of an operation, such as a matrix product, with its users",
    "kCustom": "a fusion of a backend's own kind, such as a Triton kernel on GPU",
}
FUSION_KINDS: Final = frozenset(KIND_MEANINGS)


def find_kind(fusion: Instruction) -> str | None:
    """Return `kind=` as printed, kLoop and its kin; None without one."""
    return fusion.attributes.get("kind")


def find_backend_kind(fusion: Instruction) -> str | None:
    """Return the emitter that the backend chose, None where the dump does not say.

    GPU prints it as `fusion_backend_config.kind` (`__triton_gemm`), CPU as
    `fusion_config.kind`.
    """
    # To look for the word first spares reading configs without it as JSON.
    if "kind" not in fusion.attributes.get("backend_config", ""):
        return None
    for key in ("fusion_backend_config", "fusion_config"):
        kind = fusion.find_config(key, "kind")
        if isinstance(kind, str) and kind:
            return kind
    return None


Flag: TypeAlias = Literal[
    "trivial", "multi-output", "duplicate-output", "convert-only", "copy-only"
]
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)
FLAG_MEANINGS: Final[Mapping[Flag, str]] = {
    "trivial": "at most one real operation",
    "multi-output": "the result is a tuple of several",
    "duplicate-output": "two results are the same value, perhaps behind bitcasts",
    "convert-only": "real operations are all converts",
    "copy-only": "real operations all move data without computing: copy, transpose, reshape",
}


def flag_body(body: Computation) -> tuple[Flag, ...]:
    """Return the flags of a fused computation, in the order of `FLAGS`.

    A real operation is anything but parameter, constant, tuple, get-tuple-element and
    bitcast. `FLAG_MEANINGS` says what each flag means.
    """
    real = [one.opcode for one in body.instructions if one.opcode not in FREE]
    # What each result is behind bitcasts, which rename a value and make none.
    behind: dict[Instruction, Instruction] = {}
    for one in body.instructions:
        is_bitcast = one.opcode == "bitcast" and one.operands
        behind[one] = behind[one.operands[0]] if is_bitcast else one
    outputs = [behind[one] for one in body.root.operands] if body.root.opcode == "tuple" else []
    found: dict[Flag, bool] = {
        "trivial": len(real) <= 1,
        "multi-output": len(outputs) > 1,
        "duplicate-output": len(set(outputs)) < len(outputs),
        "convert-only": set(real) == {"convert"},
        "copy-only": is_copy_only(body),
    }
    return tuple(flag for flag in FLAGS if found[flag])


def is_copy_only(body: Computation) -> bool:
    """Whether all real operations of a fused computation move data, and there is one."""
    found = False
    for one in body.instructions:
        if one.opcode not in FREE:
            if one.opcode not in MOVES:
                return False
            found = True
    return found


Bound: TypeAlias = Literal["compute", "memory", "vmem"]
_SAVED: Final = "results that never reach memory"
_LOWER_FLOPS: Final = "is_flops_lower_bound"
_WITHOUT_CALLS: Final = f"{FLOATING_POINT}, without those of custom calls inside"


def _show_spaces(row: FusionRow) -> object:
    """Show what a backend calls its spaces: `hbm 1.2 GiB, vmem 3.0 MiB`."""
    pairs = zip(row.space_names, row.traffic_bytes_by_space, strict=True)
    return tuple(Shown(size, f"{name} ", BYTES) for name, (_, size) in pairs)


class FusionRow(Struct, frozen=True, kw_only=True):
    """Fusions with equal bodies; figures of one execution of one of them, or of all per step.

    `known_*` take unknown trip counts as one. The name and what is said of its place are
    those of the first; `scope` is what all share, `members` names them all.
    """

    name: Annotated[str, column("the first of these fusions", heading="fusion")]
    count: Annotated[int, column("fusions with an equal body", TIMES)]
    kind: Annotated[
        str | None, column("kLoop, kInput, …", words=FUSION_KINDS, word_meanings=KIND_MEANINGS)
    ]
    backend_kind: Annotated[
        str | None,
        figure("the emitter that the backend config names", heading="emitter", null_text=""),
    ]
    root_opcode: Annotated[
        str | None,
        column("opcode of the body's root; null without a body", heading="root", words=OPCODES),
    ]
    computation: Annotated[str, figure("computation of the first")]
    fused_computation: Annotated[
        str | None, figure("the first one's fused computation; null where none is named")
    ]
    instruction_count: Annotated[
        int | None,
        column(
            "instructions of the body, parameters included; null without a body",
            heading="instructions",
            is_summed=False,
        ),
    ]
    operand_bytes: OperandBytes
    result_bytes: ResultBytes
    traffic_bytes: MemoryBytes
    traffic_bytes_by_space: Annotated[
        tuple[tuple[int, ...], ...],
        figure(
            "bytes that cross each memory space, in one execution: its number, then bytes",
            shown=_show_spaces,
        ),
    ]
    bytes_accessed: Annotated[int, once(ACCESSED)]
    on_chip_bytes: Annotated[int, once("results inside the body that never reach memory")]
    flops: Annotated[int, once(_WITHOUT_CALLS)]
    padded_traffic_bytes: Annotated[int, once("traffic_bytes with the padding of tiles")]
    matrix_flops: Annotated[int, figure("the part of flops in matrix products", is_summed=False)]
    product_types: Annotated[tuple[str, ...], figure(f"of flops, {TYPES}")]
    product_flops: Annotated[tuple[int, ...], figure(f"of flops, {OF_TYPES}")]
    transcendentals: Transcendentals
    arithmetic_intensity: Annotated[
        float | None,
        column("flops per byte of traffic_bytes; null without traffic", RATIO, heading="intensity"),
    ]
    executions: TotalExecutions
    known_executions: KnownExecutions
    traffic_bytes_per_step: MemoryPerStep
    known_traffic_bytes_per_step: KnownMemoryPerStep
    bytes_accessed_per_step: BytesPerStep
    known_bytes_accessed_per_step: KnownBytesPerStep
    flops_per_step: Annotated[int | None, per_step(_WITHOUT_CALLS, lower_if=_LOWER_FLOPS)]
    known_flops_per_step: Annotated[int, known_per_step(_WITHOUT_CALLS)]
    on_chip_bytes_per_step: Annotated[int | None, per_step(_SAVED)]
    known_on_chip_bytes_per_step: Annotated[int, known_per_step(_SAVED)]
    bound: Annotated[
        Bound | None,
        figure("with --chip: the limit of the estimated time; memory is space 0", null_text=""),
    ] = None
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of all executions per step, at the chip's peaks",
            heading="estimate/step",
            null_text="",
            is_summed=True,
        ),
    ] = None
    measured_count: MeasuredCount = None
    measured_seconds: MeasuredSeconds = None
    flags: Annotated[
        tuple[Flag, ...], column(f"oddities: {', '.join(FLAGS)}", word_meanings=FLAG_MEANINGS)
    ]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_lower_bound: Annotated[bool, figure("whether part of the body cannot be counted")]
    is_flops_lower_bound: Annotated[
        bool, figure("whether is_lower_bound is true, or flops exclude a custom call inside")
    ]
    members: Members
    stack: Stack = None
    stack_frame: StackFrame = None
    space_names: tuple[str, ...] = ()  # of traffic_bytes_by_space, for tables


class FusionTotals(Struct, frozen=True):
    """All fusions of a module together."""

    fusion_count: Annotated[int, figure("fusions in executed computations", is_summed=False)]
    distinct_count: Annotated[int, figure("distinct bodies among them", is_summed=False)]
    flops_per_step: Annotated[
        int,
        figure(
            "their flops per step of the entry, without those of custom calls inside",
            lower_if=_LOWER_FLOPS,
        ),
    ]
    traffic_bytes_per_step: Annotated[int, figure("their bytes that cross memory space 0 per step")]
    bytes_accessed_per_step: Annotated[
        int, figure("bytes they read and write per step, as XLA counts them")
    ]
    on_chip_bytes_per_step: Annotated[int, figure("results that never reach memory, per step")]
    is_lower_bound: Annotated[
        bool, figure("whether a trip count is unknown, or part of a body cannot be counted")
    ]
    is_flops_lower_bound: Annotated[
        bool, figure("whether is_lower_bound is true, or flops exclude a custom call in a fusion")
    ]
    is_upper_bound: Annotated[bool, figure("whether a branch that might not be taken is counted")]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: their estimated time per step, at the chip's peaks; null if none is known"
        ),
    ] = None


class MissedRow(Struct, frozen=True):
    """Equal operations outside fusions; figures of one execution of one, or of all per step."""

    name: Annotated[str, column("the first of these", heading="instruction")]
    count: Annotated[int, column("equal operations from the same source line", TIMES)]
    opcode: Opcode
    shape: ResultShape
    computation: Annotated[str, figure("the computation that holds them")]
    operand_bytes: OperandBytes
    result_bytes: ResultBytes
    traffic_bytes: MemoryBytes
    bytes_accessed: Annotated[int, once(ACCESSED)]
    flops: Flops
    transcendentals: Transcendentals
    executions: TotalExecutions
    known_executions: KnownExecutions
    traffic_bytes_per_step: MemoryPerStep
    known_traffic_bytes_per_step: KnownMemoryPerStep
    bytes_accessed_per_step: BytesPerStep
    known_bytes_accessed_per_step: KnownBytesPerStep
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_alone: Annotated[bool, figure("whether neither their operands nor their users could fuse")]
    members: Members
    stack: Stack = None
    stack_frame: StackFrame = None


_REPEATED: Final = "flops and transcendentals of all but the first"


class RecomputeRow(Struct, frozen=True):
    """One value that several fusions compute for themselves.

    `flops` and `transcendentals` are those of computing it once; `repeated_per_step` what all
    but the first computation cost per step, both kinds together.
    """

    name: Annotated[str, column("the first of these operations", heading="operation")]
    count: Annotated[int, column("instructions that compute this value", TIMES)]
    opcode: Opcode
    shape: ResultShape
    computation: Annotated[str, figure("the computation that holds them")]
    flops: Annotated[int, once("floating-point operations to compute it once")]
    transcendentals: Annotated[int, once("transcendentals to compute it once")]
    executions: TotalExecutions
    known_executions: KnownExecutions
    repeated_per_step: Annotated[int | None, per_step(_REPEATED, FLOPS)]
    known_repeated_per_step: Annotated[int, known_per_step(_REPEATED, FLOPS)]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    members: Annotated[
        tuple[str, ...], column("the instructions that compute it", heading="computed in")
    ]
    stack: Stack = None
    stack_frame: StackFrame = None


_UNKNOWN: Final = "per step; null if unknown, or under a loop of unknown trip count"
_TELLS: Final = (
    "source of their {}: target and shapes, a cost estimate in the call, its "
    "computation, or a rule in hlotool.toml; else null"
)


class CustomCallRow(Struct, frozen=True, kw_only=True):
    """Custom calls of one target, on the same shapes, whose cost is known in the same way.

    The name and what is said of its place are those of the first; `scope` is what all share,
    `members` names them all. `known_*` leave out what is unknown, and take unknown trip counts
    as one.
    """

    target: Annotated[str, column("the target")]
    count: Annotated[int, column("custom calls with this target and these shapes", TIMES)]
    executions: TotalExecutions
    known_executions: KnownExecutions
    operand_shapes: Annotated[tuple[str, ...], column("shapes of the operands", heading="operands")]
    shape: Annotated[str, column("shape of the result", heading="result", is_shape=True)]
    known: Annotated[CostSource | None, column(_TELLS.format("flops"))]
    flops_per_step: Annotated[int | None, column(f"{FLOATING_POINT} {_UNKNOWN}")]
    known_flops_per_step: Annotated[int, known_per_step(FLOATING_POINT)]
    product_types: Annotated[tuple[str, ...], figure(f"of known_flops_per_step, {TYPES}")]
    product_flops_per_step: Annotated[
        tuple[int, ...], figure(f"of known_flops_per_step, {OF_TYPES}")
    ]
    traffic_known: Annotated[CostSource | None, figure(_TELLS.format("traffic"))]
    traffic_bytes_per_step: Annotated[int | None, column(f"{MEMORY} {_UNKNOWN}")]
    known_traffic_bytes_per_step: KnownMemoryPerStep
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: their estimated time per step, at the chip's peaks; null if "
            "flops or traffic are unknown",
            heading="estimate/step",
            is_summed=True,
        ),
    ] = None
    measured_count: MeasuredCount = None
    measured_seconds: MeasuredSeconds = None
    name: Annotated[str, figure("the first of these")]
    computation: Annotated[str, figure("computation of the first")]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_upper_bound: Annotated[bool, figure("whether lengths known only at run time may reduce it")]
    members: Members


def _count_of(calls: str) -> Meta:
    return figure(calls, is_summed=False)


class CustomCallTotals(Struct, frozen=True, kw_only=True):
    """All custom calls of a module together, unknown trip counts taken as one."""

    call_count: Annotated[int, _count_of("custom calls in executed computations and fusions")]
    distinct_count: Annotated[int, _count_of("rows of custom_calls")]
    computing_count: Annotated[int, _count_of("calls of known flops")]
    moving_count: Annotated[int, _count_of("calls of known traffic")]
    unknown_flops_count: Annotated[int, _count_of("calls of unknown flops")]
    unknown_traffic_count: Annotated[int, _count_of("calls of unknown traffic")]
    flops_per_step: Annotated[
        int, figure("their known flops per step of the entry", lower_if=_LOWER_FLOPS)
    ]
    flops_share: Annotated[
        float | None, figure("their share of the program's known flops; null without any")
    ]
    traffic_bytes_per_step: Annotated[
        int,
        figure(
            "their known bytes that cross memory space 0 per step, without fusions",
            lower_if="is_traffic_lower_bound",
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: their estimated time per step, at the chip's peaks",
            lower_if="is_time_lower_bound",
        ),
    ]
    is_flops_lower_bound: Annotated[
        bool, figure("whether a trip count, or the flops of a call, is unknown")
    ]
    is_traffic_lower_bound: Annotated[
        bool, figure("whether a trip count, or the traffic of a call, is unknown")
    ]
    is_time_lower_bound: Annotated[bool, figure("whether the time of a call is unknown")]
    is_upper_bound: Annotated[bool, figure("whether a part of them might not run")]


BodyRole: TypeAlias = Literal["operand", "constant", "on chip", "result", "alias"]


class BodyRow(Struct, frozen=True):
    """One instruction of a fused computation.

    `bytes_accessed` adds up to the fusion's.
    """

    name: Annotated[str, column("the instruction", heading="instruction")]
    opcode: Opcode
    shape: ResultShape
    operands: Annotated[tuple[str, ...], column("its operands by name")]
    role: Annotated[
        BodyRole,
        column(
            "operand or constant: read from memory; on chip: stays there; result: "
            "written to memory; alias: of another value"
        ),
    ]
    result_bytes: Annotated[int, figure("size of the result", is_summed=False)]
    bytes_accessed: Annotated[
        int, column("bytes of it that are read or written, in any memory", heading="accessed")
    ]
    on_chip_bytes: Annotated[int, column("bytes that stay on chip")]
    flops: Annotated[int, column(FLOATING_POINT)]
    transcendentals: Annotated[int, figure(ELEMENTARY)]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    stack: Stack = None
    stack_frame: StackFrame = None


class OutsideFusions(Struct, frozen=True):
    """The measured time of what is no fusion, per step on one device."""

    measured_seconds: Annotated[float, figure("time of all instructions outside fusions, per step")]
    share: Annotated[float, figure("its share of the time of all instructions, with fusions")]
    longest: Annotated[str | None, figure("the longest instruction; null without one")]
    longest_seconds: Annotated[float | None, figure("its time per step; null without one")]


FUSION_ROWS: Final = RowList(
    "rows",
    FusionRow,
    "fusions in executed computations, one row per distinct body",
    sort="-known_traffic_bytes_per_step",
    size="traffic_bytes_per_step",
    lower_if=("is_lower_bound",),
    upper_if=("is_conditional",),
    screen="name,count,kind,traffic_bytes_per_step,flops_per_step,"
    "estimated_seconds,bound,measured_seconds,scope",
    wide_screen="flags,root_opcode,executions,measured_count,on_chip_bytes_per_step",
)
MISSED: Final = RowList(
    "missed",
    MissedRow,
    "elementwise operations, copies, transposes, broadcasts and reshapes outside fusions",
    sort="-known_traffic_bytes_per_step",
    size="traffic_bytes_per_step",
    upper_if=("is_conditional",),
    option="--missed",
    title="Not fused",
    screen="name,count,opcode,shape,traffic_bytes_per_step,scope",
    wide_screen="executions",
)
RECOMPUTE: Final = RowList(
    "recompute",
    RecomputeRow,
    "dots, convolutions and transcendentals that several fusions repeat on the same values",
    sort="-known_repeated_per_step",
    size="repeated_per_step",
    upper_if=("is_conditional",),
    option="--recompute",
    title="Computed again",
    screen="name,count,opcode,shape,repeated_per_step,scope,members",
    wide_screen="executions",
)
CUSTOM_CALLS: Final = RowList(
    "custom_calls",
    CustomCallRow,
    "custom calls in executed computations and their fusions, one row per target and shapes",
    sort="-known_flops_per_step,-known_traffic_bytes_per_step,-known_executions",
    size="flops_per_step",
    upper_if=("is_conditional", "is_upper_bound"),
    title="Custom calls",
    screen="target,count,shape,flops_per_step,traffic_bytes_per_step,"
    "estimated_seconds,measured_seconds,scope",
    wide_screen="executions,measured_count,operand_shapes,known",
)
BODY: Final = RowList(
    "body",
    BodyRow,
    "the body of one fusion, in the order of the dump; figures of one execution",
    size="bytes_accessed",
    option="--body NAME",
    limit=0,
    title="Body",
)
OUTSIDE: Final = Block(
    "outside",
    OutsideFusions,
    "with a profile: time outside fusions; null if runs are unknown",
    is_optional=True,
    is_nullable=True,
)
FUSION_TOTALS: Final = Block("totals", FusionTotals, "all fusions together")
CALL_TOTALS: Final = Block("custom_call_totals", CustomCallTotals, "all custom calls together")
FUSIONS: Final = DocumentSpec(
    "fusions",
    "costs of fusions",
    blocks=(FUSION_TOTALS, CALL_TOTALS, OUTSIDE),
    row_lists=(FUSION_ROWS, CUSTOM_CALLS, MISSED, RECOMPUTE, BODY),
)


def choose_fusion_columns(*, has_chip: bool, is_measured: bool) -> DocumentSpec:
    """Return the answer with estimates and measured times among its columns, if there are any.

    What took longest comes first, else what is estimated to.
    """
    rows, calls = FUSION_ROWS, CUSTOM_CALLS
    if has_chip:
        estimated = rows.showing(rows.shown() | {"bound", "estimated_seconds"})
        rows = replace(estimated, sort="-estimated_seconds", size="estimated_seconds")
        calls = calls.showing(calls.shown() | {"estimated_seconds"})
    if is_measured:
        times = {"measured_count", "measured_seconds"}
        rows, calls = (
            replace(each.showing(each.shown() | times), sort=f"-measured_seconds,{each.sort}")
            for each in (rows, calls)
        )
    return replace(FUSIONS, row_lists=(rows, calls, MISSED, RECOMPUTE, BODY))
