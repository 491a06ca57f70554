"""Which operations run on their own that a fusion could have taken in?

Which expensive operations are computed again, in another fusion, from the same values?
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.fusions.rows import (
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
    known_per_run,
    once,
    per_run,
)
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.graph.equality import Fingerprints, Numbering, allow_visits
from hlotool.analysis.graph.executions import Executions, count_runs
from hlotool.analysis.origin import Origin, Stack, StackFrame, find_common_scope, find_origin
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, MOVES, TRANSCENDENTAL
from hlotool.table import BYTES, FLOPS, TIMES, column, figure

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


EXPENSIVE: Final = TRANSCENDENTAL | MATRIX_PRODUCTS
LEAST_OPERATIONS: Final = 1 << 20
_REPEATED: Final = "flops and transcendentals of all but the first"


class RecomputeRow(Struct, frozen=True):
    """One value that several fusions compute for themselves.

    `flops` and `transcendentals` are those of computing it once; `repeated_per_run` what all
    but the first computation cost in one run, both kinds together.
    """

    name: Annotated[str, column("the first of these operations", heading="operation", wants=26)]
    count: Annotated[int, column("how many instructions compute this value", TIMES, heading="×")]
    opcode: Opcode
    shape: ResultShape
    computation: Annotated[str, figure("the computation that holds them")]
    flops: Annotated[int, once("floating-point operations to compute it once", FLOPS)]
    transcendentals: Annotated[int, once("transcendentals to compute it once", FLOPS)]
    executions: TotalExecutions
    known_executions: KnownExecutions
    repeated_per_run: Annotated[int | None, per_run(_REPEATED, FLOPS, "known_repeated_per_run")]
    known_repeated_per_run: Annotated[int, known_per_run(_REPEATED, FLOPS)]
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


def find_recomputed(
    graph: CallGraph,
    prints: Fingerprints,
    executions: Executions,
    costs: CostModel,
    least_operations: int = LEAST_OPERATIONS,
) -> tuple[RecomputeRow, ...]:
    """List dots, convolutions and transcendentals that one computation makes several times.

    Two operations compute the same value when opcode, element type, dimensions and attributes
    are equal, and their operands are the same values, followed through fusions, tuples and
    copies back to what the executed computation holds. Occurrences in one fusion count once.
    Fusions that share a body with many others are not looked into once they are out of
    proportion. Rematerialization of a loop is not found: forward and backward are two
    computations. A row is kept when it repeats `least_operations` in one run.
    """
    visits = allow_visits(graph)
    rows = (
        _make_recompute_row(members, executions, costs)
        for computation in executions.executed
        for members in _find_repeated(computation, Numbering(graph, prints, visits))
    )
    return tuple(row for row in rows if row.known_repeated_per_run >= least_operations)


def _find_repeated(
    computation: Computation, numbering: Numbering
) -> list[dict[Instruction, Instruction]]:
    """Return who computes each value that several do: the fusion, and what in it."""
    occurrences: dict[int, dict[Instruction, Instruction]] = {}
    for outer in computation.instructions:
        for inner, value in numbering.visit(outer):
            if inner.opcode in EXPENSIVE:
                occurrences.setdefault(value, {}).setdefault(outer, inner)
    return [found for found in occurrences.values() if len(found) > 1]


def _make_recompute_row(
    repeats: dict[Instruction, Instruction], executions: Executions, costs: CostModel
) -> RecomputeRow:
    first = next(iter(repeats.values()))
    cost = costs.of(first)
    runs = count_runs((next(iter(repeats)),), executions)
    repeated = (cost.flops + cost.transcendentals) * (len(repeats) - 1)
    origins = [find_origin(one) for one in repeats.values()]
    return RecomputeRow(
        name=first.full_name,
        count=len(repeats),
        opcode=first.opcode,
        shape=str(first.shape),
        computation=next(iter(repeats)).computation.name,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        executions=runs.exact,
        known_executions=runs.known,
        repeated_per_run=runs.times(repeated),
        known_repeated_per_run=repeated * runs.known,
        scope=find_common_scope(one.scope for one in origins),
        op_name=origins[0].op_name,
        source_file=origins[0].source_file,
        source_line=origins[0].source_line,
        is_conditional=runs.is_conditional,
        members=tuple(one.full_name for one in repeats),
        stack_frame=origins[0].frame or None,
    )
