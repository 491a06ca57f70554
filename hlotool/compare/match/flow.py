"""What a value is, wherever the text computes it, and who computes with it.

A parameter of a computation that one fusion or call runs is that one's operand; the result of
a fusion or call is its computation's root; an element of a tuple is what was put there. So

    f = fusion(a, b), calls=body         body: p = parameter(0); ROOT n = negate(p)
    e = exponential(f)

says the same as `e = exponential(negate(a))`: e stands on n, and n on a.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from hlotool.analysis.graph.calls import CallGraph
from hlotool.hlo import Computation, Instruction

_WIDE: Final = 8  # operands from which their places are remembered


class Places:
    """The places of the operands of instructions that have many."""

    def __init__(self) -> None:
        self._number = cache(_number_operands)

    def of(self, operand: Instruction, user: Instruction) -> int:
        """Return the first place at which an operand stands."""
        is_wide = len(user.operands) > _WIDE
        return self._number(user)[operand] if is_wide else user.operands.index(operand)


def _number_operands(user: Instruction) -> dict[Instruction, int]:
    return {one: place for place, one in reversed([*enumerate(user.operands)])}


_FARTHEST: Final = 32  # steps to what a value is
CONTAINERS: Final = frozenset(("fusion", "call"))


class Flow:
    """Looks through fusions, calls and tuples of modules, one way and the other.

    `meanings` lists a value and what it is in truth, `users` what computes with a value.
    """

    def __init__(self, graphs: Iterable[CallGraph]) -> None:
        self._callers: dict[Computation, Instruction | None] = {}
        self._place = Places().of
        self.meanings = cache(self._list_meanings)
        self.users = cache(self._list_users)
        for graph in graphs:
            for caller, callees in graph.callees.items():
                for callee in callees:
                    is_only = callee not in self._callers and caller.opcode in CONTAINERS
                    self._callers[callee] = caller if is_only else None

    def caller(self, computation: Computation) -> Instruction | None:
        """Return the one fusion or call that runs a computation, None where there is none."""
        return self._callers.get(computation)

    def _list_meanings(self, one: Instruction) -> Sequence[Instruction]:
        """List a value and what it is in truth, each step nearer to where it is computed."""
        found = [one]
        while len(found) < _FARTHEST:
            step = self._behind(found[-1])
            if step is None:
                break
            found.append(step)
        return found

    def _list_users(self, one: Instruction) -> list[tuple[Instruction, int]]:
        """List what computes with a value, and at which place of its operands."""
        found, pending, seen = [], [one], {one}
        while pending:
            value = pending.pop()
            for user in value.users:
                passed = self._passed_on(user, value)
                if passed is None:
                    found.append((user, self._place(value, user)))
                    continue
                new = [each for each in passed if each not in seen]
                seen.update(new)
                pending.extend(new)
            caller = self._callers.get(value.computation) if value.is_root else None
            if caller is not None and caller not in seen:
                seen.add(caller)
                pending.append(caller)
        return found

    def _behind(self, one: Instruction) -> Instruction | None:
        """Return what a value is one step nearer to its making, None where it is made."""
        opcode = one.opcode
        if opcode == "parameter":
            caller = self._callers.get(one.computation)
            return _at(caller.operands, one.parameter_number) if caller else None
        if opcode in CONTAINERS:
            body = one.callee()
            return body.root if body and self._callers.get(body) is one else None
        if opcode == "get-tuple-element":
            whole = self.meanings(one.operands[0])[-1]
            return _at(whole.operands, one.tuple_index) if whole.opcode == "tuple" else None
        return None

    def _passed_on(self, user: Instruction, value: Instruction) -> list[Instruction] | None:
        """Return what stands for a value where a user only passes it on, None where it does not."""
        body = user.callee() if user.opcode in CONTAINERS else None
        is_result = user.opcode == "tuple" and user.is_root
        caller = self._callers.get(user.computation) if is_result else None
        is_entered = body is not None and self._callers.get(body) is user
        if not is_entered and caller is None:
            return None
        places = [place for place, one in enumerate(user.operands) if one is value]
        if body:
            return [body.parameters[place] for place in places if place < len(body.parameters)]
        users = caller.users if caller else ()
        elements = (one for one in users if one.opcode == "get-tuple-element")
        return [one for one in elements if one.tuple_index in places]


def _at(values: tuple[Instruction, ...], place: int) -> Instruction | None:
    """Return one of several; None where a text that fits nowhere has not as many."""
    return values[place] if place < len(values) else None
