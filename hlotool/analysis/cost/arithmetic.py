"""How long does arithmetic take on a chip, by the types that its products compute in?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hlotool.analysis.cost.chips import Chip, ChipBackend
from hlotool.analysis.cost.products import TypedFlops

# How a backend computes what XLA leaves to it. GPU: `GetBlasComputationType` and `IsTf32Allowed`
# (xla/stream_executor/gpu/gpu_blas_lt.cc, xla/service/gpu/matmul_utils.cc) allow TF32 but for the
# highest precision. TPU multiplies in bfloat16, once, in three or in six parts
# (docs.jax.dev/en/latest/201/precision.html; the parts: `bf16_6x` of StableHLO's dot_general).
_COMPUTED_AS: Final[Mapping[ChipBackend | None, Mapping[str, str]]] = {
    "gpu": {"f32_default": "tf32", "f32_high": "tf32"},
    "tpu": {"f32_default": "bf16", "f32_high": "bf16_x3", "f32": "bf16_x6"},
}
PRICED_AS_BF16: Final = (
    "types of products for which no peak of the chip is stated: they are taken as fast as bfloat16"
)


def find_peak(name: str, chip: Chip) -> float | None:
    """Return the flops that a chip makes in a second of products of a type, None where unknown."""
    peaks = dict(chip.product_flops_per_second)
    taken = name if name in peaks else _COMPUTED_AS.get(chip.backend, {}).get(name, name)
    base, _, parts = taken.partition("_x")
    peak = chip.flops_per_second if base == "bf16" else peaks.get(base)
    return peak / int(parts or 1) if peak else None


def weigh_flops(flops: int, products: TypedFlops, chip: Chip) -> int:
    """Return the flops at the chip's bfloat16 peak that take as long as these.

    `products` are those of them in other types. Where nobody states a peak for a type, and for all
    that is no product, flops count as they are.
    """
    more = 0.0
    for name, count in products:
        peak = find_peak(name, chip)
        if peak is not None:
            more += count * (chip.flops_per_second / peak - 1)
    return max(flops + round(more), 0)


def list_unstated(products: TypedFlops, chip: Chip) -> tuple[str, ...]:
    """List the types of products that are priced as bfloat16, as no peak is stated for them."""
    return tuple(
        dict.fromkeys(
            name.partition("_")[0] for name, _ in products if find_peak(name, chip) is None
        )
    )
