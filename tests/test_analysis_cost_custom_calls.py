"""What custom calls compute: from shapes and backend_config, or unknown."""

from __future__ import annotations

import pytest

from hlotool.analysis.cost.custom_calls import (
    NO_WORK_TARGETS,
    CustomCall,
    CustomCallKind,
    count_attended_pairs,
    read_custom_call,
)
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

GEMM = (
    'backend_config={"gemm_backend_config":{"dot_dimension_numbers":'
    '{"lhs_contracting_dimensions":["%s"],"rhs_contracting_dimensions":["0"]}}}'
)
TE = (
    "backend_config={attn_heads = 6 : i64, input_batch = 2 : i64, is_training = true, "
    "kv_max_seqlen = 16 : i64, mask_type = %s : i64, max_segments_per_seq = 1 : i64, "
    "num_gqa_groups = 3 : i64, q_max_seqlen = 16 : i64, qk_head_dim = 8 : i64, "
    "scaling_factor = 1.0 : f64, v_head_dim = 4 : i64, window_size_left = %s : i64}"
)
FMHA = (
    'backend_config={"cudnn_fmha_backend_config":{"intermediate_tensor_shape":'
    '{"element_type":"BF16","dimensions":["2","6","16","32"]},"mask_type":"%s",'
    '"sliding_window_length":%s}}'
)
CONV = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f"
FORWARD_CONVOLUTION = 2 * 3 * 8 * 2 * (28 * 28)  # 10x10 with a 3x3 window: 28 places a side


def call(target: str, operands: str, result: str, rest: str = "") -> CustomCall:
    shapes = operands.split(" ")
    parameters = "".join(f" p{n} = {one} parameter({n})\n" for n, one in enumerate(shapes))
    names = ", ".join(f"p{n}" for n in range(len(shapes)))
    attributes = f'custom_call_target="{target}"' + (f", {rest}" if rest else "")
    text = f"ENTRY e {{\n{parameters} ROOT c = {result} custom-call({names}), {attributes}\n}}"
    return read_custom_call(parse_module(Source(text)).entry.root)


def heads(pairs: int, qk_size: int, v_size: int) -> int:
    """Two sequences of six heads."""
    return 2 * 6 * pairs * 2 * (qk_size + v_size)


