"""How many bytes does one instruction read and write?

Follows the handlers of xla/service/hlo_cost_analysis.cc (0.10.2): by default all operands
are read and all results written, a tuple operand being its table of pointers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hlotool.analysis.cost.fused_traffic import NO_BODY, measure_fusion_bytes
from hlotool.analysis.cost.invocations import find_custom_body
from hlotool.analysis.cost.sizes import Sizes, UnknownCostError, expect_array, first_array
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape


def measure_bytes(instruction: Instruction, sizes: Sizes) -> int:
    """Return the bytes an instruction reads and writes, its callees not included.

    0 for custom calls, whose traffic XLA takes to be unknown, and for control flow, which
    moves nothing itself.
    """
    handler = _SPECIAL.get(instruction.opcode)
    return handler(instruction, sizes) if handler else _all_operands_and_results(instruction, sizes)


def _all_operands_and_results(instruction: Instruction, sizes: Sizes) -> int:
    size = sizes.content_bytes(instruction.shape)
    for operand in instruction.operands:
        size += sizes.pointer_bytes(operand.shape)
    return size


def _nothing(instruction: Instruction, sizes: Sizes) -> int:  # noqa: ARG001 (one signature)
    return 0


def _table(instruction: Instruction, sizes: Sizes) -> int:
    """Count the pointers a tuple writes."""
    return sizes.pointer_bytes(instruction.shape)


def _slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count what a slice writes twice: it reads as much."""
    return 2 * sizes.content_bytes(instruction.shape)


def _dynamic_slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count a slice, and the first start index: XLA counts one of them."""
    return _slice(instruction, sizes) + sizes.content_bytes(instruction.operands[1].shape)


def _dynamic_update_slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count the update twice, read and written in place, and the first start index."""
    update, index = instruction.operands[1], instruction.operands[2]
    return 2 * sizes.content_bytes(update.shape) + sizes.content_bytes(index.shape)


def _gather(instruction: Instruction, sizes: Sizes) -> int:
    """Count what is gathered twice, read and written, and the indices."""
    return _slice(instruction, sizes) + sizes.content_bytes(instruction.operands[1].shape)


def _scatter(instruction: Instruction, sizes: Sizes) -> int:
    """Count the updates, as much of the operand read and written, and the indices."""
    half = len(instruction.operands) // 2
    updates = sum(sizes.content_bytes(one.shape) for one in instruction.operands[half + 1 :])
    return 3 * updates + sizes.content_bytes(instruction.operands[half].shape)


def _fusion(instruction: Instruction, sizes: Sizes) -> int:
    """Count what the body reads and writes; a custom fusion with a gather is only that gather."""
    body = instruction.callee()
    special = find_custom_body(instruction, body) if body else None
    if special is not None:
        return _gather(special, sizes) if special.opcode == "gather" else _scatter(special, sizes)
    if body is None:
        raise UnknownCostError(NO_BODY)
    return measure_fusion_bytes(instruction, body, sizes)


def _triangular_solve(instruction: Instruction, sizes: Sizes) -> int:
    """Count half of the triangular matrix, and all else."""
    matrix, other = instruction.operands[0], instruction.operands[1]
    whole = sizes.content_bytes(instruction.shape) + sizes.content_bytes(other.shape)
    return whole + sizes.content_bytes(matrix.shape) // 2


def _cholesky(instruction: Instruction, sizes: Sizes) -> int:
    """Count half as read and half as written."""
    return sizes.content_bytes(instruction.operands[0].shape)


def _infeed(instruction: Instruction, sizes: Sizes) -> int:
    return sizes.content_bytes(instruction.shape)


def _outfeed(instruction: Instruction, sizes: Sizes) -> int:
    return sum(sizes.content_bytes(one.shape) for one in instruction.operands)


def _transpose(instruction: Instruction, sizes: Sizes) -> int:
    """0 where only the layout's numbering changes (HloInstruction::IsEffectiveBitcast)."""
    if is_bitcast_transpose(instruction):
        return 0
    return _all_operands_and_results(instruction, sizes)


def is_bitcast_transpose(instruction: Instruction) -> bool:
    """Whether a transpose moves no byte: the layouts undo it."""
    before, after = expect_array(instruction.operands[0].shape), first_array(instruction.shape)
    order = instruction.integers("dimensions")
    renamed = tuple(order[number] for number in _minor_to_major(after))
    return before.dtype == after.dtype and renamed == _minor_to_major(before)


def _minor_to_major(shape: ArrayShape) -> tuple[int, ...]:
    if shape.layout is None:
        return tuple(range(len(shape.dims) - 1, -1, -1))
    return shape.layout.minor_to_major


_SPECIAL: Final[Mapping[str, Callable[[Instruction, Sizes], int]]] = {
    "add-dependency": _nothing,
    "after-all": _nothing,
    "async-start": _nothing,
    "bitcast": _nothing,
    "call": _nothing,
    "cholesky": _cholesky,
    "conditional": _nothing,
    "constant": _nothing,
    "custom-call": _nothing,
    "domain": _nothing,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "fusion": _fusion,
    "gather": _gather,
    "get-tuple-element": _nothing,
    "infeed": _infeed,
    "outfeed": _outfeed,
    "parameter": _nothing,
    "scatter": _scatter,
    "slice": _slice,
    "transpose": _transpose,
    "triangular-solve": _triangular_solve,
    "tuple": _table,
    "while": _nothing,
}
