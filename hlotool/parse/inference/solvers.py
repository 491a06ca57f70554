"""The shapes of transforms, solvers and normalizations."""

from __future__ import annotations

from msgspec.structs import replace

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape, Shape, TupleShape
from hlotool.parse.inference.operands import array_of, expect_dimension, fail, with_dtype
from hlotool.parse.inference.types import COMPLEX, REAL


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
