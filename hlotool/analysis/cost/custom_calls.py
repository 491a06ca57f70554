"""What does a custom call compute, as far as its text, what it calls and the user's rules tell?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost.attention import (
    count_cudnn_attention,
    count_te_attention,
    read_number,
    read_numbers,
)
from hlotool.analysis.cost.convolutions import count_convolution_flops
from hlotool.analysis.cost.matrices import MULTIPLY_ADD, count_dot_flops
from hlotool.analysis.cost.products import TypedFlops, find_product_type
from hlotool.analysis.cost.sizes import (
    MALFORMED,
    UnknownCostError,
    count_elements,
    first_array,
    operand_shape,
)
from hlotool.ir.instruction import Instruction


class CustomCallKind(Enum):
    """What a target is known to do."""

    NOTHING = "nothing"  # an annotation, a marker, or memory set aside
    MATRIX_PRODUCT = "matrix product"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    LIBRARY = "library"  # norms and sorts: all they move are operands and results
    STATED = "stated"  # whoever made the call wrote its cost into it
    UNKNOWN = "unknown"


CostSource: TypeAlias = Literal["shape", "estimate", "computation", "rule"]  # what tells a cost


class CustomCall(Struct, frozen=True):
    """A custom call's arithmetic; `flops` is None where nothing tells.

    `stated_bytes` is its memory traffic where something states that: whoever made the call, the
    computation that it runs, or a rule. Else it is that of operands and results, unless
    `bytes_from` is None. `flops_from` and `bytes_from` say what tells: target and shapes, a cost
    estimate, the called computation, or a rule. `product_type` is the type that a product computes
    in, where shapes tell its flops and it is not bfloat16 (see `products`).
    """

    kind: CustomCallKind
    flops: int | None
    is_upper_bound: bool = False
    stated_bytes: int | None = None
    flops_from: CostSource | None = None
    bytes_from: CostSource | None = None
    product_type: str | None = None

    @property
    def products(self) -> TypedFlops:
        """Its flops, by type."""
        return ((self.product_type, self.flops),) if self.product_type and self.flops else ()


class StatedCost(Struct, frozen=True):
    """What a rule or a called computation says of a custom call; None where it says nothing."""

    flops: int | None = None
    bytes: int | None = None
    is_upper_bound: bool = False


FindStated: TypeAlias = Callable[[Instruction], StatedCost]


def state_nothing(_: Instruction) -> StatedCost:
    """Say nothing of any call: what holds without rules, or without a module around it."""
    return StatedCost()


_LARGEST_COST: Final = 1 << 63  # 64 bits hold it

# Targets that compute nothing: partitioning and placement marks, and libtpu's bookkeeping.
NO_WORK_TARGETS: Final = frozenset(
    (
        "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "AllocateBuffer",
        "ConcatBitcast", "AsyncCollectiveStart", "AsyncCollectiveDone",
        "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape",
        "annotate_device_placement", "MoveToHost", "MoveToDevice", "PinToDevice",
        "PinToDeviceSram", "AssumeGatherIndicesInBound", "LayoutConstraint", "CreateBuffer", "Pin",
        "Unpin", "SliceId", "ZeroCrop",
    )
)  # fmt: skip


def read_custom_call(
    instruction: Instruction,
    find_stated: FindStated = state_nothing,
    find_inside: FindStated = state_nothing,
) -> CustomCall:
    """Work out the flops of a custom call; unknown ones are None, never 0.

    Matrix products and convolutions count as HloCostAnalysis counts a dot and a convolution
    of the same shapes; attention as its two (backward: five) matrix products over the pairs
    of query and key that the mask leaves. A cost estimate in the backend_config is taken at
    its word. What is unknown then, flops or traffic, is what `find_inside` says, from the
    computation that it runs, else `find_stated`, from a rule.
    """
    call = _fill_in(_read_known(instruction), instruction, "computation", find_inside)
    return _fill_in(call, instruction, "rule", find_stated)


def _fill_in(
    call: CustomCall, instruction: Instruction, source: CostSource, find: FindStated
) -> CustomCall:
    """Take from one more source what is still unknown."""
    if call.flops_from and call.bytes_from:
        return call
    stated = find(instruction)
    if call.flops_from is None and stated.flops is not None:
        is_upper_bound = call.is_upper_bound or stated.is_upper_bound
        call = replace(call, flops=stated.flops, flops_from=source, is_upper_bound=is_upper_bound)
    if call.bytes_from is None and stated.bytes is not None:
        call = replace(call, stated_bytes=stated.bytes, bytes_from=source)
    return call


def _read_known(instruction: Instruction) -> CustomCall:
    """Work out what the text alone tells."""
    target = instruction.custom_call_target
    if target in NO_WORK_TARGETS:
        return CustomCall(CustomCallKind.NOTHING, 0, flops_from="shape", bytes_from="shape")
    for prefix, kind, count in _COUNTERS:
        if target.startswith(prefix):
            return _counted(instruction, kind, count)
    if target.startswith(_LIBRARIES):
        return CustomCall(CustomCallKind.LIBRARY, None, bytes_from="shape")
    try:
        return _read_estimate(instruction)
    except MALFORMED:
        return CustomCall(CustomCallKind.UNKNOWN, None)


def _read_estimate(instruction: Instruction) -> CustomCall:
    """Take what whoever made the call states of it."""
    estimate = _find_estimate(instruction)
    if estimate is None:
        return CustomCall(CustomCallKind.UNKNOWN, None)
    stated_bytes = _read_cost(estimate, "bytes_accessed") or None
    return CustomCall(
        CustomCallKind.STATED,
        _read_cost(estimate, "flops"),
        stated_bytes=stated_bytes,
        flops_from="estimate",
        bytes_from="estimate" if stated_bytes else "shape",
    )


def _read_cost(estimate: Mapping[str, object], key: str) -> int:
    """Read a cost, 0 where it is not stated; raise UnknownCostError for one that cannot be."""
    cost = read_number(estimate.get(key, 0))
    if not 0 <= cost <= _LARGEST_COST:
        raise UnknownCostError(f"the cost estimate has an impossible {key}")
    return cost


# Returns flops, and whether they are an upper bound.
FlopCounter: TypeAlias = Callable[[Instruction], tuple[int, bool]]


def _counted(instruction: Instruction, kind: CustomCallKind, count: FlopCounter) -> CustomCall:
    try:
        flops, is_upper_bound = count(instruction)
    except MALFORMED:
        return CustomCall(kind, None, bytes_from="shape")
    return CustomCall(
        kind,
        flops,
        is_upper_bound,
        flops_from="shape",
        bytes_from="shape",
        product_type=find_product_type(instruction),
    )


def _count_cublas(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cublas$gemm` and `__cublas$lt$matmul*`: operands lhs, rhs, then additions."""
    config = instruction.backend_config()
    dimensions = config.find("gemm_backend_config", "dot_dimension_numbers") if config else None
    contracting = read_numbers(dimensions, "lhs_contracting_dimensions")
    result = first_array(instruction.shape)
    return count_dot_flops(result, operand_shape(instruction, 0), contracting), False


