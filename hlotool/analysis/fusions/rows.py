"""Which figures do several lists of fusions have? Each is declared here, once.

Of which kind is a fusion, and which emitter of the backend makes it?

What is odd about a fusion?

What is said of fusions with equal bodies, and of all fusions together?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from hlotool.analysis.cost.cost import OF_TYPES, TYPES
from hlotool.analysis.measured import MeasuredCount, MeasuredSeconds
from hlotool.analysis.origin import Stack, StackFrame
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import FREE, MOVES, OPCODES
from hlotool.table import BYTES, COUNT, FLOPS, NUMBER, RATIO, SECONDS, TIMES, Unit, column, figure

FLOATING_POINT: Final = "floating-point operations"
ELEMENTARY: Final = "exponentials, logarithms and the like, one per element"
ACCESSED: Final = "bytes read and written as XLA's cost analysis counts them"
MEMORY: Final = "bytes that cross memory space 0 (HBM on TPU)"


def once(meaning: str, unit: Unit) -> Meta:
    """Declare a figure of one execution, which adds up to nothing: rows run differently often."""
    return figure(f"{meaning}, in one execution", unit, is_summed=False)


def per_run(
    meaning: str,
    unit: Unit,
    known: str,
    heading: str = "",
    *,
    lower_if: str = "",
    give_way: int = 0,
) -> Meta:
    """Declare a figure of all executions, null if their number is; `known` names its known part."""
    said = f"{meaning} in one run of the entry; null under a loop of unknown trip count"
    return column(said, unit, heading=heading, once=known, lower_if=lower_if, give_way=give_way)


def known_per_run(meaning: str, unit: Unit) -> Meta:
    """Declare what is known of a figure of all executions."""
    return figure(f"{meaning} in one run, unknown trip counts taken as one", unit, is_summed=False)


Opcode: TypeAlias = Annotated[str, column("the opcode", words=OPCODES)]
ResultShape: TypeAlias = Annotated[str, column("the result's shape")]
Members: TypeAlias = Annotated[tuple[str, ...], figure("names of all of them")]

# Of one execution.
OperandBytes: TypeAlias = Annotated[int, once("size of all operands", BYTES)]
ResultBytes: TypeAlias = Annotated[int, once("size of all results", BYTES)]
Flops: TypeAlias = Annotated[int, once(FLOATING_POINT, FLOPS)]
Transcendentals: TypeAlias = Annotated[int, once(ELEMENTARY, FLOPS)]

# Of all executions in one run.
TotalExecutions: TypeAlias = Annotated[
    int | None,
    column(
        "executions of all of them in one run; null under a loop of unknown trip count",
        COUNT,
        heading="runs",
        once="known_executions",
        give_way=3,
    ),
]
KnownExecutions: TypeAlias = Annotated[
    int, figure("the same with unknown trip counts taken as one", COUNT, is_summed=False)
]
MemoryBytes: TypeAlias = Annotated[int, once(MEMORY, BYTES)]
MemoryPerRun: TypeAlias = Annotated[
    int | None, per_run(MEMORY, BYTES, "known_memory_bytes_per_run", "memory/run")
]
KnownMemoryPerRun: TypeAlias = Annotated[int, known_per_run(MEMORY, BYTES)]
BytesPerRun: TypeAlias = Annotated[
    int | None,
    figure(
        f"{ACCESSED} in one run of the entry; null under a loop of unknown trip count",
        BYTES,
        heading="bytes/run",
        once="known_bytes_accessed_per_run",
    ),
]
KnownBytesPerRun: TypeAlias = Annotated[int, known_per_run(ACCESSED, BYTES)]
IsConditional: TypeAlias = Annotated[
    bool, figure("whether one of them is in a branch that may not be taken")
]

# Where in the user's program they come from.
SharedScope: TypeAlias = Annotated[
    str | None,
    column(
        "what their module paths share, from op_name; stars for what differs",
        null_text="",
        is_path=True,
    ),
]
FirstOpName: TypeAlias = Annotated[str | None, figure("op_name of the first", null_text="")]
FirstSourceFile: TypeAlias = Annotated[
    str | None, figure("the first one's source file", null_text="")
]
FirstSourceLine: TypeAlias = Annotated[
    int | None, figure("the first one's source line", NUMBER, null_text="")
]

# Those of xla/hlo/ir/hlo_instruction.h.
KIND_MEANINGS: Final[Mapping[str, str]] = {
    "kLoop": "a fusion in which all operations run in one loop over the elements of the result",
    "kInput": "a fusion of an operation, such as a reduction, with those that make its input",
    "kOutput": "a fusion of an operation, such as a matrix product, with those that use its output",
    "kCustom": "a fusion of a kind that only the backend knows, such as a Triton kernel of GPU",
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
    if "kind" not in fusion.attributes.get("backend_config", ""):
        return None
    config = fusion.backend_config()
    for key in ("fusion_backend_config", "fusion_config"):
        kind = config.find(key, "kind") if config else None
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


def find_flags(body: Computation) -> tuple[Flag, ...]:
    """Return the flags of a fused computation, in the order of `FLAGS`.

    A real operation is anything but parameter, constant, tuple, get-tuple-element and
    bitcast. `FLAG_MEANINGS` says what each flag means.
    """
    real = [one.opcode for one in body.instructions if one.opcode not in FREE]
    opcodes = set(real)
    root = body.root
    outputs = _find_outputs(body) if root.opcode == "tuple" else []
    found: dict[Flag, bool] = {
        "trivial": len(real) <= 1,
        "multi-output": len(outputs) > 1,
        "duplicate-output": len(set(outputs)) < len(outputs),
        "convert-only": opcodes == {"convert"},
        "copy-only": is_copy_only(body),
    }
    return tuple(flag for flag in FLAGS if found[flag])


def is_copy_only(body: Computation) -> bool:
    """Whether a fused computation has the flag `copy-only`."""
    moves = False
    for instruction in body.instructions:
        opcode = instruction.opcode
        if opcode in MOVES:
            moves = True
        elif opcode not in FREE:
            return False
    return moves


def _find_outputs(body: Computation) -> list[Instruction]:
    """Return what the operands of the root are, behind bitcasts."""
    behind: dict[Instruction, Instruction] = {}
    for one in body.instructions:
        is_bitcast = one.opcode == "bitcast" and one.operands
        behind[one] = behind[one.operands[0]] if is_bitcast else one
    return [behind[one] for one in body.root.operands]


Bound: TypeAlias = Literal["compute", "memory", "vmem"]
_SAVED: Final = "results that never reach memory"
_LOWER_FLOPS: Final = "is_flops_lower_bound"
_WITHOUT_CALLS: Final = f"{FLOATING_POINT}, without those of custom calls inside"


class FusionRow(Struct, frozen=True, kw_only=True):
    """Fusions with equal bodies; figures of one execution of one of them, or of all per run.

    `known_*` take unknown trip counts as one. The name and what is said of its place are
    those of the first; `scope` is what all share, `members` names them all.
    """

    name: Annotated[str, column("the first fusion of these", heading="fusion", wants=26)]
    count: Annotated[int, column("fusions with an equal body", TIMES, heading="×")]
    kind: Annotated[
        str | None,
        column("kLoop, kInput, …", words=FUSION_KINDS, word_meanings=KIND_MEANINGS, give_way=4),
    ]
    backend_kind: Annotated[
        str | None,
        figure("the emitter that the backend config names", heading="emitter", null_text=""),
    ]
    root_opcode: Annotated[
        str | None,
        column(
            "opcode of the body's root; null without a body",
            heading="root",
            words=OPCODES,
            give_way=5,
        ),
    ]
    computation: Annotated[str, figure("the computation that holds the first")]
    fused_computation: Annotated[
        str | None, figure("the first one's fused computation; null where none is named")
    ]
    instruction_count: Annotated[
        int | None,
        column(
            "instructions of the body, parameters included; null without a body",
            COUNT,
            heading="ops",
            is_summed=False,
            give_way=6,
        ),
    ]
    operand_bytes: OperandBytes
    result_bytes: ResultBytes
    memory_bytes: MemoryBytes
    memory_bytes_by_space: Annotated[
        tuple[tuple[int, ...], ...],
        figure(
            "bytes that cross each memory space, in one execution: its number, then bytes",
            names_from="space_names",
        ),
    ]
    bytes_accessed: Annotated[int, once(ACCESSED, BYTES)]
    saved_bytes: Annotated[int, once("results inside the body that never reach memory", BYTES)]
    flops: Annotated[int, figure(f"{_WITHOUT_CALLS}, in one execution", FLOPS, is_summed=False)]
    product_types: Annotated[tuple[str, ...], figure(f"of flops, {TYPES}")]
    product_flops: Annotated[tuple[int, ...], figure(f"of flops, {OF_TYPES}")]
    transcendentals: Transcendentals
    flops_per_byte: Annotated[
        float | None,
        column(
            "flops per byte of memory_bytes; null if there is none",
            RATIO,
            heading="flops/B",
            give_way=3,
        ),
    ]
    executions: TotalExecutions
    known_executions: KnownExecutions
    memory_bytes_per_run: MemoryPerRun
    known_memory_bytes_per_run: KnownMemoryPerRun
    bytes_accessed_per_run: BytesPerRun
    known_bytes_accessed_per_run: KnownBytesPerRun
    flops_per_run: Annotated[
        int | None,
        per_run(_WITHOUT_CALLS, FLOPS, "known_flops_per_run", lower_if=_LOWER_FLOPS),
    ]
    known_flops_per_run: Annotated[int, known_per_run(_WITHOUT_CALLS, FLOPS)]
    saved_bytes_per_run: Annotated[
        int | None, per_run(_SAVED, BYTES, "known_saved_bytes_per_run", "saved/run", give_way=2)
    ]
    known_saved_bytes_per_run: Annotated[int, known_per_run(_SAVED, BYTES)]
    bound: Annotated[
        Bound | None,
        figure("with --chip: what limits the estimate; memory is space 0", null_text=""),
    ] = None
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of all executions in one run, at the chip's peaks",
            SECONDS,
            heading="estimate/run",
            null_text="",
            is_summed=True,
        ),
    ] = None
    measured_count: MeasuredCount = None
    measured_seconds: MeasuredSeconds = None
    flags: Annotated[
        tuple[Flag, ...],
        column(f"what is odd: {', '.join(FLAGS)}", give_way=1, word_meanings=FLAG_MEANINGS),
    ]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_lower_bound: Annotated[bool, figure("whether part of the body cannot be counted")]
    is_flops_lower_bound: Annotated[
        bool, figure("whether that, or a custom call inside computes something")
    ]
    members: Members
    stack: Stack = None
    stack_frame: StackFrame = None
    space_names: tuple[str, ...] = ()  # of memory_bytes_by_space, for tables


class FusionTotals(Struct, frozen=True):
    """All fusions of a module together."""

    fusion_count: Annotated[int, figure("fusions in executed computations", COUNT, is_summed=False)]
    distinct_count: Annotated[int, figure("distinct bodies among them", COUNT, is_summed=False)]
    flops_per_run: Annotated[
        int,
        figure(
            "their flops in one run of the entry, without those of custom calls inside",
            FLOPS,
            lower_if=_LOWER_FLOPS,
        ),
    ]
    memory_bytes_per_run: Annotated[
        int, figure("their bytes that cross memory space 0 in one run", BYTES)
    ]
    bytes_accessed_per_run: Annotated[
        int, figure("bytes they read and write in one run, as XLA counts them", BYTES)
    ]
    saved_bytes_per_run: Annotated[
        int, figure("results that never reach memory, in one run", BYTES)
    ]
    is_lower_bound: Annotated[
        bool, figure("whether a trip count is unknown, or part of a body cannot be counted")
    ]
    is_flops_lower_bound: Annotated[
        bool, figure("whether that, or a custom call in a fusion computes something")
    ]
    is_upper_bound: Annotated[bool, figure("whether a branch that may not be taken is counted")]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: their estimated time in one run, at the chip's peaks; null where no "
            "fusion's is known",
            SECONDS,
        ),
    ] = None


def add_up_fusions(rows: Sequence[FusionRow]) -> FusionTotals:
    """Add up all fusions of a module, unknown trip counts taken as one."""
    return FusionTotals(
        fusion_count=sum(row.count for row in rows),
        distinct_count=len(rows),
        flops_per_run=sum(row.known_flops_per_run for row in rows),
        memory_bytes_per_run=sum(row.known_memory_bytes_per_run for row in rows),
        bytes_accessed_per_run=sum(row.known_bytes_accessed_per_run for row in rows),
        saved_bytes_per_run=sum(row.known_saved_bytes_per_run for row in rows),
        is_lower_bound=any(row.executions is None or row.is_lower_bound for row in rows),
        is_flops_lower_bound=any(
            row.executions is None or row.is_flops_lower_bound for row in rows
        ),
        is_upper_bound=any(row.is_conditional for row in rows),
    )
