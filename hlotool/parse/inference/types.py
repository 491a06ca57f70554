"""Which element type has a result, given those of its operands?"""

from __future__ import annotations

from typing import Final

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape
from hlotool.parse.inference.operands import fail

# From less to more range and precision: a result of mixed operands has the later type
# (primitive_util::HigherPrecisionType, xla/primitive_util.h).
_INTEGERS: Final = (
    "pred", "u1", "s1", "u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16", "u32", "s32", "u64",
    "s64",
)  # fmt: skip
_FLOATS: Final = (
    "f4e2m1fn", "f6e2m3fn", "f8e3m4", "f6e3m2fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e4m3",
    "f8e4m3fn", "f8e5m2fnuz", "f8e5m2", "f16", "f8e8m0fnu", "bf16", "f32", "f64",
)  # fmt: skip
REAL: Final = {"c64": "f32", "c128": "f64"}
COMPLEX: Final = {"f32": "c64", "f64": "c128"}
_RANKS: Final = {dtype: rank for rank, dtype in enumerate((*_INTEGERS, *_FLOATS, *REAL))}


def higher_precision(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> str:
    """Return the type of a product: the one that holds the elements of both."""
    if one.dtype != other.dtype and not {one.dtype, other.dtype} <= _RANKS.keys():
        fail(instruction, f"{one} and {other} have no type in common")
    return max(one.dtype, other.dtype, key=lambda dtype: _RANKS.get(dtype, 0))


def common_type(instruction: Instruction, one: ArrayShape, other: ArrayShape) -> str:
    """Return the type of what works by element: types agree, but for the precision of floats."""
    if one.dtype != other.dtype and not {one.dtype, other.dtype} <= set(_FLOATS):
        fail(instruction, f"the types of {one} and {other} differ")
    return higher_precision(instruction, one, other)
