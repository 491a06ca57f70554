"""How many flops are a dot, a ragged-dot and a scaled-dot?"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final

from hlotool.analysis.cost.cost import Work
from hlotool.analysis.cost.sizes import (
    UnknownCostError,
    count_elements,
    expect_array,
    operand_shape,
)
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, ArrayShape, Shape
from hlotool.ir.values import DotDimensions

MULTIPLY_ADD: Final = 2


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
