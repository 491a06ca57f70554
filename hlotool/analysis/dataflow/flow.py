"""Where values come from and where they go, past all that only hands them on.

Asked for a few values, those of collectives: nothing walks a whole module. A way goes through
tuples, views, copies, conversions, asynchronous pairs, fusions, calls, and loops that hand a value
back as they got it:

    %w = parameter(0)
    %t = tuple(%i, %w)
    %l = while(%t)                        no round changes element 1
      %s = parameter(0), of the body
      %a = get-tuple-element(%s), 1
      %b = copy(%a)                       `source` of %b is %w
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.values import Position
from hlotool.analysis.graph.calls import CallGraph
from hlotool.hlo import Computation, Instruction, ShapeIndex
from hlotool.hlo.module import find_passed
from hlotool.hlo.opcodes import ASYNC_DONES, LATER_STEPS, MOVES

MOST_STEPS: Final = 1_000  # on one way; those of real programs have some dozens
_DEEPEST: Final = 32  # loops in each other
# The same elements, perhaps in another order.
_MOVED: Final = (
    MOVES | ASYNC_DONES | {"bitcast", "copy-start", "opt-barrier", "domain", "add-dependency"}
)
# The same numbers, perhaps rounded.
_SAME: Final = _MOVED | {"convert"}
_KEPT: Final = frozenset(("bitcast", "copy", "opt-barrier", "copy-start", "copy-done"))
SLICED: Final = _SAME | {"dynamic-slice"}


class Made(Struct, frozen=True):
    """Where a value is made: `inner` inside of a fusion, else the instruction itself."""

    instruction: Instruction
    index: ShapeIndex
    inner: Instruction


class Use(Struct, frozen=True):
    """An instruction that needs a value, and at which operand; None where it is a result."""

    instruction: Instruction | None
    place: int = 0
    value: Instruction | None = None


class Flow:
    """The ways of values in one module; what was found out about loops is kept."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph
        self._unchanged: dict[tuple[Instruction, int], bool] = {}
        self._positions: dict[Computation, Mapping[Instruction, int]] = {}
        self._elements: dict[Instruction, defaultdict[int | None, list[Instruction]]] = {}
        self._depth = 0

    def caller(self, computation: Computation) -> Instruction | None:
        """Return the one instruction that calls a computation, None where several do."""
        named = self._graph.callers.get(computation, ())
        callers = [one for one in named if one.opcode not in LATER_STEPS]
        return callers[0] if len(callers) == 1 else None

    def source(
        self,
        instruction: Instruction,
        index: ShapeIndex = (),
        through: Collection[str] = _SAME,
        within: Computation | None = None,
    ) -> Made:
        """Return where a value is made, going back through `through`, but not out of `within`."""
        fused: list[Position] = []
        for _ in range(MOST_STEPS):
            step = self._step_back(instruction, index, fused, through, within)
            if step is None:
                break
            instruction, index = step
        outer, outer_index = fused[0] if fused else (instruction, index)
        return Made(outer, outer_index, instruction)

    def _step_back(
        self,
        one: Instruction,
        index: ShapeIndex,
        fused: list[Position],
        through: Collection[str],
        within: Computation | None,
    ) -> Position | None:
        """Go one step back; `fused` are the fusions that the way has gone into."""
        opcode, operands = one.opcode, one.operands
        if opcode == "parameter":
            return None if one.computation is within else self._step_out(one, index, fused)
        if opcode == "tuple" and index:
            return (operands[index[0]], index[1:]) if index[0] < len(operands) else None
        if opcode == "get-tuple-element" and operands:
            return operands[0], (one.tuple_index, *index)
        if opcode == "fusion" and (body := one.callee()):
            fused.append((one, index))
            return body.root, index
        if opcode == "custom-call" and (whole := _find_whole(one)):
            return whole, index
        is_looped = opcode == "while" and index and self.is_unchanged(one, index[0])
        return (operands[0], index) if operands and (is_looped or opcode in through) else None

    def _step_out(
        self, parameter: Instruction, index: ShapeIndex, fused: list[Position]
    ) -> Position | None:
        """Go from a parameter to what its computation is given for it."""
        caller: Instruction | None
        if fused and fused[-1][0].callee() is parameter.computation:
            caller = fused.pop()[0]
        else:
            caller = self.caller(parameter.computation)
            if caller is None or caller.opcode == "conditional":
                return None
            if caller.opcode == "while" and not (index and self.is_unchanged(caller, index[0])):
                return None
        given = find_passed(parameter, caller)
        return (given, index) if given else None

    def is_unchanged(self, loop: Instruction, element: int) -> bool:
        """Whether every round of a loop hands an element of its state back as it got it.

        Loops in each other are followed to a depth that no program has.
        """
        key = loop, element
        if key not in self._unchanged:
            body = loop.expect_callee("body")
            self._depth += 1
            is_same = self._depth <= _DEEPEST and len(body.parameters) == 1
            if is_same:
                made = self.source(body.root, (element,), _KEPT, body)
                is_same = made.inner is body.parameters[0] and made.index == (element,)
            self._depth -= 1
            self._unchanged[key] = is_same
        return self._unchanged[key]

    def uses(self, result: Instruction, index: ShapeIndex = ()) -> Iterator[Use]:
        """Yield what needs a value, past what only moves it; once for each way."""
        pending: list[Position] = [(result, index)]
        for _ in range(MOST_STEPS):
            if not pending:
                return
            one, index = pending.pop()
            if one is one.computation.root:
                caller = self.caller(one.computation)
                if caller is not None and caller.opcode == "fusion":
                    pending.append((caller, index))
                else:
                    yield Use(None)
            for user in self._list_users(one, index):
                for place in user.places_of(one):
                    if (following := _step_on(user, place, index)) is None:
                        yield Use(user, place, one)
                    else:
                        pending.append(following)
        yield Use(None)  # too many to tell

    def _list_users(self, one: Instruction, index: ShapeIndex) -> Sequence[Instruction]:
        """Return what uses an array, or an element of a tuple: who takes others is left out."""
        if not index:
            return one.users
        if one not in self._elements:
            self._elements[one] = taken = defaultdict[int | None, list[Instruction]](list)
            for user in one.users:
                taken[user.tuple_index if user.opcode == "get-tuple-element" else None].append(user)
        taken = self._elements[one]
        return [*taken.get(index[0], ()), *taken.get(None, ())]

    def ancestors(
        self, starts: Collection[Instruction], within: Computation
    ) -> list[Instruction] | None:
        """List what some values of a computation, or of its fusions, are made from, with them.

        None where that is too much.
        """
        met = dict.fromkeys(starts)
        pending = list(met)
        while pending and len(met) <= MOST_STEPS:
            one = pending.pop()
            below: Collection[Instruction] = one.operands
            if one.opcode == "parameter" and one.computation is not within:
                caller = self.caller(one.computation)
                given = caller.operands if caller and caller.opcode == "fusion" else ()
                below = given[one.parameter_number : one.parameter_number + 1]
            if one.opcode == "get-tuple-element":
                given = one.operands
                # What goes through a barrier beside a value is no part of it.
                while given and given[0].opcode == "opt-barrier":
                    given = given[0].operands
                if given and given[0].opcode == "tuple":
                    below = given[0].operands[one.tuple_index : one.tuple_index + 1]
            for each in below:
                if each not in met:
                    met[each] = None
                    pending.append(each)
        return None if pending else list(met)

    def positions(self, computation: Computation) -> Mapping[Instruction, int]:
        """Return where in its computation each instruction stands."""
        if computation not in self._positions:
            numbers = {one: number for number, one in enumerate(computation.instructions)}
            self._positions[computation] = numbers
        return self._positions[computation]


def _find_whole(call: Instruction) -> Instruction | None:
    """Return what TPU's `ConcatBitcast` puts together again, fetched in slices; None of others."""
    if call.custom_call_target != "ConcatBitcast":
        return None
    starts = [one.operands[0] for one in call.operands if one.opcode == "async-done"]
    wholes = {one.operands[0] for one in starts if one.opcode == "async-start"}
    return wholes.pop() if len(wholes) == 1 and len(starts) == len(call.operands) else None


def _step_on(user: Instruction, place: int, index: ShapeIndex) -> Position | None:
    """Return where a value goes on in a user that only hands it on; else None."""
    opcode = user.opcode
    if opcode == "tuple":
        return user, (place, *index)
    if opcode == "get-tuple-element" and index:
        return user, index[1:]
    if opcode in _MOVED:
        return user, index
    if opcode == "fusion" and (body := user.callee()) and place < len(body.parameters):
        return body.parameters[place], index
    return None
