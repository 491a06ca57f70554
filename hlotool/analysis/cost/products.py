"""In which type does a matrix product compute, and how many flops do which types take?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from hlotool.analysis.cost.sizes import MALFORMED, operand_shape
from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import DTYPE_BITS

# Flops of products by the type they compute in; those in bfloat16 and float16 are left out.
TypedFlops: TypeAlias = tuple[tuple[str, int], ...]

# The types that a chip may have a peak for. `f32` is full float32; what stands for `f32_default`
# and `f32_high`, the lower precisions of XLA's PrecisionConfig, is the backend's choice.
PRODUCT_TYPES: Final = ("f4", "f8", "s8", "bf16", "tf32", "f32_default", "f32_high", "f32", "f64")
TYPES: Final = "the types other than bfloat16 that products among them compute in"
OF_TYPES: Final = "those of products in each of product_types"
_USUAL: Final = frozenset(("bf16", "f16"))
_BY_PRECISION: Final = {"default": "f32_default", "high": "f32_high", "highest": "f32"}
_LEVELS: Final = tuple(_BY_PRECISION)


def find_product_type(product: Instruction) -> str | None:
    """Return the type that a product computes in; None for bfloat16 and float16.

    That is the wider of its operands' types, all 8-bit floats one, and so all 4-bit ones. Of
    float32 the algorithm decides (`tf32`, or three products in bfloat16: `bf16_x3`), else the
    highest precision that is asked of an operand (`f32_default`, `f32_high`, `f32`), as in
    `PrecisionConfig` of xla_data.proto. A complex type goes by its own name. None too where the
    text of the product is malformed.
    """
    try:
        types = [operand_shape(product, number).dtype for number in (0, 1)]
        widest = max(types, key=lambda one: DTYPE_BITS.get(one, 0))
        if widest == "f32":
            return _find_precision(product)
    except MALFORMED:
        return None
    family = {"f8": "f8", "f4": "f4", "u8": "s8"}.get(widest[:2], widest)
    return None if family in _USUAL else family


def _find_precision(product: Instruction) -> str | None:
    """Say how a product of float32 is to compute.

    A library call says it in its backend_config, where it says it:

        operand_precision={DEFAULT,HIGHEST}, algorithm=dot_bf16_bf16_f32_x3
        "precision_config":{"operand_precision":["DEFAULT","HIGHEST"],"algorithm":"ALG_UNSET"}
    """
    asked = product.attributes.get("operand_precision", "").lower()
    algorithm = product.attributes.get("algorithm", "")
    text = product.attributes.get("backend_config", "")
    if product.opcode == "custom-call" and "precision_config" in text:
        config = product.backend_config()
        stated = config.find("gemm_backend_config", "precision_config") if config else None
        if isinstance(stated, Mapping):
            asked = str(stated.get("operand_precision", "")).lower()
            algorithm = str(stated.get("algorithm", "")).lower().removeprefix("alg_")
    named = re.match(r"dot_(?:any_)?([a-z]+\d+)_.*?(_x\d+)?$", algorithm)
    if named:
        found = named[1] + (named[2] or "")
        return None if found in _USUAL else found
    level = max(
        (_LEVELS.index(one) for one in re.findall(r"\w+", asked) if one in _LEVELS), default=0
    )
    return _BY_PRECISION[_LEVELS[level]]


def list_types(flops: TypedFlops) -> tuple[str, ...]:
    """List the types, without the flops."""
    return tuple(name for name, _ in flops)


def list_flops(flops: TypedFlops) -> tuple[int, ...]:
    """List the flops of each type."""
    return tuple(count for _, count in flops)


def pair_types(types: Iterable[str], flops: Iterable[int]) -> TypedFlops:
    """Return what `list_types` and `list_flops` took apart."""
    return tuple(zip(types, flops, strict=True))


def add_typed_flops(parts: Iterable[TypedFlops]) -> TypedFlops:
    """Add flops up, type by type."""
    found: dict[str, int] = {}
    for one in parts:
        for name, flops in one:
            found[name] = found.get(name, 0) + flops
    return tuple(sorted(found.items()))


def most_typed_flops(parts: Iterable[TypedFlops]) -> TypedFlops:
    """Return the most flops of each type."""
    found: dict[str, int] = {}
    for one in parts:
        for name, flops in one:
            found[name] = max(found.get(name, 0), flops)
    return tuple(sorted(found.items()))


def repeat_typed_flops(flops: TypedFlops, count: int) -> TypedFlops:
    """Return so many times the flops."""
    return tuple((name, one * count) for name, one in flops)
