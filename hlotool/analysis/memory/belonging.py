"""Was this buffer assignment made for this module?"""

from __future__ import annotations

from hlotool.errors import ParseError
from hlotool.ir.buffers import BufferAssignment, BufferValue
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.shape import Shape, TupleShape


def check_belonging(module: Module, assignment: BufferAssignment) -> None:
    """Raise ParseError at the first value whose instruction or shape the module does not have.

    Layouts are not compared: a text may be printed without. Names are unique in what a
    compiler dumps; where a hand-made text repeats one, any instruction of that name will do.
    """
    by_name: dict[str, list[Instruction]] = {}
    for instruction in module.instructions():
        by_name.setdefault(instruction.name, []).append(instruction)
    alike: set[tuple[int, int]] = set()  # shapes are one object a spelling: few pairs, met often
    for allocation in assignment.allocations:
        for value in allocation.values:
            found = by_name.get(value.instruction, [])
            shape = _subshape(found[0].shape, value) if found else None
            pair = id(shape), id(value.shape)
            if pair in alike:
                continue
            problem = _find_mismatch(value, found)
            if problem:
                _fail(assignment, module, value, problem)
            if len(found) == 1:
                alike.add(pair)


def _find_mismatch(value: BufferValue, instructions: list[Instruction]) -> str | None:
    """Return what is wrong with a value, None if an instruction can define it."""
    if not instructions:
        return f"the module has no instruction {value.instruction!r}"
    shapes = [_subshape(instruction.shape, value) for instruction in instructions]
    wanted = value.shape.without_layout()
    if any(shape is not None and shape.without_layout() == wanted for shape in shapes):
        return None
    if shapes[0] is None:
        return f"{value.instruction!r} of the module has no part {value.name!r}"
    return f"{value.name!r} is {value.shape} here, but {shapes[0]} in the module"


def _subshape(shape: Shape, value: BufferValue) -> Shape | None:
    for number in value.index or ():
        if not isinstance(shape, TupleShape) or number >= len(shape.elements):
            return None
        shape = shape.elements[number]
    return shape


def _fail(assignment: BufferAssignment, module: Module, value: BufferValue, problem: str) -> None:
    start = value.start + 1
    raise ParseError(
        f"this buffer assignment is not that of module {module.name!r} in {module.source.name}: "
        f"{problem}",
        assignment.source,
        start,
        start + len(f"value: <{value.number} {value.name}"),
        "both must come from one compilation; --module-text and --buffers name others",
    )
