"""How much does each loop move in memory, and send, in one run?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.call_graph import CallGraph, reach
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.summary.loop_rows import LoopLoad
from hlotool.ir.instruction import Instruction


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
