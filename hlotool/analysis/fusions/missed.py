"""Which operations run on their own that a fusion could have taken in?"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.fusions.shared_figures import (
    ACCESSED,
    BytesPerRun,
    FirstOpName,
    FirstSourceFile,
    FirstSourceLine,
    Flops,
    IsConditional,
    KnownBytesPerRun,
    KnownExecutions,
    KnownMemoryPerRun,
    Members,
    MemoryBytes,
    MemoryPerRun,
    Opcode,
    OperandBytes,
    ResultBytes,
    ResultShape,
    SharedScope,
    TotalExecutions,
    Transcendentals,
    once,
)
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.runs import count_runs
from hlotool.analysis.origin.origin import Origin, find_common_scope, find_origin
from hlotool.analysis.origin.stack import Stack, StackFrame
from hlotool.fields import BYTES, TIMES, column, figure
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ELEMENTWISE, MOVES

# Everything a loop fusion can hold at no cost but reading and writing.
FUSIBLE: Final = ELEMENTWISE | MOVES | {"broadcast"}
LEAST_BYTES: Final = 1 << 20
# What a loop fusion could have had beside an operation: else there is nothing to fuse it with.
_PARTNERS: Final = FUSIBLE | {
    "concatenate", "dynamic-slice", "dynamic-update-slice", "fusion", "gather", "iota", "pad",
    "reduce", "reduce-window", "scatter", "slice",
}  # fmt: skip

_Located: TypeAlias = tuple[Instruction, Origin]


class MissedRow(Struct, frozen=True):
    """Equal operations outside fusions; figures of one execution of one, or of all per run."""

    name: Annotated[str, column("the first of these", heading="instruction", wants=26)]
    count: Annotated[int, column("equal operations from the same source line", TIMES, heading="×")]
    opcode: Opcode
    shape: ResultShape
    computation: Annotated[str, figure("the computation that holds them")]
    operand_bytes: OperandBytes
    result_bytes: ResultBytes
    memory_bytes: MemoryBytes
    bytes_accessed: Annotated[int, once(ACCESSED, BYTES)]
    flops: Flops
    transcendentals: Transcendentals
    executions: TotalExecutions
    known_executions: KnownExecutions
    memory_bytes_per_run: MemoryPerRun
    known_memory_bytes_per_run: KnownMemoryPerRun
    bytes_accessed_per_run: BytesPerRun
    known_bytes_accessed_per_run: KnownBytesPerRun
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    is_conditional: IsConditional
    is_alone: Annotated[
        bool, figure("whether nothing beside them, operand or user, could be in a fusion too")
    ]
    members: Members
    stack: Stack = None
    stack_frame: StackFrame = None


def find_missed(
    executions: Executions, costs: CostModel, least_bytes: int = LEAST_BYTES
) -> tuple[MissedRow, ...]:
    """List elementwise operations, copies and layout changes outside fusions that move much.

    Counted are `FUSIBLE` opcodes in executed computations. Equal ones (opcode, shapes, place
    in the source) share a row; a row is kept when it moves `least_bytes` in one run, unknown
    trip counts taken as one. Not every one could have been fused: a copy may be there to
    change a layout, to feed a loop, or to move data between memory spaces, and there may be
    nothing to fuse with. In dump order.
    """
    numbers: dict[tuple[object, ...], int] = {}  # of keys: to hash shapes takes its time
    found: list[tuple[int, Instruction]] = []
    moved: Counter[int] = Counter()  # what all operations of a key move
    for computation in executions.executed:
        runs = executions.lower_bound(computation)
        for instruction in computation.instructions:
            if instruction.opcode in FUSIBLE and (size := costs.of(instruction).memory_bytes):
                number = numbers.setdefault(_key(instruction), len(numbers))
                found.append((number, instruction))
                moved[number] += size * runs
    groups: dict[tuple[object, ...], list[_Located]] = {}
    for number, instruction in found:
        if moved[number] >= least_bytes:  # only then are its places in the source worth reading
            origin = _find_origin(instruction)
            place = origin.scope, origin.source_file, origin.source_line
            groups.setdefault((number, *place), []).append((instruction, origin))
    rows = (_make_row(members, executions, costs) for members in groups.values())
    return tuple(row for row in rows if row.known_memory_bytes_per_run >= least_bytes)


def _is_alone(instruction: Instruction) -> bool:
    """Whether nothing stands beside it that a fusion could hold."""
    near = (*instruction.operands, *instruction.users)
    return not any(one.opcode in _PARTNERS for one in near)


def _key(instruction: Instruction) -> tuple[object, ...]:
    """Return what equal operations have in common beside their place in the source."""
    return (
        instruction.opcode,
        instruction.computation,
        instruction.shape,
        *(one.shape for one in instruction.operands),
    )


def _find_origin(instruction: Instruction) -> Origin:
    """Return the origin; copies have none, and take that of what they copy or who uses it."""
    return find_origin(instruction, (*instruction.operands, *instruction.users))


def _make_row(members: list[_Located], executions: Executions, costs: CostModel) -> MissedRow:
    instructions = [instruction for instruction, _ in members]
    first, origin = members[0]
    cost = costs.of(first)
    runs = count_runs(instructions, executions)
    return MissedRow(
        name=first.full_name,
        count=len(members),
        opcode=first.opcode,
        shape=str(first.shape),
        computation=first.computation.name,
        operand_bytes=costs.operand_bytes(first),
        result_bytes=costs.size_bytes(first.shape),
        memory_bytes=cost.memory_bytes,
        bytes_accessed=cost.bytes_accessed,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        executions=runs.exact,
        known_executions=runs.known,
        memory_bytes_per_run=runs.times(cost.memory_bytes),
        known_memory_bytes_per_run=cost.memory_bytes * runs.known,
        bytes_accessed_per_run=runs.times(cost.bytes_accessed),
        known_bytes_accessed_per_run=cost.bytes_accessed * runs.known,
        scope=find_common_scope(one.scope for _, one in members),
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        is_conditional=runs.is_conditional,
        is_alone=all(map(_is_alone, instructions)),
        members=tuple(one.full_name for one in instructions),
        stack_frame=origin.frame or None,
    )