def _count_onednn(instruction: Instruction) -> tuple[int, bool]:
    """Count `__onednn$matmul`: the last two dimensions, one side perhaps transposed."""
    config = instruction.backend_config()
    flags = config.find("onednn_matmul_config") if config else None
    is_transposed = isinstance(flags, Mapping) and flags.get("transpose_a") is True
    lhs = operand_shape(instruction, 0)
    contracted = len(lhs.dims) - (2 if is_transposed else 1)
    return count_dot_flops(first_array(instruction.shape), lhs, (contracted,)), False


def _count_cudnn_convolution(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cudnn$conv*`: window and labels are always those of the forward convolution.

    Its input, filter and output are (operand 0, operand 1, result) forward, (result,
    operand 1, operand 0) for the input gradient and (operand 0, result, operand 1) for the
    filter gradient. Scaling, bias and activation count nothing.
    """
    lhs, rhs = operand_shape(instruction, 0), operand_shape(instruction, 1)
    result = first_array(instruction.shape)
    target = instruction.custom_call_target
    if target.startswith("__cudnn$convBackwardInput"):
        return count_convolution_flops(instruction, result, rhs, lhs), False
    if target.startswith("__cudnn$convBackwardFilter"):
        return count_convolution_flops(instruction, lhs, result, rhs), False
    return count_convolution_flops(instruction, lhs, rhs, result), False


def _count_batched_solve(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cublas$triangularSolve` as XLA counts a triangular-solve."""
    rows = operand_shape(instruction, 0).dims[-1]
    return MULTIPLY_ADD * rows * count_elements(operand_shape(instruction, 1)), False


def _count_cholesky(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cusolver$cholesky` as XLA counts a cholesky."""
    matrices = operand_shape(instruction, 0)
    return count_elements(matrices) * matrices.dims[-1] // 3, False


_COUNTERS: Final[tuple[tuple[str, CustomCallKind, FlopCounter], ...]] = (
    ("__cublas$gemm", CustomCallKind.MATRIX_PRODUCT, _count_cublas),
    ("__cublas$lt$matmul", CustomCallKind.MATRIX_PRODUCT, _count_cublas),
    ("__cublas$triangularSolve", CustomCallKind.MATRIX_PRODUCT, _count_batched_solve),
    ("__cusolver$cholesky", CustomCallKind.MATRIX_PRODUCT, _count_cholesky),
    ("__onednn$matmul", CustomCallKind.MATRIX_PRODUCT, _count_onednn),
    ("__cudnn$conv", CustomCallKind.CONVOLUTION, _count_cudnn_convolution),
    ("__cudnn$fmha", CustomCallKind.ATTENTION, count_cudnn_attention),
    ("te_fused_attn_", CustomCallKind.ATTENTION, count_te_attention),
)


# Calls of libraries whose arithmetic nobody counts: normalizations, sorts, selections.
_LIBRARIES: Final = (
    "__cudnn$norm", "__cub$DeviceRadixSort", "__gpu$TopK", "TopK", "te_layernorm", "te_rmsnorm",
    "te_norm", "lapack_", "cusolver_", "hipsolver_",
)  # fmt: skip


def _find_estimate(instruction: Instruction) -> Mapping[str, object] | None:
    """Find the `cost_estimate` that Pallas writes when a kernel's author gave one."""
    if "cost_estimate" not in instruction.attributes.get("backend_config", ""):
        return None
    config = instruction.backend_config()
    for path in (("custom_call_config", "cost_estimate"), ("cost_estimate",)):
        estimate = config.find(*path) if config else None
        if isinstance(estimate, Mapping):
            return estimate
    return None
