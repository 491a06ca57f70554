"""Which loops does a module have, how often does each run, what does it carry, move and send?

How much does each loop move in memory, and send, in one run?
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.calls import CallGraph, reach
from hlotool.analysis.graph.executions import Executions, Loop
from hlotool.analysis.graph.trip_counts import TripCountSource
from hlotool.hlo import Instruction
from hlotool.table import BYTES, COUNT, NUMBER, column, figure


class LoopRow(Struct, frozen=True):
    """One while instruction that the entry reaches."""

    name: Annotated[str, column("the while instruction", heading="loop", indent_by="depth")]
    computation: Annotated[str, figure("the computation that holds it")]
    body: Annotated[str, figure("the computation it repeats")]
    trip_count: Annotated[
        int | None,
        column("how often one execution runs the body; null when unknown", NUMBER, heading="trips"),
    ]
    trip_count_source: Annotated[
        TripCountSource | None,
        column(
            "printed in the backend config, or derived from condition, step and init",
            heading="from",
            give_way=4,
        ),
    ]
    contradicting_trip_count: Annotated[
        int | None,
        column(
            "what condition, step and init come to, where another count is printed, which is "
            "followed; null if none is",
            NUMBER,
            heading="but derived",
            null_text="",
        ),
    ]
    depth: Annotated[int, figure("number of loops around it", NUMBER)]
    parent: Annotated[str | None, figure("the loop around it; null if there is none", null_text="")]
    executions: Annotated[
        int | None,
        column(
            "how often the loop itself is started in one run of the entry",
            COUNT,
            heading="runs",
            give_way=2,
        ),
    ]
    carried_bytes: Annotated[
        int | None,
        column(
            "size of the state carried between iterations", BYTES, heading="carries", give_way=3
        ),
    ]
    memory_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes that all its iterations move in memory space 0 in one run, inner loops too",
            BYTES,
            heading="moves/run",
            is_summed=False,
            lower_if="is_memory_lower_bound",
        ),
    ] = None
    wire_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes that a device sends in them in one run",
            BYTES,
            heading="sends/run",
            is_summed=False,
            lower_if="is_wire_lower_bound",
        ),
    ] = None
    is_memory_lower_bound: Annotated[
        bool, figure("whether a trip count, or what an instruction moves, is unknown")
    ] = False
    is_wire_lower_bound: Annotated[
        bool, figure("whether a trip count, or what a collective sends, is unknown")
    ] = False
    is_upper_bound: Annotated[bool, figure("whether they count work that may not run")] = False


class LoopLoad(Struct, frozen=True):
    """What one loop moves and sends in one run, known parts alone."""

    memory_bytes_per_run: int
    wire_bytes_per_run: int
    is_memory_lower_bound: bool
    is_wire_lower_bound: bool
    is_upper_bound: bool


_NO_LOADS: Final[Mapping[Instruction, LoopLoad]] = {}


def list_loops(
    executions: Executions, loads: Mapping[Instruction, LoopLoad] = _NO_LOADS
) -> tuple[LoopRow, ...]:
    """List the loops in the order of the program, each behind the loop around it."""
    inside: defaultdict[Instruction | None, list[Loop]] = defaultdict(list)
    for loop in executions.loops:
        inside[loop.parent].append(loop)
    ordered: list[LoopRow] = []
    pending = inside[None][::-1]
    while pending:
        loop = pending.pop()
        ordered.append(_make_row(loop, executions, loads.get(loop.instruction)))
        pending.extend(inside[loop.instruction][::-1])
    return tuple(ordered)


def _make_row(loop: Loop, executions: Executions, load: LoopLoad | None) -> LoopRow:
    return LoopRow(
        name=loop.instruction.full_name,
        computation=loop.instruction.computation.name,
        body=loop.body.name,
        trip_count=loop.trip_count,
        trip_count_source=loop.trip_count_source,
        contradicting_trip_count=loop.contradicting_trip_count,
        depth=loop.depth,
        parent=loop.parent.full_name if loop.parent else None,
        executions=executions.of(loop.instruction.computation),
        carried_bytes=loop.instruction.shape.size_bytes,
        memory_bytes_per_run=load.memory_bytes_per_run if load else None,
        wire_bytes_per_run=load.wire_bytes_per_run if load else None,
        is_memory_lower_bound=load is not None and load.is_memory_lower_bound,
        is_wire_lower_bound=load is not None and load.is_wire_lower_bound,
        is_upper_bound=load is not None and load.is_upper_bound,
    )


def weigh_loops(
    executions: Executions,
    costs: CostModel,
    graph: CallGraph,
    collectives: Sequence[CollectiveRow],
) -> Mapping[Instruction, LoopLoad]:
    """Add up, for each loop, what all its iterations in one run of the entry move and send.

    Moved bytes are those of `memory_traffic`, sent ones those of the collectives in the
    computations that the loop reaches, each with all its executions; loops inside count too.
    Unknown trip counts count once and make a lower bound.
    """
    trips = {loop.instruction: loop.trip_count for loop in executions.loops}
    once = costs.of_loops(trips) if trips else {}
    found: dict[Instruction, LoopLoad] = {}
    for loop in executions.loops:
        cost, computation = once[loop.instruction], loop.instruction.computation
        inside = {one.name for one in reach((loop.body, loop.condition), graph.called_by)}
        sent = _find_inside(collectives, inside)
        found[loop.instruction] = LoopLoad(
            memory_bytes_per_run=cost.memory_bytes * executions.lower_bound(computation),
            wire_bytes_per_run=sum(row.known_wire_bytes_per_run for row in sent),
            is_memory_lower_bound=cost.is_memory_lower_bound or executions.of(computation) is None,
            is_wire_lower_bound=any(row.wire_bytes_per_run is None for row in sent),
            is_upper_bound=cost.is_upper_bound
            or executions.is_conditional(computation)
            or any(row.is_upper_bound or row.is_conditional for row in sent),
        )
    return found


def _find_inside(
    collectives: Sequence[CollectiveRow], names: Collection[str]
) -> list[CollectiveRow]:
    return [row for row in collectives if row.computation in names]
