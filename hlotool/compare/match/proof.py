"""A proof that two programs compute the same, whatever functions they are cut into.

Values are numbered with all calls inlined: equal numbers are equal expressions of equal arguments.
Tuples are looked through, and what nothing needs is left out. Loops, branches and reducers are
functions of their own, equal where their results are. Names, metadata and the order of instructions
do not count. Of a program that acts on the world outside, or draws numbers of its own, nothing is
proven, nor where its calls multiply beyond any bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from hlotool.compare.match.comparable import agree_terms
from hlotool.compare.match.signature import Signatures
from hlotool.hlo import Computation, Instruction
from hlotool.program.program import Program

_MOST: Final = 2_000_000  # instructions looked at
_DEEPEST: Final = 48  # calls in calls
_ACTING: Final = {"infeed", "outfeed", "send", "recv", "rng", "rng-get-and-update-state"}
_EFFECT: Final = "custom_call_has_side_effect"
_SHARDING: Final = ("xla.sdy.", "Sharding")  # calls that say how a value is sharded


def _acts(program: Program) -> bool:
    """Say whether a program does more than to return a result."""
    return any(
        one.opcode in _ACTING
        or (_EFFECT in one.attributes and not one.custom_call_target.startswith(_SHARDING))
        for one in program.expect_module().instructions()
    )


class _TooMuch(Exception):  # noqa: N818  (nothing is wrong)
    """Raised where a program would take too long to look at."""


def compute_the_same(old: Program, new: Program) -> bool:
    """Say whether two programs are proven to compute the same; false where that is not known."""
    if _acts(old) or _acts(new):
        return False
    signatures = Signatures(agree_terms(old.expect_module(), new.expect_module()))
    try:
        return _Values(signatures).of_entry(old) == _Values(signatures).of_entry(new)
    except _TooMuch:
        return False


class _Values:
    """The values of one program; both programs take their numbers from one table."""

    def __init__(self, signatures: Signatures) -> None:
        self._signatures = signatures
        self._number = signatures.table.number
        self._parts: dict[int, Sequence[int]] = {}  # of tuples
        self._known: dict[tuple[Computation, Sequence[int]], int] = {}
        self._functions: dict[Computation, int] = {}
        self._count = 0

    def of_entry(self, program: Program) -> Hashable:
        """Return what is equal for programs that compute the same."""
        entry = program.expect_module().entry
        given = [self._number((one.parameter_number, self._sign(one))) for one in entry.parameters]
        sharding = entry.root.attributes.get("sharding")
        return self._run(entry, given, 0), self._signatures.shape(entry.root.shape), sharding, given

    def _sign(self, one: Instruction, callees: tuple[int, ...] = ()) -> int:
        return self._signatures.exact(one, callees)

    def _run(self, computation: Computation, given: Sequence[int], depth: int) -> int:
        """Return the number of a computation's result for some arguments."""
        key = computation, tuple(given)
        if key in self._known:
            return self._known[key]
        self._count += len(computation.instructions)
        if self._count > _MOST or depth > _DEEPEST:
            raise _TooMuch
        found: dict[Instruction, int] = {}
        for one in computation.instructions:
            found[one] = self._value(one, [found[each] for each in one.operands], given, depth)
        self._known[key] = found[computation.root]
        return found[computation.root]

    def _value(
        self, one: Instruction, operands: list[int], given: Sequence[int], depth: int
    ) -> int:
        opcode = one.opcode
        if opcode == "parameter" and one.parameter_number < len(given):
            return given[one.parameter_number]
        if opcode == "get-tuple-element":
            parts = self._parts.get(operands[0], ())
            return (
                parts[one.tuple_index]
                if one.tuple_index < len(parts)
                else self._number(("element", operands[0], one.tuple_index))
            )
        if opcode == "tuple":
            number = self._number(("tuple", *operands))
            self._parts[number] = operands
            return number
        called = one.called_computations()
        if opcode == "call" and len(called) == 1:
            return self._run(called[0], operands, depth + 1)
        functions = tuple(self._function(each, depth) for each in called)
        return self._number(("value", self._sign(one, functions), *operands))

    def _function(self, computation: Computation, depth: int) -> int:
        """Return the number of what a computation makes of any arguments."""
        found = self._functions.get(computation)
        if found is None:
            shapes = [self._signatures.shape(one.shape) for one in computation.parameters]
            given = [self._number(("given", place, one)) for place, one in enumerate(shapes)]
            result = self._run(computation, given, depth + 1)
            found = self._functions[computation] = self._number(("function", *given, result))
        return found
