"""Which loops run more or less often?"""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.graph.executions import Loop
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.program.program import Program


def find_loops(evidence: Evidence) -> Iterator[Cause]:
    """Yield loops with another trip count, if both know theirs; flops and bytes go by one body.

    `delta_bytes` is what the runs more or less move in memory in one run of the entry.
    """
    there = {loop.instruction: loop for loop in evidence.right.executions.loops}
    for loop in evidence.left.executions.loops:
        partner = evidence.pairs.get(loop.instruction)
        other = there.get(partner) if partner else None
        if other is None or loop.trip_count is None or other.trip_count is None:
            continue
        if loop.trip_count == other.trip_count:
            continue
        bytes_, flops = (
            _of_body(evidence.right, other, index) - _of_body(evidence.left, loop, index)
            for index in range(2)
        )
        yield Cause(
            kind="trip count",
            count=1,
            subject=other.instruction.full_name,
            left=str(loop.trip_count),
            right=str(other.trip_count),
            measure="traffic",
            delta_bytes=bytes_,
            delta_flops=flops,
        )


def _of_body(program: Program, loop: Loop, index: int) -> int:
    """Return the memory bytes, or the flops, of all runs of a body in one run of the entry."""
    cost = program.costs.of_computation(loop.body)
    runs = program.executions.lower_bound(loop.body)
    return (cost.memory_bytes, cost.flops)[index] * runs
