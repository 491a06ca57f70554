"""Which loops does a module have, how often does each run, and what does it carry?"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions, Loop
from hlotool.analysis.graph.trip_counts import TripCountSource
from hlotool.fields import BYTES, COUNT, NUMBER, column, figure
from hlotool.ir.module import Instruction


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
            "how often the loop itself is started in one run of the entry", COUNT, heading="runs"
        ),
    ]
    carried_bytes: Annotated[
        int | None, column("size of the state carried between iterations", BYTES, heading="carries")
    ]


def list_loops(executions: Executions) -> tuple[LoopRow, ...]:
    """List the loops in the order of the program, each behind the loop around it."""
    inside: defaultdict[Instruction | None, list[Loop]] = defaultdict(list)
    for loop in executions.loops:
        inside[loop.parent].append(loop)
    ordered: list[LoopRow] = []
    pending = inside[None][::-1]
    while pending:
        loop = pending.pop()
        ordered.append(_make_row(loop, executions))
        pending.extend(inside[loop.instruction][::-1])
    return tuple(ordered)


def _make_row(loop: Loop, executions: Executions) -> LoopRow:
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
    )
