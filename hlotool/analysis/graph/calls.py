"""All calls of a module, in both directions, and an order of its computations, callees first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct

from hlotool.errors import ParseError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import MAY_CALL

_BRANCH_KEYS: Final = ("true_computation", "false_computation", "branch_computations")

Callees: TypeAlias = Mapping[Instruction, tuple[Computation, ...]]


class CallGraph(Struct, frozen=True):
    """All calls of a module. `callees_first` holds every computation, callers behind callees.

    `callees` is keyed by the instructions that name computations, `below` by the computations
    that these stand in, with all that they name in the order of the text; others are absent.
    """

    callees_first: tuple[Computation, ...]
    callees: Callees
    below: Mapping[Computation, Sequence[Computation]]

    def called_by(self, computation: Computation) -> Sequence[Computation]:
        """Return the computations that one calls; what it calls twice is there twice."""
        return self.below.get(computation, ())

    def list_callers(self) -> dict[Computation, list[Instruction]]:
        """Return the instructions that name each computation; the others are absent."""
        return _invert(self.callees)


def read_call_graph(module: Module) -> CallGraph:
    """Read which computations each instruction names, and order the computations by it.

    Raises ParseError when a computation calls itself, which XLA forbids.
    """
    callees = _read_callees(module, MAY_CALL)
    below: dict[Computation, list[Computation]] = {}
    for instruction, called in callees.items():
        below.setdefault(instruction.computation, []).extend(called)
    return CallGraph(_order(module, below), callees, below)


def refuse_recursion(caller: Instruction, callee: Computation) -> NoReturn:
    """Raise ParseError at an instruction that calls a computation from within."""
    raise ParseError(
        f"the computation {callee.name!r} calls itself, directly or through others",
        caller.module.source,
        caller.start - 1,
        caller.start,
    )


def list_callers(module: Module, opcodes: Collection[str]) -> dict[Computation, list[Instruction]]:
    """Return the instructions of some opcodes that name each computation, in dump order.

    A computation that calls itself is in it like any other.
    """
    return _invert(_read_callees(module, opcodes))


def list_branches(conditional: Instruction) -> tuple[Computation, ...]:
    """Return the branches of a conditional, in whichever way they are named."""
    true, false, listed = map(conditional.callees, _BRANCH_KEYS)
    return listed or (*true, *false)


def reach(
    starts: Iterable[Computation], following: Callable[[Computation], Iterable[Computation]]
) -> list[Computation]:
    """Return the starts and all that follows from them, directly or not, as first met."""
    met = dict.fromkeys(starts)
    pending = list(met)
    while pending:
        for one in following(pending.pop()):
            if one not in met:
                met[one] = None
                pending.append(one)
    return list(met)


def _read_callees(module: Module, opcodes: Collection[str]) -> Callees:
    return {
        instruction: called
        for computation in module.computations.values()
        for instruction in computation.instructions
        if instruction.opcode in opcodes and (called := instruction.called_computations())
    }


def _invert(callees: Callees) -> dict[Computation, list[Instruction]]:
    callers: dict[Computation, list[Instruction]] = {}
    for caller, called in callees.items():
        for callee in called:
            callers.setdefault(callee, []).append(caller)
    return callers


def _order(
    module: Module, below: Mapping[Computation, list[Computation]]
) -> tuple[Computation, ...]:
    """Order computations depth-first without recursion; dumps mostly have this order already."""
    order: dict[Computation, None] = {}
    for start in module.computations.values():
        path = {start: iter(below.get(start, ()))} if start not in order else {}
        while path:
            computation, pending = next(reversed(path.items()))
            callee = next((one for one in pending if one not in order), None)
            if callee is None:
                path.popitem()
                order[computation] = None
            elif callee in path:
                calls = computation.instructions
                closing = next(one for one in calls if callee in one.called_computations())
                refuse_recursion(closing, callee)
            else:
                path[callee] = iter(below.get(callee, ()))
    return tuple(order)
