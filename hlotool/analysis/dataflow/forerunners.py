"""Which values was an output before it was moved and updated?

Followed back are tuples, bitcasts, calls, loops and conditionals, updates in place, and, where
shape and layout stay as they are, copies and what computes element by element, in fusions too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hlotool.analysis.dataflow.in_place import must_share
from hlotool.ir.async_chain import bound_operands
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ELEMENTWISE
from hlotool.ir.values import ShapeIndex

_Place: TypeAlias = tuple[Instruction, ShapeIndex]
_PASSING: Final = frozenset(("add-dependency", "bitcast", "domain", "opt-barrier"))
_CALLING: Final = frozenset(("call", "conditional", "while"))
_UPDATING: Final = ELEMENTWISE | {"copy", "fusion"}


def find_forerunners(root: Instruction, index: ShapeIndex) -> set[Instruction]:
    """Return the instructions whose values become what a root has at an index."""
    callers: dict[Computation, Instruction] = {}
    seen: set[_Place] = set()
    pending: list[_Place] = [(root, index)]
    while pending:
        place = pending.pop()
        if place not in seen:
            seen.add(place)
            pending += _follow_back(*place, callers)
    return {instruction for instruction, _ in seen}


def _follow_back(
    one: Instruction, index: ShapeIndex, callers: dict[Computation, Instruction]
) -> Iterator[_Place]:
    """Yield where the value at an index of an instruction comes from; note whom it calls."""
    opcode = one.opcode
    if opcode == "parameter":
        yield from _follow_parameter(one, index, callers.get(one.computation))
    elif opcode in _CALLING:
        bodies = one.callees("body") if opcode == "while" else one.called_computations()
        for body in bodies:
            callers[body] = one
            yield body.root, index
        if opcode == "while" and one.operands:
            yield one.operands[0], index
    elif one.operands:
        yield from _follow_operands(one, index)


def _follow_operands(one: Instruction, index: ShapeIndex) -> Iterator[_Place]:
    """Yield which operands, and where in them, become the value at an index."""
    opcode, operands = one.opcode, one.operands
    if opcode == "tuple":
        if index and index[0] < len(operands):
            yield operands[index[0]], index[1:]
    elif opcode == "get-tuple-element":
        yield operands[0], (one.tuple_index, *index)
    elif opcode in _PASSING:
        yield operands[0], index
    elif opcode == "copy-done":
        start = operands[0]
        yield start, ()
        yield from ((source, ()) for source in start.operands if source.shape == one.shape)
    else:
        for pair in must_share(one):
            if pair.output == index and pair.operand < len(operands):
                yield operands[pair.operand], pair.operand_index
        if opcode in _UPDATING:
            made = dict(one.shape.leaves_with_index()).get(index)
            yield from ((operand, ()) for operand in operands if operand.shape == made)


def _follow_parameter(
    parameter: Instruction, index: ShapeIndex, caller: Instruction | None
) -> Iterator[_Place]:
    """Yield what a parameter is given: by a loop its beginning, and the result of a round."""
    if caller is None:
        return
    number, given = parameter.parameter_number, bound_operands(caller)
    if caller.opcode == "while":
        yield parameter.computation.root, index
    elif caller.opcode == "conditional":
        number = 1 + caller.called_computations().index(parameter.computation)
    if number < len(given):
        yield given[number], index
