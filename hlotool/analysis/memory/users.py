"""Uses of a value: the instructions that use it, and how often it is used.

`Users` looks for whom to name: through tuples, loops and calls to what really reads the value, near
ones first, and no more than a few. `UseCounter` counts operands as XLA does, exactly.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.dataflow.values import Position, Value
from hlotool.analysis.graph.calls import list_branches
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import CONTROL_FLOW, USES_NOTHING
from hlotool.hlo.values import ShapeIndex

MOST_USERS: Final = 64  # of one value; whoever asks wants the near ones
_HANDING_ON: Final = CONTROL_FLOW | {"get-tuple-element", "parameter", "tuple"}
_SAME_SHAPE: Final = frozenset(("copy", "opt-barrier"))  # tuples go through them as they are

_Use: TypeAlias = tuple[int, tuple[Instruction, int]]  # its place, who uses it, as which operand


class Users:
    """Finds the instructions that use a value, for one module.

    `callers` are the instructions of control flow, and the fusions, that name each computation.
    """

    def __init__(self, callers: Mapping[Computation, Sequence[Instruction]]) -> None:
        self.callers = {computation: found[0] for computation, found in callers.items()}
        self._uses: dict[Instruction, _Uses] = {}
        self._places: dict[Instruction, defaultdict[Instruction, list[int]]] = {}

    def of(self, instruction: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
        """Yield what uses a value, then what uses the results of that: at most MOST_USERS.

        Nearest first; the inside of a loop before what comes behind it. Tuples, loops, calls and
        branches only hand a value on, to what takes it out again, to what they run, and to what
        uses their results: they are not yielded themselves.
        """
        pending = deque([(instruction, index)])
        seen = set(pending)
        for _ in range(MOST_USERS):
            if not pending:
                return
            one, at = pending.popleft()
            if one is not instruction and one.opcode not in _HANDING_ON:
                yield one
            for other in islice(self._after(one, at), MOST_USERS):
                if other not in seen:
                    seen.add(other)
                    pending.append(other)

    def _after(self, one: Instruction, index: ShapeIndex) -> Iterator[Position]:
        """Yield where the value is seen next; a position stands for all that is below it too."""
        if one.is_root and (caller := self.callers.get(one.computation)) is not None:
            yield from _leave(one, caller, index)
        for _, (user, number) in self._uses_of(one).of(index):
            yield from _enter(user, number, index)

    def _uses_of(self, one: Instruction) -> _Uses:
        """Return the uses of a result, found once.

        At which places each operand of a user stands is found once for all operands: a tuple may
        have thousands, and looking through them for each would take quadratic time.
        """
        if one in self._uses:
            return self._uses[one]
        self._uses[one] = found = _Uses()
        for user in one.users:
            if user not in self._places:
                places = self._places[user] = defaultdict(list)
                for number, operand in enumerate(user.operands):
                    places[operand].append(number)
            for number in self._places[user][one]:
                found.add(user, number)
        return found


class _Uses:
    """Who has a result as which operand, in dump order; who takes which element is apart."""

    def __init__(self) -> None:
        self._all: list[_Use] = []
        self._whole: list[_Use] = []
        self._elements: dict[int, list[_Use]] = {}

    def add(self, user: Instruction, number: int) -> None:
        """Add the next use."""
        use = len(self._all), (user, number)
        is_element = user.opcode == "get-tuple-element"
        part = self._elements.setdefault(user.tuple_index, []) if is_element else self._whole
        part.append(use)
        self._all.append(use)

    def of(self, index: ShapeIndex) -> Iterable[_Use]:
        """Return the uses of what stands at an index of the result, or somewhere below it."""
        return merge(self._whole, self._elements.get(index[0], ())) if index else self._all


def _enter(user: Instruction, number: int, index: ShapeIndex) -> Iterator[Position]:
    """Yield where a value is seen that an instruction takes as an operand."""
    opcode = user.opcode
    if opcode == "tuple":
        yield (user, (number, *index))
    elif opcode == "get-tuple-element":
        yield (user, index[1:])
    elif opcode == "while":
        for callee in (*user.callees("body"), *user.callees("condition")):
            yield from ((each, index) for each in callee.parameters)
        yield (user, index)
    elif opcode == "conditional":
        branches = list_branches(user)[number - 1 : number] if number else ()
        yield from ((each, index) for branch in branches for each in branch.parameters)
    elif opcode in {"call", "async-start"}:
        called = user.callee()
        given = called.parameters[number : number + 1] if called is not None else ()
        yield from ((each, index) for each in given)
    else:
        yield (user, index if opcode in _SAME_SHAPE else ())


def _leave(root: Instruction, caller: Instruction, index: ShapeIndex) -> Iterator[Position]:
    """Yield where the result of a computation is seen by what calls it."""
    if caller.opcode != "while":
        yield (caller, index if caller.opcode != "async-start" else ())
    elif root.computation in caller.callees("body"):
        yield (caller, index)
        yield from ((each, index) for each in root.computation.parameters)


class UseCounter:
    """Counts the operands through which instructions use each value.

    Follows HloValue::GetUses (xla/service/hlo_value.cc): tuple and domain only pass values
    on, unless they are what a computation returns; get-tuple-element and copy look at the
    top of a tuple alone, a returned get-tuple-element at its element too.
    """

    def __init__(self) -> None:
        self._known: dict[Instruction, _CountedUses] = {}

    def of(self, value: Value) -> int:
        """Return the uses of a value at all places where it is seen."""
        places = [(value.instruction, value.index), *value.positions]
        return sum(self._uses_of(one).at(index) for one, index in places)

    def _uses_of(self, instruction: Instruction) -> _CountedUses:
        found = self._known.get(instruction)
        if found is not None:
            return found
        found = self._known[instruction] = _CountedUses()
        for user in instruction.users:
            if user.opcode in USES_NOTHING and not user.is_root:
                continue
            times = user.operands.count(instruction)
            found.top += times
            if user.opcode == "get-tuple-element":
                if user.is_root:
                    found.returned[user.tuple_index] = 1
            elif user.opcode != "copy":
                found.nested += times
        return found


class _CountedUses(Struct):
    """Operands that look at the top of a result, at all that it holds, at an element returned."""

    top: int = 0
    nested: int = 0
    returned: dict[int, int] = field(default_factory=dict)

    def at(self, index: ShapeIndex) -> int:
        """Return the uses of what stands at an index of the result."""
        return self.nested + self.returned.get(index[0], 0) if index else self.top
