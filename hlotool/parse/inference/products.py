"""The shapes of products of matrices and of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Shape
from hlotool.ir.values import DotDimensions
from hlotool.parse.inference.operands import Dimension, array_of, dimensions_of, fail, make_array
from hlotool.parse.inference.types import higher_precision
from hlotool.parse.inference.windows import slide


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
