"""Work that fusions miss: operations that one could have taken in, and values several recompute.

Both lists are of executed computations, in dump order, and keep only what is large per step with
unknown trip counts taken as one: `LEAST_BYTES` that cross memory, `LEAST_OPERATIONS` repeated.
Neither says that XLA could have fused more: a copy may be there to change a layout, and a value is
cheaper to recompute than to store as long as it is small.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from msgspec.structs import asdict

from hlotool.analysis.cost.cost import Cost
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.fusions.report import Located, describe_alike
from hlotool.analysis.fusions.rows import MissedRow, RecomputeRow
from hlotool.analysis.graph.calls import reach
from hlotool.analysis.graph.equality import Descriptions, Fingerprints, Numbering, Visits
from hlotool.analysis.origin import read_origin, share_origin
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, MOVES, TRANSCENDENTAL

# Everything a loop fusion can hold at no cost but reading and writing.
FUSIBLE: Final = ELEMENTWISE | MOVES | {"broadcast"}
LEAST_BYTES: Final = 1 << 20
# What a loop fusion could have had beside an operation: else there is nothing to fuse it with.
_FUSIBLE_NEIGHBOURS: Final = FUSIBLE | {
    "concatenate", "dynamic-slice", "dynamic-update-slice", "fusion", "gather", "iota", "pad",
    "reduce", "reduce-window", "scatter", "slice",
}  # fmt: skip


def find_missed(costs: CostModel, least_bytes: int = LEAST_BYTES) -> tuple[MissedRow, ...]:
    """List elementwise operations, copies and layout changes outside fusions that move much.

    Counted are `FUSIBLE` opcodes in executed computations. Equal ones (opcode, shapes, place
    in the source) share a row; a row is kept when it moves `least_bytes` per step, unknown
    trip counts taken as one. Not every one could have been fused: a copy may be there to
    change a layout, to feed a loop, or to move data between memory spaces, and there may be
    nothing to fuse with. In dump order.
    """
    found: list[tuple[object, Instruction]] = []
    moved: Counter[object] = Counter()  # what all operations of a key move
    for computation in costs.executions.executed:
        runs = costs.executions.lower_bound(computation)
        for one in computation.instructions:
            if one.opcode in FUSIBLE and (size := costs.of(one).traffic_bytes):
                shapes = one.shape, *(each.shape for each in one.operands)
                key: object = one.opcode, computation, shapes
                found.append((key, one))
                moved[key] += size * runs
    groups: defaultdict[object, list[Located]] = defaultdict(list)
    for key, one in found:
        if moved[key] >= least_bytes:  # only then are its places in the source worth reading
            # Copies have no origin of their own: what they copy, or who uses it, stands in.
            origin = read_origin(one, (*one.operands, *one.users))
            place = origin.scope, origin.source_file, origin.source_line
            groups[key, place].append((one, origin))
    rows = (
        MissedRow(
            **describe_alike(members, costs),
            opcode=members[0][0].opcode,
            shape=str(members[0][0].shape),
            is_alone=not any(
                near.opcode in _FUSIBLE_NEIGHBOURS
                for one, _ in members
                for near in (*one.operands, *one.users)
            ),
        )
        for members in groups.values()
    )
    return tuple(row for row in rows if row.known_traffic_bytes_per_step >= least_bytes)


EXPENSIVE: Final = TRANSCENDENTAL | MATRIX_PRODUCTS
LEAST_OPERATIONS: Final = 1 << 20

_OPERANDS: Final = attrgetter("operands")


def list_recomputed(
    prints: Fingerprints, costs: CostModel, least_operations: int = LEAST_OPERATIONS
) -> tuple[RecomputeRow, ...]:
    """List dots, convolutions and transcendentals that one computation makes several times.

    Two operations compute the same value when opcode, element type, dimensions and attributes
    are equal, and their operands are the same values, followed through fusions, tuples and
    copies back to what the executed computation holds. Occurrences in one fusion count once.
    Fusions that share a body with many others are not looked into once they are out of
    proportion. Rematerialization of a loop is not found: forward and backward are two
    computations. A row is kept when it repeats `least_operations` per step.
    """
    descriptions = Descriptions(costs.graph, prints)
    looked_at, visits = Visits(costs.graph), Visits(costs.graph)
    rows = []
    for computation in costs.executions.executed:
        # Most dots are like no other: values are numbered only for those that are.
        candidates = _find_candidates(computation, costs, descriptions, looked_at, least_operations)
        needed = set(reach(candidates, _OPERANDS))
        if not needed:
            continue
        numbering = Numbering(costs.graph, descriptions, visits)
        # By value: which fusions compute it, and by which instruction in each.
        occurrences: defaultdict[int, dict[Instruction, Instruction]] = defaultdict(dict)
        for outer in (one for one in computation.instructions if one in needed):
            for inner, value in numbering.visit(outer):
                if inner.opcode in EXPENSIVE:
                    occurrences[value].setdefault(outer, inner)
        several = (found for found in occurrences.values() if len(found) > 1)
        rows += [_make_recompute_row(found, costs) for found in several]
    return tuple(row for row in rows if row.known_repeated_per_step >= least_operations)


def _find_candidates(
    computation: Computation,
    costs: CostModel,
    descriptions: Descriptions,
    visits: Visits,
    least_operations: int,
) -> Iterator[Instruction]:
    """Yield what would repeat that much if all of one description had the same operands.

    Fusions with others inside, which are rare, are among them; so are all that are too many.
    """
    groups: defaultdict[int, list[tuple[Instruction, Instruction]]] = defaultdict(list)
    for outer in computation.instructions:
        inside = [outer]
        if outer.opcode == "fusion" and visits.left >= 0:
            inside = [
                one for body in costs.graph.callees.get(outer, ()) for one in body.instructions
            ]
            visits.left -= len(inside)
        for one in inside:
            if one.opcode in EXPENSIVE:
                groups[descriptions.of(one)].append((outer, one))
            elif one.opcode == "fusion":
                yield outer
    runs = costs.executions.lower_bound(computation)
    for group in groups.values():
        outers = {outer for outer, _ in group}
        if len(outers) > 1:
            most = max(_count_operations(costs.of(one)) for _, one in group)
            if most * (len(outers) - 1) * runs >= least_operations:
                yield from outers


def _count_operations(cost: Cost) -> int:
    return cost.flops + cost.transcendentals


def _make_recompute_row(repeats: dict[Instruction, Instruction], costs: CostModel) -> RecomputeRow:
    outer, first = next(iter(repeats.items()))
    cost, runs = costs.of(first), costs.executions.runs_of(outer.computation)
    return RecomputeRow(
        name=first.full_name,
        count=len(repeats),
        opcode=first.opcode,
        shape=str(first.shape),
        computation=outer.computation.name,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        **runs.figures(),
        **runs.spread("repeated", _count_operations(cost) * (len(repeats) - 1)),
        members=tuple(one.full_name for one in repeats),
        **asdict(share_origin([read_origin(one) for one in repeats.values()])),
    )
