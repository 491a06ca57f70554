"""How often each computation runs in one execution of the entry.

The product of the trip counts of the loops around it, summed over its call sites
(docs/numbers.md). Fused, reducer and other embedded computations belong to
their caller and are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.graph.calls import CallGraph, list_branches
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


class _Count(Struct, frozen=True):
    """`known` takes unknown trip counts as one; `is_exact` says whether there were none."""

    known: int = 0
    is_exact: bool = True
    is_conditional: bool = False


class Executions(Struct, frozen=True):
    """Runs per computation; `executed` are those that run on their own, callers first."""

    counts: Mapping[Computation, _Count]
    executed: tuple[Computation, ...]
    loops: tuple[Loop, ...]

    def of(self, computation: Computation) -> int | None:
        """Return the runs, 0 if it never runs on its own, None under an unknown loop."""
        count = self.counts.get(computation, _NEVER)
        return count.known if count.is_exact else None

    def lower_bound(self, computation: Computation) -> int:
        """Return the runs with every unknown trip count taken as one."""
        return self.counts.get(computation, _NEVER).known

    def is_conditional(self, computation: Computation) -> bool:
        """Say whether a conditional decides if it runs; its runs are then an upper bound."""
        return self.counts.get(computation, _NEVER).is_conditional


_NEVER = _Count()


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
    calls = _list_calls(module, scalars, trips)
    order = _callers_first(module, calls)
    counts: dict[Computation, _Count] = {module.entry: _Count(1)}
    depths: dict[Computation, tuple[int, Instruction | None]] = {module.entry: (0, None)}
    for computation in order:
        for call in calls[computation]:
            so_far, caller = counts.get(call.callee, _NEVER), counts[computation]
            count = _Count(
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


def _list_calls(
    module: Module, scalars: Scalars, trips: dict[Instruction, TripCount]
) -> dict[Computation, list[_Call]]:
    """List the calls of every computation that the entry reaches through control flow."""
    calls: dict[Computation, list[_Call]] = {}
    pending = [module.entry]
    while pending:
        computation = pending.pop()
        if computation in calls:
            continue
        calls[computation] = [
            call
            for instruction in computation.instructions
            if instruction.opcode in CONTROL_FLOW
            for call in _calls_of(instruction, scalars, trips)
        ]
        pending.extend(call.callee for call in calls[computation])
    return calls


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


def _callers_first(module: Module, calls: dict[Computation, list[_Call]]) -> list[Computation]:
    """Order what the entry reaches so that every caller stands before its callees."""
    waiting: dict[Computation, int] = {}
    for made in calls.values():
        for call in made:
            waiting[call.callee] = waiting.get(call.callee, 0) + 1
    order: list[Computation] = []
    ready = [] if module.entry in waiting else [module.entry]
    while ready:
        computation = ready.pop()
        order.append(computation)
        for call in calls[computation]:
            waiting[call.callee] -= 1
            if not waiting[call.callee]:
                ready.append(call.callee)
    return order


class Runs(Struct, frozen=True):
    """Executions of some instructions: exact, or None; and with unknown trip counts as one."""

    exact: int | None
    known: int
    is_conditional: bool

    def times(self, figure: int) -> int | None:
        """Return a figure of one execution for all of them, None when their number is unknown."""
        return None if self.exact is None else figure * self.exact


def count_runs(instructions: Iterable[Instruction], executions: Executions) -> Runs:
    """Add up the executions of instructions."""
    computations = [one.computation for one in instructions]
    known = sum(map(executions.lower_bound, computations))
    is_exact = all(executions.of(one) is not None for one in computations)
    is_conditional = any(map(executions.is_conditional, computations))
    return Runs(known if is_exact else None, known, is_conditional)
