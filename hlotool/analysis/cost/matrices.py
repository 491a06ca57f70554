"""How many flops are a dot, a ragged-dot, a scaled-dot and a convolution?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, prod
from typing import Final

from hlotool.analysis.cost.cost import Work
from hlotool.analysis.cost.sizes import (
    UnknownCostError,
    count_elements,
    expect_array,
    operand_shape,
)
from hlotool.ir.module import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Shape
from hlotool.ir.values import DimLabels, DotDimensions, WindowDimension

MULTIPLY_ADD: Final = 2
_MOST_POSITIONS: Final = 1 << 20  # a longer window in both directions is no window of a model


def work_of_dot(instruction: Instruction) -> Work:
    """Count two for each result element and contracted element; scaled-dot likewise.

    xla/service/hlo_cost_analysis.cc `GetDotFlops`. Scales of a scaled-dot count nothing.
    """
    dimensions = instruction.dot_dimensions()
    if instruction.opcode == "dot":
        _check_dot(instruction, dimensions)
    contracting = dimensions.lhs_contracting
    flops = count_dot_flops(instruction.shape, operand_shape(instruction, 0), contracting)
    return Work(flops, 0, flops)


def _check_dot(dot: Instruction, dimensions: DotDimensions) -> None:
    """Raise UnknownCostError where the two sides or the result do not fit (InferDotOpShape).

    Of a sparse side, older versions contract fewer elements than of the other.
    """
    lhs, rhs, result = operand_shape(dot, 0), operand_shape(dot, 1), expect_array(dot.shape)
    left = (*dimensions.lhs_contracting, *dimensions.lhs_batch)
    right = (*dimensions.rhs_contracting, *dimensions.rhs_batch)
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise UnknownCostError("a dimension is contracted or a batch twice")
    if len(dimensions.lhs_contracting) != len(dimensions.rhs_contracting) or len(left) != len(
        right
    ):
        raise UnknownCostError("the sides contract, or batch, different numbers of dimensions")
    pairs = [(lhs.dims[one], rhs.dims[other]) for one, other in zip(left, right, strict=True)]
    if "sparsity" not in dot.attributes and any(
        one != other and UNBOUNDED not in {one, other} for one, other in pairs
    ):
        raise UnknownCostError("dimensions that meet in the product differ in size")
    free = len(lhs.dims) + len(rhs.dims) - len(left) - len(right)
    if len(result.dims) != free + len(dimensions.lhs_batch):
        raise UnknownCostError(f"{result} has not the dimensions that the product leaves")


def count_dot_flops(result: Shape, lhs: ArrayShape, contracting: Iterable[int]) -> int:
    """Count the flops of a matrix product from its result, left operand and contraction."""
    return MULTIPLY_ADD * count_elements(result) * _product(lhs, contracting)


def _product(shape: ArrayShape, numbers: Iterable[int]) -> int:
    dims = [shape.dims[number] for number in numbers]
    if UNBOUNDED in dims:
        raise UnknownCostError(f"the text does not say how large {shape} is")
    return prod(dims)


def work_of_ragged_dot(instruction: Instruction) -> Work:
    """Count a ragged-dot: `flops` as XLA does, `matrix_flops` as the hardware does.

    XLA (`HandleRaggedDot`) takes as many leading dimensions off the result as there are
    group dimensions, and with the usual `[rows, columns]` result that is the rows: its figure
    is that of a single row. Each row meets one group, so the real work is that of a dot.
    """
    lhs = operand_shape(instruction, 0)
    result = expect_array(instruction.shape)
    contracting = instruction.dot_dimensions().lhs_contracting
    kept = list(result.dims)
    for number in range(len(instruction.integers("rhs_group_dims"))):
        del kept[number]
    width = MULTIPLY_ADD * _product(lhs, contracting)
    elements = _ragged_elements(instruction, result)
    return Work(width * prod(kept), 0, width * elements)


def _ragged_elements(instruction: Instruction, result: ArrayShape) -> int:
    """Count results, each the sum over one row of contracted elements.

    Where the contracted dimension is ragged, the groups divide it among them: the group
    dimension of the result multiplies nothing.
    """
    elements = count_elements(result)
    dimensions = instruction.dot_dimensions()
    ragged = instruction.integers("lhs_ragged_dims")
    if ragged and ragged[0] in dimensions.lhs_contracting:
        return elements // max(result.dims[0], 1)
    return elements


def work_of_convolution(instruction: Instruction) -> Work:
    """Count two for each multiplication that does not fall on padding or between dilated rows.

    xla/service/hlo_cost_analysis.cc `GetConvolutionFlops`.
    """
    flops = count_convolution_flops(
        instruction,
        operand_shape(instruction, 0),
        operand_shape(instruction, 1),
        expect_array(instruction.shape),
    )
    return Work(flops, 0, flops)


def count_convolution_flops(
    instruction: Instruction, lhs: ArrayShape, rhs: ArrayShape, result: ArrayShape
) -> int:
    """Count the flops of the convolution that window and dim_labels describe on these shapes."""
    labels = instruction.dim_labels()
    if labels is None:
        raise UnknownCostError("there are no dim_labels=")
    if any(UNBOUNDED in shape.dims for shape in (lhs, rhs, result)):
        raise UnknownCostError("the text does not say how large an operand or the result is")
    window = instruction.window()
    if len(window) != len(labels.lhs_spatial):
        spatial = len(labels.lhs_spatial)
        raise UnknownCostError(
            f"window= has {len(window)} dimensions, dim_labels= {spatial} spatial ones"
        )
    feature_groups = _group_count(instruction, "feature_group_count")
    batch_groups = _group_count(instruction, "batch_group_count")
    positions = _count_positions(window, labels, lhs, rhs, result)
    return (
        MULTIPLY_ADD
        * (lhs.dims[labels.lhs_feature] // feature_groups)
        * result.dims[labels.output_feature]
        * (lhs.dims[labels.lhs_batch] // batch_groups)
        * prod(positions)
    )


def _group_count(instruction: Instruction, key: str) -> int:
    count = instruction.integers(key)
    if count and count[0] < 1:
        raise UnknownCostError(f"{key}= is less than 1")
    return count[0] if count else 1


def _count_positions(
    window: Sequence[WindowDimension],
    labels: DimLabels,
    lhs: ArrayShape,
    rhs: ArrayShape,
    result: ArrayShape,
) -> list[int]:
    """Count, for each spatial dimension, the (kernel, output) pairs that meet an input element."""
    return [
        count_window_positions(
            dimension,
            lhs.dims[labels.lhs_spatial[place]],
            rhs.dims[labels.rhs_spatial[place]],
            result.dims[labels.output_spatial[place]],
        )
        for place, dimension in enumerate(window)
    ]


def count_window_positions(
    dimension: WindowDimension, inputs: int, kernels: int, outputs: int
) -> int:
    """Count pairs (k, o) for which output o at kernel element k reads an input element.

    It reads at `o * stride + k * rhs_dilate - pad_low`, which must be a multiple of
    `lhs_dilate` and lie below `inputs * lhs_dilate`. k and o have the same part in this, so
    the shorter of the two is walked and the other is counted.
    """
    steps = (dimension.stride, kernels, dimension.rhs_dilate, outputs)
    if kernels <= outputs:
        step, walked, walked_step, counted = steps
    else:
        walked_step, counted, step, walked = steps
    if walked > _MOST_POSITIONS or step < 1 or walked_step < 0 or dimension.lhs_dilate < 1:
        raise UnknownCostError("the window has no end, or a stride or dilation below 1")
    return sum(
        _count_multiples(
            walked_step * place - dimension.pad_low, step, counted, inputs, dimension.lhs_dilate
        )
        for place in range(walked)
    )


def _count_multiples(offset: int, step: int, count: int, inputs: int, dilate: int) -> int:
    """Count n in [0, count) with offset + n * step a multiple of dilate in [0, inputs * dilate).

    >>> _count_multiples(-1, 1, 10, 10, 1), _count_multiples(0, 2, 8, 4, 3)
    (9, 2)
    """
    last = (inputs - 1) * dilate
    low = max(0, -(offset // step))
    high = min(count - 1, (last - offset) // step)
    if high < low:
        return 0
    if dilate == 1:
        return high - low + 1
    shared = gcd(step, dilate)
    if offset % shared:
        return 0
    period = dilate // shared
    first = (-offset // shared) * pow(step // shared, -1, period) % period
    first += -(-(low - first) // period) * period
    return 0 if first > high else (high - first) // period + 1
