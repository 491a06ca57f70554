"""What is said of fusions with equal bodies, and of all fusions together?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.products import OF_TYPES, TYPES
from hlotool.analysis.fusions.flags import FLAG_MEANINGS, FLAGS, Flag
from hlotool.analysis.fusions.kinds import FUSION_KINDS, KIND_MEANINGS
from hlotool.analysis.fusions.shared_figures import (
    ACCESSED,
    FLOATING_POINT,
    BytesPerRun,
    FirstOpName,
    FirstSourceFile,
    FirstSourceLine,
    IsConditional,
    KnownBytesPerRun,
    KnownExecutions,
    KnownMemoryPerRun,
    Members,
    MemoryBytes,
    MemoryPerRun,
    OperandBytes,
    ResultBytes,
    SharedScope,
    TotalExecutions,
    Transcendentals,
    known_per_run,
    once,
    per_run,
)
from hlotool.analysis.measured.columns import MeasuredCount, MeasuredSeconds
from hlotool.analysis.origin.stack import Stack, StackFrame
from hlotool.fields import BYTES, COUNT, FLOPS, RATIO, SECONDS, TIMES, column, figure
from hlotool.ir.opcodes import OPCODES

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
