"""Which loops does a module have, how often does each run, what does it carry, move and send?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions, Loop
from hlotool.analysis.graph.trip_counts import TripCountSource
from hlotool.fields import BYTES, COUNT, NUMBER, column, figure
from hlotool.ir.instruction import Instruction


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
