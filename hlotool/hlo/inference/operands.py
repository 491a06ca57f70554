"""What does a rule ask of an instruction, and how does it say no?

Which element type has a result, given those of its operands?
"""

from __future__ import annotations

from typing import Final, NoReturn, TypeAlias

from hlotool.errors import ParseError
from hlotool.hlo.module import Instruction
from hlotool.hlo.shape import UNBOUNDED, ArrayShape, Layout, Shape
from hlotool.table.words import count_noun

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
        fail(instruction, f"it needs {count_noun(number + 1, 'operand')}")
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


# From less to more range and precision: a result of mixed operands has the later type
# (primitive_util::HigherPrecisionType, xla/primitive_util.h).
_INTEGERS: Final = (
    "pred", "u1", "s1", "u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16", "u32", "s32", "u64",
    "s64",
)  # fmt: skip
_FLOATS: Final = (
    "f4e2m1fn", "f6e2m3fn", "f8e3m4", "f6e3m2fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e4m3",
    "f8e4m3fn", "f8e5m2fnuz", "f8e5m2", "f16", "f8e8m0fnu", "bf16", "f32", "f64",
)  # fmt: skip
REAL: Final = {"c64": "f32", "c128": "f64"}
COMPLEX: Final = {"f32": "c64", "f64": "c128"}
_RANKS: Final = {dtype: rank for rank, dtype in enumerate((*_INTEGERS, *_FLOATS, *REAL))}


def higher_precision(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> str:
    """Return the type of a product: the one that holds the elements of both."""
    if one.dtype != other.dtype and not {one.dtype, other.dtype} <= _RANKS.keys():
        fail(instruction, f"{one} and {other} have no type in common")
    return max(one.dtype, other.dtype, key=lambda dtype: _RANKS.get(dtype, 0))


def common_type(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> str:
    """Return the type of what works by element: types agree, but for the precision of floats."""
    if one.dtype != other.dtype and not {one.dtype, other.dtype} <= set(_FLOATS):
        fail(instruction, f"the types of {one} and {other} differ")
    return higher_precision(instruction, one, other)
