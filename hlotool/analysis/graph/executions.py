"""How often each computation runs in one execution of the entry.

The product of the trip counts of the loops around it, summed over its call sites
(docs/numbers.md). Fused, reducer and other embedded computations belong to
their caller and are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.graph.calls import CallGraph, list_branches, reach
from hlotool.analysis.graph.trip_counts import Scalars, TripCount, TripCountSource, count_trips
from hlotool.errors import InputError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import CONTROL_FLOW

MOST_EXECUTIONS: Final = 1 << 63


class Loop(Struct, frozen=True):
    """One while instruction. `depth` counts the loops around it; `parent` is the nearest.

    `contradicting_trip_count` is what the loop itself comes to, if a printed count is another.
    """

    instruction: Instruction
    body: Computation
    condition: Computation
    trip_count: int | None
    trip_count_source: TripCountSource | None
    contradicting_trip_count: int | None
    depth: int
    parent: Instruction | None


class Runs(Struct, frozen=True):
    """How often something runs in one run of the entry.

    `known` takes unknown trip counts as one; `is_exact` says whether there were none.
    `is_conditional` says that a conditional decides if it runs; the figures are then upper bounds.
    """

    known: int = 0
    is_exact: bool = True
    is_conditional: bool = False

    @property
    def exact(self) -> int | None:
        """How often, None under a loop of unknown trip count."""
        return self.known if self.is_exact else None

    def times(self, figure: int) -> int | None:
        """Return a figure of one execution for all of them, None when their number is unknown."""
        return figure * self.known if self.is_exact else None


def add_runs(parts: Iterable[Runs]) -> Runs:
    """Add up runs; unknown and conditional is what any of them is."""
    all_parts = list(parts)
    return Runs(
        sum(one.known for one in all_parts),
        all(one.is_exact for one in all_parts),
        any(one.is_conditional for one in all_parts),
    )


_NEVER: Final = Runs()


class Executions(Struct, frozen=True):
    """Runs per computation; `executed` are those that run on their own, callers first."""

    counts: Mapping[Computation, Runs]
    executed: tuple[Computation, ...]
    loops: tuple[Loop, ...]

    def runs_of(self, computation: Computation) -> Runs:
        """Return the runs of a computation, none if it never runs on its own."""
        return self.counts.get(computation, _NEVER)

    def of(self, computation: Computation) -> int | None:
        """Return the runs, 0 if it never runs on its own, None under an unknown loop."""
        return self.runs_of(computation).exact

    def lower_bound(self, computation: Computation) -> int:
        """Return the runs with every unknown trip count taken as one."""
        return self.runs_of(computation).known

    def is_conditional(self, computation: Computation) -> bool:
        """Say whether a conditional decides if it runs; its runs are then an upper bound."""
        return self.runs_of(computation).is_conditional


class _Call(Struct, frozen=True):
    """One way from a computation into another, `times` for each run of the caller."""

    caller: Instruction
    callee: Computation
    times: int | None
    is_branch: bool


def count_executions(module: Module, graph: CallGraph) -> Executions:
    """Count the runs of every computation of a module, whose call graph is `graph`.

    Loops multiply, call sites add up. A conditional counts every branch as taken. Unknown
    trip counts make everything inside unknown. Raises InputError where a computation would run
    more than MOST_EXECUTIONS times.
    """
    scalars = Scalars(graph)
    trips: dict[Instruction, TripCount] = {}
    calls: dict[Computation, list[_Call]] = {}

    def list_called(computation: Computation) -> list[Computation]:
        calls[computation] = [
            call
            for instruction in computation.instructions
            if instruction.opcode in CONTROL_FLOW
            for call in _calls_of(instruction, scalars, trips)
        ]
        return [call.callee for call in calls[computation]]

    reach([module.entry], list_called)
    order = _callers_first(module.entry, calls)
    counts: dict[Computation, Runs] = {module.entry: Runs(1)}
    depths: dict[Computation, tuple[int, Instruction | None]] = {module.entry: (0, None)}
    for computation in order:
        for call in calls[computation]:
            so_far, caller = counts.get(call.callee, _NEVER), counts[computation]
            count = Runs(
                so_far.known + caller.known * (1 if call.times is None else call.times),
                so_far.is_exact and caller.is_exact and call.times is not None,
                so_far.is_conditional or caller.is_conditional or call.is_branch,
            )
            check_count(count.known, call.callee)
            counts[call.callee] = count
            is_loop = call.caller.opcode == "while"
            depth, parent = depths[computation]
            inside = (depth + 1, call.caller) if is_loop else (depth, parent)
            depths[call.callee] = max(
                inside, depths.get(call.callee, inside), key=lambda place: place[0]
            )
    loops = tuple(
        Loop(
            instruction,
            instruction.callees("body")[0],
            instruction.callees("condition")[0],
            trips[instruction].count,
            trips[instruction].source,
            trips[instruction].contradicting,
            *depths[computation],
        )
        for computation in order
        for instruction in computation.instructions
        if instruction in trips
    )
    return Executions(counts, tuple(order), loops)


def check_count(count: int, computation: Computation) -> None:
    """Raise InputError for more runs than MOST_EXECUTIONS: no machine, and no table, holds them."""
    if count > MOST_EXECUTIONS:
        raise InputError(
            f"the computation {computation.name!r} would run more than 2^63 times in one run; "
            "its calls and trip counts are taken for a mistake"
        )


def _calls_of(
    instruction: Instruction, scalars: Scalars, trips: dict[Instruction, TripCount]
) -> list[_Call]:
    """List what an instruction runs as control flow; remember the trip count of a loop."""
    opcode = instruction.opcode
    if opcode == "while":
        inside = [instruction.expect_callee("condition"), instruction.expect_callee("body")]
        trips[instruction] = trip = count_trips(instruction, scalars)
        return [_Call(instruction, callee, trip.count, is_branch=False) for callee in inside]
    if opcode == "conditional":
        return [_Call(instruction, one, 1, is_branch=True) for one in list_branches(instruction)]
    if opcode in {"call", "async-start"}:
        callee = instruction.callee()
        return [_Call(instruction, callee, 1, is_branch=False)] if callee else []
    return []


def _callers_first(
    entry: Computation, calls: Mapping[Computation, list[_Call]]
) -> list[Computation]:
    """Order what the entry reaches so that every caller stands before its callees."""
    waiting = Counter(call.callee for made in calls.values() for call in made)
    order: list[Computation] = []
    ready = [entry]  # which nothing that it reaches calls, in a call graph without recursion
    while ready:
        computation = ready.pop()
        order.append(computation)
        for call in calls[computation]:
            waiting[call.callee] -= 1
            if not waiting[call.callee]:
                ready.append(call.callee)
    return order


def count_runs(instructions: Iterable[Instruction], executions: Executions) -> Runs:
    """Add up the executions of instructions."""
    return add_runs(executions.runs_of(one.computation) for one in instructions)
