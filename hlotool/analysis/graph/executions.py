"""How often does a while run its body? Read where XLA wrote it down, else derived.

Follows xla/hlo/analysis/while_loop_analysis.cc: a counter that starts at a constant, moves
by a constant and is compared with a constant. Mirrored operands and counting down are
accepted too; nothing else is guessed.

How often does each computation run in one execution of the entry?

The product of the trip counts of the loops around it, summed over its call sites
(docs/numbers.md). Fused, reducer and other embedded computations belong to
their caller and are not counted.

How often do these instructions run, all together, in one run of the entry?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.calls import CallGraph, find_branches
from hlotool.analysis.graph.scalars import Comparison, Linear, Scalars
from hlotool.errors import InputError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import CONTROL_FLOW

TripCountSource: TypeAlias = Literal["backend_config", "derived"]

_MIRRORED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE", "EQ": "EQ"}
_MOST_TRIPS: Final = 1 << 53  # beyond this the derivation has misread something


class TripCount(Struct, frozen=True):
    """Iterations of one loop and where the number comes from; both None when unknown.

    `contradicting` is what the loop itself comes to where a printed count is another.
    """

    count: int | None = None
    source: TripCountSource | None = None
    contradicting: int | None = None


def find_trip_count(loop: Instruction, scalars: Scalars) -> TripCount:
    """Return how often one execution of a while runs its body.

    `known_trip_count` of the backend config wins, as XLA itself reads nothing else once it is
    there. Otherwise the condition must compare a slot of the state with a constant, and the
    body must add a constant to that slot.
    """
    known = _read_known(loop)
    derived = _derive(loop, scalars)
    if known is not None:
        return TripCount(known, "backend_config", None if derived == known else derived)
    return TripCount(derived, "derived") if derived is not None else TripCount()


def _read_known(loop: Instruction) -> int | None:
    config = loop.backend_config()
    text = config.find("known_trip_count", "n") if config else None
    if isinstance(text, int) and not isinstance(text, bool):
        return text if text >= 0 else None
    if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 20:  # noqa: PLR2004 (64 bits)
        return int(text)
    return None


def _derive(loop: Instruction, scalars: Scalars) -> int | None:
    condition = loop.callees("condition")
    if not condition:
        return None
    test = scalars.find(condition[0].root)
    if not isinstance(test, Comparison):
        return None
    left, right = scalars.settle(test.left), scalars.settle(test.right)
    direction = test.direction
    if left.slot is None:
        left, right, direction = right, left, _MIRRORED.get(direction, "")
    counter = left.slot
    if counter is None or counter.loop is not loop or right.slot is not None:
        return None
    following = scalars.find_next(counter)
    start = scalars.find_initial(loop, counter.index)
    if not isinstance(following, Linear) or following.slot != counter:
        return None
    if not isinstance(start, Linear):
        return None
    start = scalars.settle(start)
    if start.slot is not None:
        return None
    return count_iterations(direction, start.offset + left.offset, right.offset, following.offset)


def count_iterations(direction: str, start: int, limit: int, step: int) -> int | None:
    """Count how often `start direction limit` holds while start moves by step.

    None when the loop would not end, or not at a place this arithmetic can tell.

    >>> count_iterations("LT", 0, 10, 3), count_iterations("LE", 1, 10, 1)
    (4, 10)
    """
    if direction in {"GT", "GE"}:
        direction, start, limit, step = _MIRRORED[direction], -start, -limit, -step
    distance = limit - start + (direction == "LE")
    if direction in {"LT", "LE"}:
        if distance <= 0:
            return 0
        return _bounded(-(-distance // step)) if step > 0 else None
    if direction == "NE":
        if distance == 0:
            return 0
        ends = step != 0 and distance % step == 0 and distance // step > 0
        return _bounded(distance // step) if ends else None
    if direction == "EQ":
        return 0 if distance else 1 if step else None
    return None


def _bounded(count: int) -> int | None:
    return count if count <= _MOST_TRIPS else None


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
    calls = _find_calls(module, scalars, trips)
    order = _callers_first(module, calls)
    counts: dict[Computation, _Count] = {module.entry: _Count(1)}
    depths: dict[Computation, tuple[int, Instruction | None]] = {module.entry: (0, None)}
    for computation in order:
        for call in calls[computation]:
            count = _add(counts.get(call.callee, _NEVER), counts[computation], call)
            check_count(count.known, call.callee)
            counts[call.callee] = count
            is_loop = call.caller.opcode == "while"
            depth, parent = depths[computation]
            inside = (depth + 1, call.caller) if is_loop else (depth, parent)
            depths[call.callee] = max(inside, depths.get(call.callee, inside), key=_depth)
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


def _depth(place: tuple[int, Instruction | None]) -> int:
    return place[0]


def _find_calls(
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
        trips[instruction] = trip = find_trip_count(instruction, scalars)
        return [_Call(instruction, callee, trip.count, is_branch=False) for callee in inside]
    if opcode == "conditional":
        return [_Call(instruction, one, 1, is_branch=True) for one in find_branches(instruction)]
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


def _add(so_far: _Count, caller: _Count, call: _Call) -> _Count:
    """Add the runs that one call site brings."""
    times = 1 if call.times is None else call.times
    is_exact = caller.is_exact and call.times is not None
    return _Count(
        so_far.known + caller.known * times,
        so_far.is_exact and is_exact,
        so_far.is_conditional or caller.is_conditional or call.is_branch,
    )


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
    exact: int | None = 0
    known = 0
    is_conditional = False
    for instruction in instructions:
        computation = instruction.computation
        runs = executions.of(computation)
        exact = None if exact is None or runs is None else exact + runs
        known += executions.lower_bound(computation)
        is_conditional = is_conditional or executions.is_conditional(computation)
    return Runs(exact, known, is_conditional)
