"""How many flops is a convolution?"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Final

from hlotool.analysis.cost.cost import Work
from hlotool.analysis.cost.matrices import MULTIPLY_ADD
from hlotool.analysis.cost.sizes import UnknownCostError, expect_array, operand_shape
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape
from hlotool.ir.values import DimLabels, WindowDimension

_MOST_POSITIONS: Final = 1 << 20  # a longer window in both directions is no window of a model


def work_of_convolution(instruction: Instruction) -> Work:
    """Count two for each multiplication that does not fall on padding or between dilated rows.

    xla/service/hlo_cost_analysis.cc `GetConvolutionFlops`.
    """
    lhs, rhs = operand_shape(instruction, 0), operand_shape(instruction, 1)
    result = expect_array(instruction.shape)
    flops = count_convolution_flops(instruction, lhs, rhs, result)
    _check_convolution(instruction, lhs, rhs, result)
    return Work(flops, 0, flops)


def _check_convolution(
    convolution: Instruction, lhs: ArrayShape, rhs: ArrayShape, result: ArrayShape
) -> None:
    """Raise UnknownCostError where operands, window, groups or result do not fit each other.

    xla/service/shape_inference.cc `InferConvolveShape`.
    """
    labels = _read_labels(convolution)
    window = convolution.window()
    _check_features(convolution, labels, lhs, rhs)
    for number, dimension in zip(labels.rhs_spatial, window, strict=True):
        if dimension.size != rhs.dims[number]:
            raise UnknownCostError(
                f"a window of {dimension.size} over {rhs.dims[number]} elements of the kernel"
            )
    batch_groups = _group_count(convolution, "batch_group_count")
    made = {
        labels.output_batch: lhs.dims[labels.lhs_batch] // batch_groups,
        labels.output_feature: rhs.dims[labels.rhs_output],
    }
    for place, dimension in enumerate(window):
        places = dimension.count_places(lhs.dims[labels.lhs_spatial[place]])
        made[labels.output_spatial[place]] = places
    if list(result.dims) != [made[number] for number in sorted(made)]:
        raise UnknownCostError(f"{result} is not what the operands, window= and dim_labels= make")


def _check_features(
    convolution: Instruction, labels: DimLabels, lhs: ArrayShape, rhs: ArrayShape
) -> None:
    """Raise UnknownCostError where features or batch do not fit the kernel or the groups."""
    feature_groups = _group_count(convolution, "feature_group_count")
    batch_groups = _group_count(convolution, "batch_group_count")
    inputs, batch = lhs.dims[labels.lhs_feature], lhs.dims[labels.lhs_batch]
    outputs = rhs.dims[labels.rhs_output]
    if feature_groups > 1 and batch_groups > 1:
        raise UnknownCostError("both the features and the batch are in groups")
    if inputs % feature_groups or outputs % feature_groups:
        raise UnknownCostError(f"feature_group_count={feature_groups} does not divide the features")
    if batch % batch_groups or outputs % batch_groups:
        raise UnknownCostError(
            f"batch_group_count={batch_groups} does not divide the batch and the output features"
        )
    if inputs // feature_groups != rhs.dims[labels.rhs_input]:
        raise UnknownCostError(
            f"the kernel takes {rhs.dims[labels.rhs_input]} features, a group of the input has "
            f"{inputs // feature_groups}"
        )


def count_convolution_flops(
    instruction: Instruction, lhs: ArrayShape, rhs: ArrayShape, result: ArrayShape
) -> int:
    """Count the flops of the convolution that window and dim_labels describe on these shapes."""
    labels = _read_labels(instruction)
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


def _read_labels(instruction: Instruction) -> DimLabels:
    labels = instruction.dim_labels()
    if labels is None:
        raise UnknownCostError("there are no dim_labels=")
    return labels


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
    if walked > _MOST_POSITIONS or not dimension.is_possible:
        raise UnknownCostError("the window has no end, or a size, stride or dilation below 1")
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
