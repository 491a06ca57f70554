"""The shapes of what moves elements, or hands values on."""

from __future__ import annotations

from msgspec.structs import replace

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Layout, Shape, TupleShape
from hlotool.parse.inference.operands import (
    array_of,
    arrays_of,
    dimensions_of,
    expect_dimension,
    fail,
    make_array,
    plus,
    shape_of,
)
from hlotool.parse.inference.types import common_type


def infer_same(instruction: Instruction) -> Shape:
    """Return the shape of the first operand, whatever it is."""
    return shape_of(instruction, 0)


def infer_tuple(instruction: Instruction) -> Shape:
    """Return the tuple of the operands' shapes."""
    return TupleShape(tuple(one.shape for one in instruction.operands))


def infer_element(instruction: Instruction) -> Shape:
    """Return the shape of the element `index=` of a tuple."""
    operand = shape_of(instruction, 0)
    if isinstance(operand, ArrayShape):
        fail(instruction, f"{operand} is no tuple")
    return operand.elements[instruction.tuple_index]


def infer_token(_: Instruction) -> Shape:
    """Return a token."""
    return ArrayShape("token", ())


def infer_device_number(_: Instruction) -> Shape:
    """Return an unsigned number."""
    return ArrayShape("u32", ())


def infer_broadcast(instruction: Instruction) -> Shape:
    """Return the operand's dimensions behind new ones of the sizes in `dimensions=`.

    That is not what broadcast means by `dimensions=` but how XLA's parser reads it where the
    shape is missing (ShapeInference::InferBroadcastShape takes sizes). A scalar stays one.
    """
    operand = array_of(instruction, 0)
    sizes = instruction.integers("dimensions")
    if operand.dims and "dimensions" not in instruction.attributes:
        fail(instruction, "it has no dimensions=")
    if any(size < 0 for size in sizes):
        fail(instruction, "a size in dimensions= is negative")
    added = [(size, False) for size in sizes]
    return make_array(operand.dtype, [*added, *dimensions_of(operand)])


def infer_transpose(instruction: Instruction) -> Shape:
    """Return the operand's dimensions in the order of `dimensions=`; they stay where they lie."""
    operand = array_of(instruction, 0)
    order = instruction.integers("dimensions")
    if sorted(order) != list(range(len(operand.dims))):
        fail(instruction, f"dimensions= is no order of the dimensions of {operand}")
    dimensions = dimensions_of(operand)
    layout = operand.layout or Layout(tuple(reversed(range(len(order)))))
    minor_to_major = tuple(order.index(number) for number in layout.minor_to_major)
    return make_array(
        operand.dtype,
        [dimensions[number] for number in order],
        replace(layout, minor_to_major=minor_to_major),
    )


def infer_concatenate(instruction: Instruction) -> Shape:
    """Return the operands' dimensions, of which one is the sum of theirs."""
    arrays = arrays_of(instruction)
    axes = instruction.integers("dimensions")
    if len(axes) != 1:
        fail(instruction, "dimensions= is not one number")
    axis = expect_dimension(instruction, arrays[0], axes[0])
    joined, dtype = dimensions_of(arrays[0]), arrays[0].dtype
    for array in arrays[1:]:
        dtype = common_type(instruction, ArrayShape(dtype, ()), array)
        if len(array.dims) != len(joined):
            fail(instruction, f"{arrays[0]} and {array} differ in rank")
        for number, (size, is_dynamic) in enumerate(dimensions_of(array)):
            before, was_dynamic = joined[number]
            if UNBOUNDED in {before, size}:
                known = UNBOUNDED if number == axis else max(before, size)
            elif number == axis:
                known = before + size
            elif before == size:
                known = size
            else:
                fail(instruction, f"{arrays[0]} and {array} differ beside dimension {axis}")
            joined[number] = known, is_dynamic or was_dynamic
    return make_array(dtype, joined)


def infer_pad(instruction: Instruction) -> Shape:
    """Return the operand's dimensions, padded at the edges and between the elements."""
    operand, value = array_of(instruction, 0), array_of(instruction, 1)
    dtype = common_type(instruction, operand, value)
    padded = []
    for (size, is_dynamic), pad in zip(dimensions_of(operand), instruction.padding(), strict=True):
        between = pad.interior * max(size - 1, 0)
        padded.append((plus(size, pad.low + pad.high + between), is_dynamic))
        if size != UNBOUNDED and padded[-1][0] < 0:
            fail(instruction, "padding= removes more than there is")
    return make_array(dtype, padded)


def infer_gather(instruction: Instruction) -> Shape:
    """Return the dimensions of the indices, and among them those of the slices.

    `index_vector_dim=` is no dimension of the result; `offset_dims=` says where those of a
    slice stand that are not in `collapsed_slice_dims=` or `operand_batching_dims=`.
    """
    operand, indices = array_of(instruction, 0), array_of(instruction, 1)
    sizes = instruction.integers("slice_sizes")
    if len(sizes) != len(operand.dims):
        fail(instruction, f"slice_sizes= does not fit {operand}")
    if len(instruction.integers("index_vector_dim")) != 1:
        fail(instruction, "it has no index_vector_dim=")
    (vector,) = instruction.integers("index_vector_dim")
    dropped = {
        *instruction.integers("collapsed_slice_dims"),
        *instruction.integers("operand_batching_dims"),
    }
    kept = [
        (size, number in operand.dynamic and size == operand.dims[number])
        for number, size in enumerate(sizes)
        if number not in dropped
    ]
    result = [one for number, one in enumerate(dimensions_of(indices)) if number != vector]
    offsets = instruction.integers("offset_dims")
    if len(offsets) != len(kept) or list(offsets) != sorted(set(offsets)):
        fail(instruction, "offset_dims= does not fit slice_sizes=")
    for offset, one in zip(offsets, kept, strict=True):
        if not 0 <= offset <= len(result):
            fail(instruction, f"offset_dims= names dimension {offset}, which is too far")
        result.insert(offset, one)
    return make_array(operand.dtype, result)


def infer_top_k(instruction: Instruction) -> Shape:
    """Return the `k` largest along the last dimension, and their places."""
    operand = array_of(instruction, 0)
    count = instruction.module.reader.expect_number(instruction, "k")
    if not operand.dims or not 0 <= count <= operand.dims[-1]:
        fail(instruction, f"{operand} has not {count} elements in a row")
    dimensions = [*dimensions_of(operand)[:-1], (count, False)]
    return TupleShape((make_array(operand.dtype, dimensions), make_array("s32", dimensions)))


def infer_dimension_size(_: Instruction) -> Shape:
    """Return a number."""
    return ArrayShape("s32", ())


def infer_set_dimension_size(instruction: Instruction) -> Shape:
    """Return the operand's shape, one dimension of it made dynamic."""
    operand = array_of(instruction, 0)
    numbers = instruction.integers("dimensions")
    if len(numbers) != 1:
        fail(instruction, "dimensions= is not one number")
    expect_dimension(instruction, operand, numbers[0])
    return replace(operand, dynamic=tuple(sorted({*operand.dynamic, *numbers})))
