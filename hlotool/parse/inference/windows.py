"""The shapes of what slides a window over an array."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import UNBOUNDED, Shape, TupleShape
from hlotool.parse.inference.operands import (
    Dimension,
    array_of,
    callee_result,
    dimensions_of,
    fail,
    make_array,
)


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
