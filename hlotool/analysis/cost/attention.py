"""How many flops is fused attention? cuDNN's own calls and TransformerEngine's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hlotool.analysis.cost.sizes import (
    UnknownCostError,
    count_elements,
    first_array,
    operand_shape,
)
from hlotool.ir.instruction import Instruction

_MULTIPLY_ADD: Final = 2

# MLIR attributes as TransformerEngine prints them: `attn_heads = 48 : i64`.
_MLIR_INTEGER: Final = r"(\w+) = (-?\d{1,18}) : i(?:32|64)"
# NVTE_Mask_Type (transformer_engine/fused_attn.h): which masks leave a triangle, which of
# those hang from the bottom right corner, which hide padding of a length known only at run time.
_TE_CAUSAL: Final = frozenset((2, 3, 4, 5))
_TE_BOTTOM_RIGHT: Final = frozenset((4, 5))
_TE_PADDING: Final = frozenset((1, 3, 5))


def count_te_attention(instruction: Instruction) -> tuple[int, bool]:
    """Count `te_fused_attn_forward_ffi` and `te_fused_attn_backward_ffi`.

    Returns flops, and whether padding or segments may make them fewer. The batch is what
    the first result (the output; backward, the gradient of q) holds beside sequence, heads
    and head size, so that dimensions added by vmap count.
    """
    config = instruction.backend_config()
    printed = re.findall(_MLIR_INTEGER, config.text if config else "")
    values = {key: int(text) for key, text in printed}
    is_backward = "backward" in instruction.custom_call_target
    queries, keys = values["q_max_seqlen"], values["kv_max_seqlen"]
    qk_size = values.get("qk_head_dim", values.get("head_dim", 0))
    v_size = values.get("v_head_dim", qk_size)
    mask = values["mask_type"]
    row = queries * values["attn_heads"] * (qk_size if is_backward else v_size)
    if row < 1:
        raise UnknownCostError("the attention has no rows")
    batch = count_elements(first_array(instruction.shape)) // row
    shift = keys - queries if mask in _TE_BOTTOM_RIGHT else 0
    left = values.get("window_size_left", -1)
    pairs = count_attended_pairs(
        queries, keys, shift=shift if mask in _TE_CAUSAL else None, left=left if left >= 0 else None
    )
    heads = batch * values["attn_heads"]
    flops = _count_products(heads * pairs, qk_size, v_size, is_backward=is_backward)
    return flops, mask in _TE_PADDING or values.get("max_segments_per_seq", 1) > 1


def count_cudnn_attention(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cudnn$fmha*`: operands q, k, v; the config names the scores' shape and the mask.

    Returns flops, and whether padding may make them fewer.
    """
    found = instruction.backend_config()
    config = found.find("cudnn_fmha_backend_config") if found else None
    if not isinstance(config, Mapping):
        raise UnknownCostError("the backend_config has no cudnn_fmha_backend_config")
    scores = read_numbers(config.get("intermediate_tensor_shape"), "dimensions")
    *batch, queries, keys = scores
    qk_size, v_size = (operand_shape(instruction, number).dims[-1] for number in (0, 2))
    mask = str(config.get("mask_type", ""))
    window = read_number(config.get("sliding_window_length", 0))
    pairs = count_attended_pairs(
        queries,
        keys,
        shift=0 if "CAUSAL" in mask else None,
        left=window - 1 if window > 0 else None,
    )
    heads = 1
    for size in batch:
        heads *= size
    is_backward = "Backward" in instruction.custom_call_target
    flops = _count_products(heads * pairs, qk_size, v_size, is_backward=is_backward)
    return flops, "PADDING" in mask


def _count_products(pairs: int, qk_size: int, v_size: int, *, is_backward: bool) -> int:
    """Count the matrix products of attention over `pairs` of query and key.

    Forward q·k and p·v. Backward q·k again, and the gradients of v and p (over the size of
    v), of q and k (over that of q). Softmax is not counted.
    """
    size = 3 * qk_size + 2 * v_size if is_backward else qk_size + v_size
    return _MULTIPLY_ADD * pairs * size


def count_attended_pairs(
    queries: int, keys: int, *, shift: int | None = None, left: int | None = None
) -> int:
    """Count the pairs of query i and key j that a mask leaves.

    With `shift`, causal: j <= i + shift. With `left`, a window: j >= i + shift - left.

    >>> count_attended_pairs(4, 4), count_attended_pairs(4, 4, shift=0)
    (16, 10)
    >>> count_attended_pairs(4, 4, shift=0, left=1), count_attended_pairs(2, 4, shift=2)
    (7, 7)
    """
    seen = queries * keys if shift is None else _sum_clamped(shift + 1, queries, keys)
    hidden = 0 if left is None else _sum_clamped((shift or 0) - left, queries, keys)
    return max(seen - hidden, 0)


def _sum_clamped(start: int, count: int, most: int) -> int:
    """Return the sum of start, start + 1, …, `count` terms, each brought into [0, most]."""
    zeros = min(max(-start, 0), count)
    first = start + zeros
    rising = min(max(most - first, 0), count - zeros)
    flat = count - zeros - rising
    return rising * first + rising * (rising - 1) // 2 + flat * most


def read_numbers(config: object, key: str) -> tuple[int, ...]:
    """Read a list of integers that JSON holds as strings; raises UnknownCostError."""
    values = config.get(key) if isinstance(config, Mapping) else None
    if not isinstance(values, list):
        raise UnknownCostError(f"the backend_config has no list {key}")
    return tuple(map(read_number, values))


def read_number(value: object) -> int:
    """Read an integer that JSON holds as a number or, for 64 bits, as a string."""
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return int(value)
    raise UnknownCostError("the backend_config has no number where one should stand")