KNOWN = {
    "gemm": (("__cublas$gemm", "f32[6,9] f32[9,5]", "(f32[6,5], s8[64])", GEMM % 1), 540),
    "gemm transposed": (
        ("__cublas$gemm", "f32[9,6] f32[9,5]", "(f32[6,5], s8[64])", GEMM % 0),
        540,
    ),
    "gemm batched": (
        ("__cublas$lt$matmul", "f32[7,6,9] f32[7,9,5]", "(f32[7,6,5], s8[64])", GEMM % 2),
        7 * 540,
    ),
    "fp8": (
        ("__cublas$lt$matmul$f8", "f8e4m3fn[6,9] f8e4m3fn[9,5] f32[]", "f32[6,5]", GEMM % 1),
        540,
    ),
    "onednn": (("__onednn$matmul", "f32[6,9] f32[9,5]", "f32[6,5]", ""), 540),
    "onednn transposed": (
        (
            "__onednn$matmul",
            "f32[9,6] f32[9,5]",
            "f32[6,5]",
            'backend_config={"onednn_matmul_config":{"transpose_a":true}}',
        ),
        540,
    ),
    "convolution": (
        (
            "__cudnn$convForward",
            "f32[2,10,10,3] f32[8,3,3,3]",
            "(f32[2,10,10,8], u8[0])",
            CONV,
        ),
        FORWARD_CONVOLUTION,
    ),
    "convolution with bias": (
        (
            "__cudnn$convBiasActivationForward",
            "f32[2,10,10,3] f32[8,3,3,3] f32[8]",
            "(f32[2,10,10,8], u8[0])",
            CONV,
        ),
        FORWARD_CONVOLUTION,
    ),
    "input gradient": (
        (
            "__cudnn$convBackwardInput",
            "f32[2,10,10,8] f32[8,3,3,3]",
            "(f32[2,10,10,3], u8[0])",
            CONV,
        ),
        FORWARD_CONVOLUTION,
    ),
    "filter gradient": (
        (
            "__cudnn$convBackwardFilter",
            "f32[2,10,10,3] f32[2,10,10,8]",
            "(f32[8,3,3,3], u8[0])",
            CONV,
        ),
        FORWARD_CONVOLUTION,
    ),
    "te": (
        ("te_fused_attn_forward_ffi", "bf16[2,16,6,8]", "(bf16[2,16,6,4])", TE % (0, -1)),
        heads(16 * 16, 8, 4),
    ),
    "te under vmap": (
        ("te_fused_attn_forward_ffi", "bf16[5,2,16,6,8]", "(bf16[5,2,16,6,4])", TE % (0, -1)),
        5 * heads(16 * 16, 8, 4),
    ),
    "te causal": (
        ("te_fused_attn_forward_ffi", "bf16[2,16,6,8]", "(bf16[2,16,6,4])", TE % (2, -1)),
        heads(16 * 17 // 2, 8, 4),
    ),
    "te causal window": (
        ("te_fused_attn_forward_ffi", "bf16[2,16,6,8]", "(bf16[2,16,6,4])", TE % (2, 3)),
        heads(1 + 2 + 3 + 13 * 4, 8, 4),
    ),
    "te backward": (
        ("te_fused_attn_backward_ffi", "bf16[2,16,6,8]", "(bf16[2,16,6,8])", TE % (0, -1)),
        heads(16 * 16, 3 * 8, 2 * 4),
    ),
    "fmha": (
        (
            "__cudnn$fmhaSoftmax",
            "bf16[2,16,6,8] bf16[2,32,3,8] bf16[2,32,3,4]",
            "(bf16[2,6,16,4])",
            FMHA % ("NO_MASK", 0),
        ),
        heads(16 * 32, 8, 4),
    ),
    "fmha causal window": (
        (
            "__cudnn$fmhaSoftmax",
            "bf16[2,16,6,8] bf16[2,32,3,8] bf16[2,32,3,4]",
            "(bf16[2,6,16,4])",
            FMHA % ("CAUSAL", 4),
        ),
        heads(1 + 2 + 3 + 13 * 4, 8, 4),
    ),
    "fmha backward": (
        (
            "__cudnn$fmhaSoftmaxBackward",
            "bf16[2,16,6,8] bf16[2,32,3,8] bf16[2,32,3,4]",
            "(bf16[2,16,6,8])",
            FMHA % ("NO_MASK", 0),
        ),
        heads(16 * 32, 3 * 8, 2 * 4),
    ),
    "stated by pallas": (
        (
            "tpu_custom_call",
            "f32[8]",
            "f32[8]",
            'backend_config={"custom_call_config":{"cost_estimate":{"flops":"77"}}}',
        ),
        77,
    ),
    "triangular solve": (("__cublas$triangularSolve", "f32[3,3] f32[3,5]", "(f32[3,5])"), 90),
    "cholesky": (("__cusolver$cholesky", "f32[4,3,3]", "(f32[4,3,3], s32[4])"), 36),
}


@pytest.mark.parametrize(("arguments", "flops"), KNOWN.values(), ids=KNOWN)
def test_known(arguments: tuple[str, ...], flops: int) -> None:
    found = call(*arguments)
    assert found.flops == flops
    assert found.kind is not CustomCallKind.UNKNOWN
    assert not found.is_upper_bound


UNKNOWN = {
    "a target nobody knows": ("my_kernel", "f32[8]", "f32[8]"),
    "triton": (
        "__gpu$xla.gpu.triton",
        "f32[8]",
        "f32[8]",
        'backend_config={debug = false, grid_x = 16 : i32, ir = "ML\\\\EFR"}',
    ),
    "pallas without an estimate": (
        "tpu_custom_call",
        "f32[8]",
        "f32[8]",
        'backend_config={"custom_call_config":{"body":"cost_estimate"}}',
    ),
    "gemm without a config": ("__cublas$gemm", "f32[6,9] f32[9,5]", "f32[6,5]"),
    "gemm with a dimension too many": (
        "__cublas$gemm",
        "f32[6,9] f32[9,5]",
        "f32[6,5]",
        GEMM % 2,
    ),
    "gemm with words for numbers": (
        "__cublas$gemm",
        "f32[6,9] f32[9,5]",
        "f32[6,5]",
        GEMM % "one",
    ),
    "attention without a config": ("te_fused_attn_forward_ffi", "bf16[2]", "(bf16[2])"),
    "fmha without a config": ("__cudnn$fmhaSoftmax", "bf16[2]", "(bf16[2])"),
}


@pytest.mark.parametrize("arguments", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown(arguments: tuple[str, ...]) -> None:
    assert call(*arguments).flops is None


@pytest.mark.parametrize("target", sorted(NO_WORK_TARGETS))
def test_nothing(target: str) -> None:
    found = call(target, "f32[8]", "f32[8]")
    assert (found.kind, found.flops) == (CustomCallKind.NOTHING, 0)


@pytest.mark.parametrize(("mask", "is_upper_bound"), [(1, True), (2, False), (3, True)])
def test_padding_of_unknown_length_is_an_upper_bound(mask: int, is_upper_bound: bool) -> None:
    found = call("te_fused_attn_forward_ffi", "bf16[2,16,6,8]", "(bf16[2,16,6,4])", TE % (mask, -1))
    assert found.is_upper_bound is is_upper_bound


@pytest.mark.parametrize("queries", [1, 4, 7])
@pytest.mark.parametrize("keys", [1, 4, 9])
@pytest.mark.parametrize("shift", [None, 0, 3, -2])
@pytest.mark.parametrize("left", [None, 0, 2])
def test_pairs_are_those_one_can_count(
    queries: int, keys: int, shift: int | None, left: int | None
) -> None:
    counted = sum(
        (shift is None or j <= i + shift) and (left is None or j >= i + (shift or 0) - left)
        for i in range(queries)
        for j in range(keys)
    )
    assert count_attended_pairs(queries, keys, shift=shift, left=left) == counted
