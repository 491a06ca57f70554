"""Which instructions run, and what gives to which? A graph, with scopes as the places of boxes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hlotool.analysis.origin.origin import find_origin, write_short_source
from hlotool.program.program import Program


class GraphBox(Struct, frozen=True):
    """One instruction of a computation that runs on its own."""

    name: str
    opcode: str
    shape: str
    scope: str
    source: str
    operands: tuple[str, ...]
    flops: int
    memory_bytes: int


def list_boxes(program: Program) -> Iterator[GraphBox]:
    """Yield the instructions of the computations that run, callers first.

    What has no scope stands in its computation. Costs are those of one execution.
    """
    for computation in program.executions.executed:
        for one in computation.instructions:
            origin = find_origin(one)
            cost = program.costs.of(one)
            yield GraphBox(
                one.full_name,
                one.opcode,
                str(one.shape),
                origin.scope or computation.name,
                write_short_source(origin.source_file, origin.source_line) or "",
                tuple(dict.fromkeys(each.full_name for each in one.operands)),
                cost.total_flops,
                cost.memory_bytes,
            )
