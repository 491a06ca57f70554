"""The shapes of what works element by element."""

from __future__ import annotations

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Shape
from hlotool.parse.inference.operands import (
    Dimension,
    array_of,
    dimensions_of,
    fail,
    make_array,
    with_dtype,
)
from hlotool.parse.inference.types import COMPLEX, REAL, common_type


def infer_unary(instruction: Instruction) -> Shape:
    """Return the operand's shape."""
    return array_of(instruction, 0)


def infer_real(instruction: Instruction) -> Shape:
    """Return the shape of `abs`, `real` or `imag`: complex numbers become real ones."""
    operand = array_of(instruction, 0)
    return with_dtype(operand, REAL.get(operand.dtype, operand.dtype))


def infer_is_finite(instruction: Instruction) -> Shape:
    """Return the operand's shape with truth values."""
    return with_dtype(array_of(instruction, 0), "pred")


def infer_binary(instruction: Instruction) -> ArrayShape:
    """Return the shape that both operands fit; a scalar and a dimension of 1 are repeated."""
    left, right = array_of(instruction, 0), array_of(instruction, 1)
    dtype = common_type(instruction, left, right)
    if bool(left.dims) != bool(right.dims):
        return make_array(dtype, dimensions_of(left if left.dims else right))
    return _join(instruction, dtype, left, right)


def infer_compare(instruction: Instruction) -> Shape:
    """Return the shape of a binary operation with truth values."""
    return with_dtype(infer_binary(instruction), "pred")


def infer_complex(instruction: Instruction) -> Shape:
    """Return the shape of a binary operation with complex numbers."""
    joined = infer_binary(instruction)
    if joined.dtype not in COMPLEX:
        fail(instruction, f"no complex number has parts of type {joined.dtype}")
    return with_dtype(joined, COMPLEX[joined.dtype])


def infer_clamp(instruction: Instruction) -> Shape:
    """Return the shape of the middle operand; the bounds are scalars, or like it."""
    low, operand, high = (array_of(instruction, number) for number in range(3))
    for bound in (low, high):
        if bound.dims:
            _expect_alike(instruction, bound, operand)
    return operand


def infer_select(instruction: Instruction) -> Shape:
    """Return the shape of both choices, in the layout of the first operand that is no scalar."""
    chosen, yes, no = (array_of(instruction, number) for number in range(3))
    dtype = common_type(instruction, yes, no)
    _expect_alike(instruction, yes, no)
    joined = _join(instruction, dtype, yes, no)
    if not chosen.dims:
        return joined
    _expect_alike(instruction, chosen, joined)
    return _join(instruction, dtype, chosen, joined)


def _expect_alike(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> None:
    """Refuse shapes of other sizes; one without bound is like any."""
    if len(one.dims) != len(other.dims) or any(
        size != others and UNBOUNDED not in {size, others}
        for size, others in zip(one.dims, other.dims, strict=True)
    ):
        fail(instruction, f"{one} and {other} differ in size")


def _join(instruction: Instruction, dtype: str, one: ArrayShape, other: ArrayShape) -> ArrayShape:
    """Return the shape of both, in the layout of the first unless that is repeated."""
    if len(one.dims) != len(other.dims):
        fail(instruction, f"{one} and {other} differ in rank")
    joined: list[Dimension] = []
    for dimension, others in zip(dimensions_of(one), dimensions_of(other), strict=True):
        both = _join_dimension(dimension, others)
        if both is None:
            fail(instruction, f"{one} and {other} differ in size")
        joined.append(both)
    return make_array(dtype, joined, one.layout if one.dims == other.dims else None)


def _join_dimension(one: Dimension, other: Dimension) -> Dimension | None:
    """Return the size of both, None if they differ.

    Any size is better known than none, and a 1 is repeated as often as the other one says.
    """
    if one[0] == other[0]:
        return one[0], one[1] or other[1]
    for weak in (UNBOUNDED, 1):
        if one[0] == weak:
            return other
        if other[0] == weak:
            return one
    return None
