"""Checks of a buffer assignment against the module: was it made for it, and is it whole?

`check_belonging` refuses the assignment of another compilation, `check_placed` one that is cut
short: XLA assigns a buffer to every value of the computations that run
(BufferAssigner::AssignBuffersForComputations, xla/service/buffer_assignment.cc).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.schedule import find_problem, flatten_schedule
from hlotool.errors import ParseError
from hlotool.hlo import ArrayShape, Instruction, Module, Shape, ShapeIndex, TupleShape
from hlotool.hlo.buffers import BufferAssignment, BufferValue, format_position
from hlotool.hlo.opcodes import ASYNC_DONES, ASYNC_STARTS, PASSES_ON
from hlotool.hlo.shape import find_part
from hlotool.table.sums import group_by

# What hands on arrays, but makes the table of its tuple.
_TABLES: Final = ASYNC_STARTS | {"conditional", "tuple", "while"}
# What makes all elements of its tuple but one: that is its operand.
_OPERAND_ELEMENT: Final[Mapping[str, int]] = {
    "all-gather-start": 0,
    "collective-permute-start": 0,
    "copy-start": 1,
}


def check_belonging(module: Module, assignment: BufferAssignment) -> None:
    """Raise ParseError at the first value whose instruction or shape the module does not have.

    Layouts are not compared: a text may be printed without. Names are unique in what a
    compiler dumps; where a hand-made text repeats one, any instruction of that name will do.
    """
    by_name = group_by(module.instructions(), attrgetter("name"))
    alike: set[tuple[int, int]] = set()  # shapes are one object a spelling: few pairs, met often
    for allocation in assignment.allocations:
        for value in allocation.values:
            found = by_name.get(value.instruction, [])
            shape = find_part(found[0].shape, value.index or ()) if found else None
            pair = id(shape), id(value.shape)
            if pair in alike:
                continue
            if problem := _find_mismatch(value, found):
                start = value.start + 1
                raise ParseError(
                    f"this buffer assignment is not that of module {module.name!r} in "
                    f"{module.source.name}: {problem}",
                    assignment.source,
                    start,
                    start + len(f"value: <{value.number} {value.name}"),
                    "both must come from one compilation; choose others with "
                    "--module-text and --buffers",
                )
            if len(found) == 1:
                alike.add(pair)


def _find_mismatch(value: BufferValue, instructions: list[Instruction]) -> str | None:
    """Return what is wrong with a value, None if an instruction can define it."""
    if not instructions:
        return f"the module has no instruction {value.instruction!r}"
    shapes = [find_part(one.shape, value.index or ()) for one in instructions]
    wanted = value.shape.without_layout()
    if any(shape is not None and shape.without_layout() == wanted for shape in shapes):
        return None
    if shapes[0] is None:
        return f"{value.instruction!r} of the module has no part {value.name!r}"
    return f"{value.name!r} is {value.shape} here, but {shapes[0]} in the module"


class Unplaced(Struct, frozen=True):
    """A value that no allocation holds; `is_assigned` says whether others of its space are held."""

    instruction: Instruction
    index: ShapeIndex
    shape: Shape
    is_assigned: bool


def check_placed(module: Module, assignment: BufferAssignment) -> None:
    """Raise ParseError at the end of an assignment that has no place for an array of the module.

    Only where the assignment states no total of its own, by which it was held already.
    """
    if (found := find_unplaced(module, assignment)) is None or not found.is_assigned:
        return
    is_tuple = isinstance(found.instruction.shape, TupleShape)
    name = format_position(found.instruction.name, found.index if is_tuple else None)
    shape = found.shape.without_layout()
    starts = [one.start for one in assignment.allocations]
    starts += [value.start for one in assignment.allocations[-1:] for value in one.values[-1:]]
    start = starts[-1] if starts else 0
    end = assignment.source.text.find("\n", start)
    raise ParseError(
        f"no allocation holds {name!r}, {shape}, of module {module.name!r} in {module.source.name}",
        assignment.source,
        start,
        end if end >= 0 else len(assignment.source.text),
        "the file may be cut short or belong to another module",
    )


def find_unplaced(module: Module, assignment: BufferAssignment) -> Unplaced | None:
    """Return the first array without a place, first of a memory space that has allocations.

    None where the assignment has its own total, or the module no schedule.
    """
    if assignment.used is not None or find_problem(module):
        return None
    keys = {value.key for one in assignment.allocations for value in one.values}
    colors = {one.color for one in assignment.allocations}
    other: Unplaced | None = None
    for instruction in flatten_schedule(module).sequence:
        for index, shape in _defined(instruction):
            # Where a space has no allocation at all, it may be one that is not assigned here: an
            # array of a space that has some tells more.
            if (instruction.name, index) in keys:
                continue
            color = shape.memory_space if isinstance(shape, ArrayShape) else 0
            found = Unplaced(instruction, index, shape, color in colors)
            if found.is_assigned:
                return found
            other = other or found
    return other


def _defined(instruction: Instruction) -> Iterator[tuple[ShapeIndex, Shape]]:
    """Yield the arrays that an instruction makes for certain, and the tables of their tuples."""
    opcode, shape = instruction.opcode, instruction.shape
    is_entry = instruction.computation.is_entry
    if opcode in _TABLES and isinstance(shape, TupleShape):
        yield (), shape
        handed_on = _OPERAND_ELEMENT.get(opcode)
        for number, element in enumerate(shape.elements) if handed_on is not None else ():
            if number != handed_on:
                yield from _walk(element, (number,))
    elif opcode == "parameter":
        yield from _walk(shape, ()) if is_entry else ()
    elif opcode == "custom-call" and "output_to_operand_aliasing" in instruction.attributes:
        return  # a call to a kernel that may hand on what it was given
    elif opcode not in PASSES_ON and opcode not in ASYNC_DONES:
        yield from _walk(shape, ())


def _walk(shape: Shape, index: ShapeIndex) -> Iterator[tuple[ShapeIndex, Shape]]:
    """Yield all arrays and tuples of a shape."""
    yield index, shape
    if isinstance(shape, TupleShape):
        for number, element in enumerate(shape.elements):
            yield from _walk(element, (*index, number))
