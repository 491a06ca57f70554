"""Which expensive operations are computed again, in another fusion, from the same values?"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.graph.fingerprint import Fingerprints
from hlotool.analysis.graph.runs import count_runs
from hlotool.analysis.graph.value_numbers import Numbering
from hlotool.analysis.origin.origin import find_common_scope, find_origin
from hlotool.ir.module import Computation, Instruction
from hlotool.ir.opcodes import MATRIX_PRODUCTS, TRANSCENDENTAL

EXPENSIVE: Final = TRANSCENDENTAL | MATRIX_PRODUCTS
LEAST_OPERATIONS: Final = 1 << 20


class RecomputeRow(Struct, frozen=True):
    """One value that several fusions compute for themselves.

    `flops` and `transcendentals` are those of computing it once; `repeated_per_run` what all
    but the first computation cost in one run, both kinds together.
    """

    name: str
    count: int
    opcode: str
    shape: str
    computation: str
    flops: int
    transcendentals: int
    executions: int | None
    known_executions: int
    repeated_per_run: int | None
    known_repeated_per_run: int
    op_name: str | None
    scope: str | None
    source_file: str | None
    source_line: int | None
    is_conditional: bool
    members: tuple[str, ...]


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
    Rematerialization of a loop is not found: forward and backward are two computations. A
    row is kept when it repeats `least_operations` in one run.
    """
    rows = (
        _make_row(members, executions, costs)
        for computation in executions.executed
        for members in _find_repeated(computation, Numbering(graph, prints))
    )
    return tuple(row for row in rows if row.known_repeated_per_run >= least_operations)


def _find_repeated(
    computation: Computation, numbering: Numbering
) -> list[dict[Instruction, Instruction]]:
    """Return who makes each value that is made several times: the fusion, and what in it."""
    makers: dict[int, dict[Instruction, Instruction]] = {}
    for outer in computation.instructions:
        for inner, value in numbering.visit(outer):
            if inner.opcode in EXPENSIVE:
                makers.setdefault(value, {}).setdefault(outer, inner)
    return [found for found in makers.values() if len(found) > 1]


def _make_row(
    makers: dict[Instruction, Instruction], executions: Executions, costs: CostModel
) -> RecomputeRow:
    first = next(iter(makers.values()))
    cost = costs.of(first)
    runs = count_runs((next(iter(makers)),), executions)
    repeated = (cost.flops + cost.transcendentals) * (len(makers) - 1)
    origins = [find_origin(one) for one in makers.values()]
    return RecomputeRow(
        name=first.name,
        count=len(makers),
        opcode=first.opcode,
        shape=str(first.shape),
        computation=next(iter(makers)).computation.name,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        executions=runs.exact,
        known_executions=runs.known,
        repeated_per_run=runs.times(repeated),
        known_repeated_per_run=repeated * runs.known,
        op_name=origins[0].op_name,
        scope=find_common_scope(one.scope for one in origins),
        source_file=origins[0].source_file,
        source_line=origins[0].source_line,
        is_conditional=runs.is_conditional,
        members=tuple(one.name for one in makers),
    )
