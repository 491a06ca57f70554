"""How often each computation runs in one execution of the entry.

The product of the trip counts of the loops around it, summed over its call sites
(docs/numbers.md). Fused, reducer and other embedded computations belong to their caller and are not
counted.

How often a while runs its body is read where XLA wrote it down, else derived as in
xla/hlo/analysis/while_loop_analysis.cc: a counter that starts at a constant, moves
by a constant and is compared with a constant. Mirrored operands and counting down are
accepted too; nothing else is guessed. Conditions and counters hide behind copies, tuples, fusions
and calls. `Scalars` goes back through those to what a scalar is: a Linear or a Comparison, or None
where it cannot tell.

    body:  %state = (s32[], f32[8]) parameter(0)
           %i = s32[] get-tuple-element(%state), index=0
           %next = s32[] fusion(%i), calls=%plus_one     %next is Linear(Slot(loop, 0), 1)
    condition:  compare(%i, constant(12)), direction=LT
                                           Comparison("LT", Linear(slot, 0), Linear(None, 12))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.graph.calls import CallGraph, list_branches, reach
from hlotool.errors import InputError
from hlotool.hlo import ArrayShape, Computation, Instruction, Module
from hlotool.hlo.module import all_operands
from hlotool.hlo.opcodes import CONTROL_FLOW, LATER_STEPS, MOVES

TripCountSource: TypeAlias = Literal["backend_config", "derived"]

_MIRRORED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE", "EQ": "EQ"}
_MOST_TRIPS: Final = 1 << 53  # beyond this the derivation has misread something
_DEEPEST: Final = 80  # steps from a value to its origin; real counters need fewer than ten

_FLIPPED: Final = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
# A scalar comes out of these as it went in; nothing transposes one.
_TRANSPARENT: Final = (MOVES - {"transpose"}) | {
    "bitcast",
    "convert",
    "copy-done",
    "copy-start",
    "opt-barrier",
}


class TripCount(Struct, frozen=True):
    """Iterations of one loop and where the number comes from; both None when unknown.

    `contradicting` is what the loop itself comes to where a printed count is another.
    """

    count: int | None = None
    source: TripCountSource | None = None
    contradicting: int | None = None


def count_trips(loop: Instruction, scalars: Scalars) -> TripCount:
    """Return how often one execution of a while runs its body.

    `known_trip_count` of the backend config wins, as XLA itself reads nothing else once it is
    there. Otherwise the condition must compare a slot of the state with a constant, and the
    body must add a constant to that slot.
    """
    known = _find_printed(loop)
    # In a part of a program what the counter comes from may be what is missing.
    derived = None if loop.module.source.is_fragment else _derive(loop, scalars)
    if known is not None:
        return TripCount(known, "backend_config", None if derived == known else derived)
    return TripCount(derived, "derived") if derived is not None else TripCount()


def _find_printed(loop: Instruction) -> int | None:
    text = loop.find_config("known_trip_count", "n")
    if isinstance(text, int) and not isinstance(text, bool):
        return text if text >= 0 else None
    if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 20:  # noqa: PLR2004 (64 bits)
        return int(text)
    return None


def _derive(loop: Instruction, scalars: Scalars) -> int | None:
    if not (condition := loop.callees("condition")):
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
    following, start = scalars.find_next(counter), scalars.find_initial(loop, counter.index)
    if not isinstance(following, Linear) or following.slot != counter:
        return None
    if not isinstance(start, Linear) or (start := scalars.settle(start)).slot is not None:
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
    if direction == "EQ":
        return 0 if distance else 1 if step else None
    if direction not in {"LT", "LE", "NE"}:
        return None
    if distance == 0 or (distance < 0 and direction != "NE"):
        return 0
    count = -(-distance // step) if step else 0
    is_met = direction != "NE" or count * step == distance
    return count if is_met and 0 < count <= _MOST_TRIPS else None


class Slot(Struct, frozen=True):
    """Element `index` of the state of a while, at the beginning of an iteration."""

    loop: Instruction
    index: int


class Linear(Struct, frozen=True):
    """`slot + offset`, or the integer `offset` where `slot` is None."""

    slot: Slot | None
    offset: int


class Comparison(Struct, frozen=True):
    """`left direction right`, direction as XLA prints it: LT, LE, GT, GE, EQ, NE."""

    direction: str
    left: Linear
    right: Linear


class _State(Struct, frozen=True):
    """The whole state tuple of a while."""

    loop: Instruction


class _Pack(Struct, frozen=True):
    """A tuple instruction and the frame its operands are to be read in."""

    instruction: Instruction
    frame: _Frame


Value: TypeAlias = Linear | Comparison | _State | _Pack | None


class _Frame(Struct, eq=False):
    """One way into a computation: what its parameters stand for."""

    parameters: Mapping[int, Value]
    known: dict[Instruction, Value] = field(default_factory=dict)


class Scalars:
    """Finds what the scalars of one module are made of; what it found, it keeps."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph
        self._frames: dict[Computation, _Frame] = {}
        self._depth = 0

    def find(self, instruction: Instruction) -> Value:
        """Return what a scalar is, in terms of the loops around its computation."""
        return self._value(instruction, self._frame(instruction.computation))

    def find_initial(self, loop: Instruction, index: int) -> Value:
        """Return what element `index` of a loop's initial state is, outside the loop."""
        if not loop.operands:
            return None
        return self._element(self._value(loop.operands[0], self._frame(loop.computation)), index)

    def find_next(self, slot: Slot) -> Value:
        """Return what the loop's body makes of a slot for the next iteration."""
        if not (body := slot.loop.callees("body")):
            return None
        return self._element(self._value(body[0].root, self._frame(body[0])), slot.index)

    def settle(self, value: Linear) -> Linear:
        """Replace a slot that its loop never changes by what the loop was given for it."""
        for _ in range(_DEEPEST):
            slot = value.slot
            if slot is None or self.find_next(slot) != Linear(slot, 0):
                return value
            given = self.find_initial(slot.loop, slot.index)
            if not isinstance(given, Linear):
                return value
            value = Linear(given.slot, given.offset + value.offset)
        return value

    def _frame(self, computation: Computation) -> _Frame:
        """Return the one way into a computation; with several callers nothing is known."""
        if computation not in self._frames:
            self._frames[computation] = _Frame(self._parameters(computation))
        return self._frames[computation]

    def _parameters(self, computation: Computation) -> Mapping[int, Value]:
        # A later step of an asynchronous operation names what its start calls: no call more.
        named = self._graph.callers.get(computation, ())
        callers = [one for one in named if one.opcode not in LATER_STEPS]
        if len(callers) != 1:
            return {}
        caller = callers[0]
        if caller.opcode == "while":
            return {0: _State(caller)}
        if caller.opcode not in {"call", "fusion", "async-start"} or self._depth >= _DEEPEST:
            return {}
        self._depth += 1
        frame = self._frame(caller.computation)
        found = {n: self._value(one, frame) for n, one in enumerate(all_operands(caller))}
        self._depth -= 1
        return found

    def _value(self, instruction: Instruction, frame: _Frame) -> Value:
        if instruction in frame.known:
            return frame.known[instruction]
        if self._depth >= _DEEPEST:
            return None
        self._depth += 1
        found = self._compute(instruction, frame)
        self._depth -= 1
        frame.known[instruction] = found
        return found

    def _compute(self, instruction: Instruction, frame: _Frame) -> Value:
        """Follow one instruction a step towards its origin."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "constant":
            return _constant(instruction)
        if opcode == "parameter":
            return frame.parameters.get(instruction.parameter_number)
        if opcode == "tuple":
            return _Pack(instruction, frame)
        if opcode in {"fusion", "call"}:
            return self._through_callee(instruction, frame)
        if not operands:
            return None
        first = self._value(operands[0], frame)
        if opcode in _TRANSPARENT:
            return first
        if opcode == "get-tuple-element":
            return self._element(first, instruction.tuple_index)
        if opcode == "not" and isinstance(first, Comparison):
            flipped = _FLIPPED.get(first.direction)  # None for a word XLA does not have
            return Comparison(flipped, first.left, first.right) if flipped else None
        if len(operands) == 2:  # noqa: PLR2004 (binary)
            return _combine(instruction, first, self._value(operands[1], frame))
        return None

    def _through_callee(self, instruction: Instruction, frame: _Frame) -> Value:
        """Follow a fusion or call into its computation, with what it passes there."""
        callee = instruction.callee()
        if callee is None or not isinstance(instruction.shape, ArrayShape):
            return None
        given = {n: self._value(one, frame) for n, one in enumerate(instruction.operands)}
        return self._value(callee.root, _Frame(given))

    def _element(self, value: Value, index: int) -> Value:
        if isinstance(value, _State):
            return Linear(Slot(value.loop, index), 0)
        if isinstance(value, _Pack) and index < len(value.instruction.operands):
            return self._value(value.instruction.operands[index], value.frame)
        return None


def _constant(instruction: Instruction) -> Linear | None:
    """Read a scalar integer or boolean literal."""
    shape = instruction.shape
    if not isinstance(shape, ArrayShape) or shape.dims:
        return None
    if (text := instruction.literal.strip()) in {"true", "false"}:
        return Linear(None, int(text == "true"))
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > len(str(1 << 64)):
        return None
    return Linear(None, int(text))


def _combine(instruction: Instruction, left: Value, right: Value) -> Value:
    """Add, subtract or compare two values where the result keeps one of our forms."""
    if not isinstance(left, Linear) or not isinstance(right, Linear):
        return None
    if instruction.opcode == "compare":
        return Comparison(instruction.attributes.get("direction", ""), left, right)
    if instruction.opcode == "add" and (left.slot is None or right.slot is None):
        return Linear(left.slot or right.slot, left.offset + right.offset)
    if instruction.opcode == "subtract" and right.slot is None:
        return Linear(left.slot, left.offset - right.offset)
    return None


MOST_EXECUTIONS: Final = 1 << 63


class Loop(Struct, frozen=True):
    """One while instruction. `depth` counts the loops around it; `parent` is the nearest."""

    instruction: Instruction
    body: Computation
    condition: Computation
    trips: TripCount
    depth: int
    parent: Instruction | None


class Runs(Struct, frozen=True):
    """How often something runs per step of the entry.

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

    def figures(self) -> dict[str, Any]:
        """Return the fields of a row that say how often it runs."""
        known = {"known_executions": self.known, "is_conditional": self.is_conditional}
        return {"executions": self.exact, **known}

    def spread(self, name: str, size: int) -> dict[str, Any]:
        """Return the fields of a row that say how much of a figure all executions make."""
        return {f"{name}_per_step": self.times(size), f"known_{name}_per_step": size * self.known}


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
    """One way from a computation into another, `times` for each execution of the caller."""

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
            trips[instruction],
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
            f"the computation {computation.name!r} would run more than 2^63 times per "
            "step, so its calls or trip counts are wrong"
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
