"""Which figures do several lists of fusions have? Each is declared here, once."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from hlotool.fields import BYTES, COUNT, FLOPS, NUMBER, Unit, column, figure
from hlotool.ir.opcodes import OPCODES

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
