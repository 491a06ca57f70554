"""In which order can computations be worked through so that callees come first?"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hlotool.errors import InputError
from hlotool.ir.module import Computation, Instruction, Module
from hlotool.ir.opcodes import MAY_CALL


class CallGraph(Struct, frozen=True):
    """All calls of a module. `callees_first` holds every computation, callers behind callees.

    `callees` is keyed by the instructions that name computations; others are absent.
    """

    callees_first: tuple[Computation, ...]
    callees: Mapping[Instruction, tuple[Computation, ...]]


def read_call_graph(module: Module) -> CallGraph:
    """Read which computations each instruction names, and order the computations by it.

    Raises InputError when a computation calls itself, which XLA forbids.
    """
    callees = {
        instruction: called
        for computation in module.computations.values()
        for instruction in computation.instructions
        if instruction.opcode in MAY_CALL and (called := instruction.called_computations())
    }
    below: dict[Computation, list[Computation]] = {}
    for instruction, called in callees.items():
        below.setdefault(instruction.computation, []).extend(called)
    return CallGraph(_order(module, below), callees)


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
                raise InputError(
                    f"the computation {callee.name!r} calls itself, directly or through others"
                )
            else:
                path[callee] = iter(below.get(callee, ()))
    return tuple(order)
