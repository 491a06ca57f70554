"""Which expensive operations are computed again, in another fusion, from the same values?"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.fusions.shared_figures import (
    FirstOpName,
    FirstSourceFile,
    FirstSourceLine,
    IsConditional,
    KnownExecutions,
    Opcode,
    ResultShape,
    SharedScope,
    TotalExecutions,
    known_per_run,
    once,
    per_run,
)
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.fingerprint import Fingerprints
from hlotool.analysis.graph.runs import count_runs
from hlotool.analysis.graph.value_numbers import Numbering, allow_visits
from hlotool.analysis.origin.origin import find_common_scope, find_origin
from hlotool.analysis.origin.stack import Stack, StackFrame
from hlotool.fields import FLOPS, TIMES, column, figure
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import MATRIX_PRODUCTS, TRANSCENDENTAL

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
        _make_row(members, executions, costs)
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


def _make_row(
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
