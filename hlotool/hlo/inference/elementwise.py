"""The shapes of what works element by element.

The shapes of what calls a computation.
"""

from __future__ import annotations

from hlotool.hlo.inference.operands import (
    COMPLEX,
    REAL,
    Dimension,
    array_of,
    arrays_of,
    callee_result,
    common_type,
    dimensions_of,
    expect_dimension,
    fail,
    make_array,
    shape_of,
    with_dtype,
)
from hlotool.hlo.module import Instruction
from hlotool.hlo.shape import UNBOUNDED, ArrayShape, Layout, Shape, TupleShape


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


def infer_call(instruction: Instruction) -> Shape:
    """Return what the computation in `to_apply=` returns."""
    return callee_result(instruction, "to_apply")


def infer_fusion(instruction: Instruction) -> Shape:
    """Return what the computation in `calls=` returns. XLA's parser insists on a shape here."""
    return callee_result(instruction, "calls")


def infer_while(instruction: Instruction) -> Shape:
    """Return the shape of the state, which no iteration changes."""
    return shape_of(instruction, 0)


def infer_conditional(instruction: Instruction) -> Shape:
    """Return what the first branch returns, as all of them do."""
    has_two = "true_computation" in instruction.attributes
    return callee_result(instruction, "true_computation" if has_two else "branch_computations")


def infer_map(instruction: Instruction) -> Shape:
    """Return the dimensions of the operands with elements of what `to_apply=` returns."""
    operand = array_of(instruction, 0)
    element = callee_result(instruction, "to_apply")
    if isinstance(element, TupleShape):
        fail(instruction, "to_apply= returns a tuple")
    return ArrayShape(element.dtype, operand.dims, None, operand.dynamic)


def infer_reduce(instruction: Instruction) -> Shape:
    """Return the operands without the dimensions in `dimensions=`, with elements of the result.

    Half of the operands are values to begin with. Of several reductions the result is a tuple.
    """
    count, rest = divmod(len(instruction.operands), 2)
    if rest or not count:
        fail(instruction, "it needs an initial value for each array")
    result = callee_result(instruction, "to_apply")
    elements = result.elements if isinstance(result, TupleShape) else (result,)
    if len(elements) != count:
        fail(instruction, "to_apply= returns not one element for each array")
    reduced = [
        _reduce(instruction, operand, element)
        for operand, element in zip(arrays_of(instruction)[:count], elements, strict=True)
    ]
    return TupleShape(tuple(reduced)) if isinstance(result, TupleShape) else reduced[0]


def _reduce(instruction: Instruction, operand: ArrayShape, element: Shape) -> Shape:
    if isinstance(element, TupleShape):
        fail(instruction, "to_apply= returns a tuple in a tuple")
    gone = {
        expect_dimension(instruction, operand, number)
        for number in instruction.integers("dimensions")
    }
    kept = [number for number in range(len(operand.dims)) if number not in gone]
    return ArrayShape(
        element.dtype,
        tuple(operand.dims[number] for number in kept),
        None,
        tuple(place for place, number in enumerate(kept) if number in operand.dynamic),
    )


def infer_sort(instruction: Instruction) -> Shape:
    """Return the shape of the operand, or the tuple of several."""
    return _one_or_tuple(arrays_of(instruction))


def infer_scatter(instruction: Instruction) -> Shape:
    """Return the shapes of the arrays written to, which stand before indices and updates."""
    count, rest = divmod(len(instruction.operands), 2)
    if not rest or not count:
        fail(instruction, "it needs indices, and updates for each array")
    return _one_or_tuple(arrays_of(instruction)[:count])


def _one_or_tuple(shapes: list[ArrayShape]) -> Shape:
    return shapes[0] if len(shapes) == 1 else TupleShape(tuple(shapes))


def infer_scan(instruction: Instruction) -> Shape:
    """Return the results of all steps along the scanned dimension, then the last carries.

    `num_carries=` says how many of the operands, and of what `to_apply=` returns, are carried.
    """
    carries = instruction.module.reader.expect_number(instruction, "num_carries")
    numbers = instruction.integers("dimensions")
    if len(numbers) != 1 or not 0 <= carries < len(instruction.operands):
        fail(instruction, "dimensions= is not one number, or all operands are carried")
    operand = array_of(instruction, 0)
    axis = expect_dimension(instruction, operand, numbers[0])
    result = callee_result(instruction, "to_apply")
    if isinstance(result, ArrayShape):
        return result if carries else _stack(instruction, result, axis, operand.dims[axis])
    steps = len(result.elements) - carries
    return TupleShape(
        tuple(
            _stack(instruction, one, axis, operand.dims[axis]) if place < steps else one
            for place, one in enumerate(result.elements)
        )
    )


def _stack(instruction: Instruction, shape: Shape, axis: int, size: int) -> Shape:
    """Insert a dimension, also into a stated layout: outside of the one it stands before."""
    if isinstance(shape, TupleShape) or axis > len(shape.dims):
        fail(instruction, f"{shape} cannot be stacked along dimension {axis}")

    def move(number: int) -> int:
        return number + (number >= axis)

    order = [move(number) for number in shape.layout.minor_to_major] if shape.layout else []
    if axis == len(shape.dims):
        order.insert(0, axis)
    elif order:
        order.insert(order.index(axis + 1) + 1, axis)
    return ArrayShape(
        shape.dtype,
        (*shape.dims[:axis], size, *shape.dims[axis:]),
        Layout(tuple(order)) if shape.layout else None,
        tuple(map(move, shape.dynamic)),
    )
