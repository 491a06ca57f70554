"""The shapes of what moves elements, or hands values on.

The shapes of transforms, solvers and normalizations.

The shapes of what slides a window over an array.

The shapes of products of matrices and of convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

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
    higher_precision,
    make_array,
    plus,
    shape_of,
    with_dtype,
)
from hlotool.hlo.module import Instruction
from hlotool.hlo.shape import UNBOUNDED, ArrayShape, Layout, Shape, TupleShape
from hlotool.hlo.values import DotDimensions


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


def infer_fft(instruction: Instruction) -> Shape:
    """Return the operand's shape; of real numbers half the spectrum is kept."""
    operand = array_of(instruction, 0)
    kind = instruction.attributes.get("fft_type")
    lengths = instruction.integers("fft_length")
    if not operand.dims or not lengths:
        fail(instruction, "it has no fft_length=, or transforms a scalar")
    if kind in {"FFT", "IFFT"}:
        return operand
    types, last = (
        (COMPLEX, lengths[-1] // 2 + 1 if lengths[-1] else 0)
        if kind == "RFFT"
        else (REAL, lengths[-1])
    )
    if kind not in {"RFFT", "IRFFT"} or operand.dtype not in types:
        fail(instruction, f"there is no transform {kind} of {operand}")
    return replace(with_dtype(operand, types[operand.dtype]), dims=(*operand.dims[:-1], last))


def infer_triangular_solve(instruction: Instruction) -> Shape:
    """Return the shape of the right side."""
    return array_of(instruction, 1)


def infer_batch_norm(instruction: Instruction) -> Shape:
    """Return the operand's shape, and two numbers for each feature."""
    operand = array_of(instruction, 0)
    number = instruction.module.reader.expect_number(instruction, "feature_index")
    size = operand.dims[expect_dimension(instruction, operand, number)]
    each = ArrayShape(operand.dtype, (size,))
    return TupleShape((operand, each, each))


def infer_reduce_window(instruction: Instruction) -> Shape:
    """Return an element of the reduction's type for each place of the window.

    XLA's parser infers no shape for a window over several arrays.
    """
    operand = array_of(instruction, 0)
    result = callee_result(instruction, "to_apply")
    if len(instruction.operands) != 2 or isinstance(result, TupleShape):  # noqa: PLR2004 (a pair)
        fail(instruction, "it reduces several arrays")
    return make_array(result.dtype, slide(instruction, dimensions_of(operand)))


def slide(instruction: Instruction, dimensions: Sequence[Dimension]) -> list[Dimension]:
    """Return how many places `window=` has along each dimension."""
    window = instruction.window()
    if len(window) != len(dimensions):
        fail(instruction, f"window= describes {len(window)} dimensions of {len(dimensions)}")
    places: list[Dimension] = []
    for (size, is_dynamic), part in zip(dimensions, window, strict=True):
        if not part.is_possible:
            fail(instruction, "a size, stride or dilation of window= is not positive")
        if size == UNBOUNDED:
            places.append((size, is_dynamic))
            continue
        places.append((part.count_places(size), is_dynamic))
    return places


def infer_dot(instruction: Instruction) -> Shape:
    """Return the batch dimensions, then those of either side that are not multiplied away."""
    return _multiply(instruction, array_of(instruction, 0), array_of(instruction, 1))


def infer_scaled_dot(instruction: Instruction) -> Shape:
    """Return the shape of the dot; its right side is the third operand."""
    array_of(instruction, 3)
    return _multiply(instruction, array_of(instruction, 0), array_of(instruction, 2))


def _multiply(instruction: Instruction, left: ArrayShape, right: ArrayShape) -> ArrayShape:
    numbers = _expect_dimensions(instruction, left, right)
    return make_array(
        higher_precision(instruction, left, right),
        [
            *_pick(left, numbers.lhs_batch),
            *_drop(left, (*numbers.lhs_batch, *numbers.lhs_contracting)),
            *_drop(right, (*numbers.rhs_batch, *numbers.rhs_contracting)),
        ],
    )


def infer_ragged_dot(instruction: Instruction) -> Shape:
    """Return the shape of a dot whose left side is cut into groups along `lhs_ragged_dims=`.

    A ragged dimension that is multiplied away leaves one product for each group; the right
    side's dimension of groups, where it has one, is none of the result.
    """
    left, right, groups = (array_of(instruction, number) for number in range(3))
    numbers = _expect_dimensions(instruction, left, right)
    grouped = instruction.integers("rhs_group_dims")
    ragged = instruction.integers("lhs_ragged_dims")
    if len(ragged) != 1 or not groups.dims:
        fail(instruction, "lhs_ragged_dims= is not one number, or the groups have no sizes")
    (count,) = dimensions_of(groups)[-1:]
    return make_array(
        higher_precision(instruction, left, right),
        [
            *([count] if ragged[0] in numbers.lhs_contracting else []),
            *_pick(left, numbers.lhs_batch),
            *_drop(left, (*numbers.lhs_batch, *numbers.lhs_contracting)),
            *_drop(right, (*numbers.rhs_batch, *numbers.rhs_contracting, *grouped)),
        ],
    )


def infer_convolution(instruction: Instruction) -> Shape:
    """Return a batch, a feature for each of the kernel's, and the places of the window."""
    left, right = array_of(instruction, 0), array_of(instruction, 1)
    labels = instruction.dim_labels()
    if labels is None:
        fail(instruction, "it has no dim_labels=")
    window = instruction.window()
    if len(window) != len(labels.lhs_spatial):
        fail(instruction, "window= does not fit dim_labels=")
    groups = instruction.integers("feature_group_count") or (1,)
    batches = instruction.integers("batch_group_count") or (1,)
    size, is_dynamic = dimensions_of(left)[labels.lhs_batch]
    if min(*groups, *batches) < 1 or left.dims[labels.lhs_feature] != (
        right.dims[labels.rhs_input] * groups[0]
    ):
        fail(instruction, f"the features of {left} and {right} differ")
    spatial = [dimensions_of(left)[number] for number in labels.lhs_spatial]
    result = dict(zip(labels.output_spatial, slide(instruction, spatial), strict=True)) | {
        labels.output_batch: (size if size == UNBOUNDED else size // batches[0], is_dynamic),
        labels.output_feature: dimensions_of(right)[labels.rhs_output],
    }
    dtype = higher_precision(instruction, left, right)
    return make_array(dtype, [result[number] for number in sorted(result)])


def _expect_dimensions(
    instruction: Instruction, left: ArrayShape, right: ArrayShape
) -> DotDimensions:
    """Return the dimensions of a dot, which go together."""
    numbers = instruction.dot_dimensions()
    _expect_pairs(instruction, left, numbers.lhs_batch, right, numbers.rhs_batch)
    _expect_pairs(instruction, left, numbers.lhs_contracting, right, numbers.rhs_contracting)
    return numbers


def _expect_pairs(
    instruction: Instruction,
    left: ArrayShape,
    left_numbers: Sequence[int],
    right: ArrayShape,
    right_numbers: Sequence[int],
) -> None:
    """Refuse dimensions that do not go together."""
    sizes = [left.dims[number] for number in left_numbers]
    others = [right.dims[number] for number in right_numbers]
    if len(sizes) != len(others) or any(
        size != other and UNBOUNDED not in {size, other}
        for size, other in zip(sizes, others, strict=True)
    ):
        fail(instruction, f"{left} and {right} do not go together")


def _pick(shape: ArrayShape, numbers: Sequence[int]) -> list[Dimension]:
    dimensions = dimensions_of(shape)
    return [dimensions[number] for number in numbers]


def _drop(shape: ArrayShape, numbers: Sequence[int]) -> list[Dimension]:
    return [one for number, one in enumerate(dimensions_of(shape)) if number not in numbers]
