"""What does a rule ask of an instruction, and how does it say no?"""

from __future__ import annotations

from typing import NoReturn, TypeAlias

from hlotool.errors import ParseError
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Layout, Shape

Dimension: TypeAlias = tuple[int, bool]  # its size or bound, and whether it is dynamic


def fail(instruction: Instruction, reason: str) -> NoReturn:
    """Refuse a text whose shape is missing, at the end of the operands."""
    end = instruction.start
    raise ParseError(
        f"the shape of {instruction.opcode} is missing, and cannot be inferred: {reason}",
        instruction.module.source,
        end - 1,
        end,
    )


def shape_of(instruction: Instruction, number: int) -> Shape:
    """Return the shape of one operand."""
    if number >= len(instruction.operands):
        fail(instruction, f"it needs {number + 1} operand{'s' if number else ''}")
    return instruction.operands[number].shape


def array_of(instruction: Instruction, number: int) -> ArrayShape:
    """Return the shape of an operand that must be an array."""
    shape = shape_of(instruction, number)
    if not isinstance(shape, ArrayShape):
        fail(instruction, f"operand {number} is a tuple")
    return shape


def arrays_of(instruction: Instruction) -> list[ArrayShape]:
    """Return the shapes of all operands, which must be arrays; there is at least one."""
    return [array_of(instruction, number) for number in range(max(1, len(instruction.operands)))]


def expect_dimension(instruction: Instruction, shape: ArrayShape, number: int) -> int:
    """Return the number of a dimension that the array has."""
    if not 0 <= number < len(shape.dims):
        fail(instruction, f"{shape} has no dimension {number}")
    return number


def callee_result(instruction: Instruction, key: str, number: int = 0) -> Shape:
    """Return the shape of the root of a computation, which stands above."""
    if key not in instruction.attributes:
        fail(instruction, f"it has no {key}=")
    try:
        callees = instruction.callees(key)
    except ParseError:
        fail(instruction, f"{key}= names no computation that is defined above")
    if number >= len(callees):
        fail(instruction, f"{key}= names no computation")
    return callees[number].root.shape


def dimensions_of(shape: ArrayShape) -> list[Dimension]:
    """Return the dimensions with their sizes."""
    return [(size, number in shape.dynamic) for number, size in enumerate(shape.dims)]


def make_array(dtype: str, dimensions: list[Dimension], layout: Layout | None = None) -> ArrayShape:
    """Make an array; without a layout it has XLA's default one, as where the text has none."""
    return ArrayShape(
        dtype,
        tuple(size for size, _ in dimensions),
        layout,
        tuple(number for number, (_, is_dynamic) in enumerate(dimensions) if is_dynamic),
    )


def with_dtype(shape: ArrayShape, dtype: str) -> ArrayShape:
    """Return an array of other elements in the same layout."""
    return ArrayShape(dtype, shape.dims, shape.layout, shape.dynamic)


def plus(size: int, more: int) -> int:
    """Add to a size, which may be unbounded."""
    return UNBOUNDED if size == UNBOUNDED else size + more
