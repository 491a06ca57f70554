"""What a custom call computes and moves, as far as its text, what it calls and rules tell.

Library calls count as HloCostAnalysis counts the operation of the same shapes; fused attention
(cuDNN's own calls and TransformerEngine's) as its matrix products over the pairs that the mask
leaves. What nothing tells is None, never 0. A `CallRule` of the user's says it of calls whose text
tells no cost; it may name the figures in `CALL_FIGURES`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost import arithmetic
from hlotool.analysis.cost.cost import (
    MALFORMED,
    Sizes,
    TypedFlops,
    UnknownCostError,
    count_elements,
    find_product_type,
    first_array,
    operand_shape,
)
from hlotool.hlo import ArrayShape, Instruction, Shape
from hlotool.hlo.shape import UNBOUNDED
from hlotool.table import BYTES, COUNT, Field
from hlotool.text import Pattern

if TYPE_CHECKING:
    from hlotool.table.expression.nodes import Expression, Read


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
            try:
                flops, is_upper_bound = count(instruction)
            except MALFORMED:
                return CustomCall(kind, None, bytes_from="shape")
            product_type = find_product_type(instruction)
            return CustomCall(kind, flops, is_upper_bound, None, "shape", "shape", product_type)
    if target.startswith(_LIBRARIES):
        return CustomCall(CustomCallKind.LIBRARY, None, bytes_from="shape")
    unknown = CustomCall(CustomCallKind.UNKNOWN, None)
    try:
        return _read_estimate(instruction) or unknown
    except MALFORMED:
        return unknown


def _read_estimate(instruction: Instruction) -> CustomCall | None:
    """Take the `cost_estimate` that Pallas writes when a kernel's author gave one."""
    if "cost_estimate" not in instruction.attributes.get("backend_config", ""):
        return None
    for path in (("custom_call_config", "cost_estimate"), ("cost_estimate",)):
        estimate = instruction.find_config(*path)
        if isinstance(estimate, Mapping):
            stated_bytes = _read_cost(estimate, "bytes_accessed") or None
            return CustomCall(
                CustomCallKind.STATED,
                _read_cost(estimate, "flops"),
                stated_bytes=stated_bytes,
                flops_from="estimate",
                bytes_from="estimate" if stated_bytes else "shape",
            )
    return None


def _read_cost(estimate: Mapping[str, object], key: str) -> int:
    """Read a cost, 0 where it is not stated; raise UnknownCostError for one that cannot be."""
    cost = _read_number(estimate.get(key, 0))
    if not 0 <= cost <= _LARGEST_COST:
        raise UnknownCostError(f"the cost estimate has an impossible {key}")
    return cost


def _read_numbers(config: object, key: str) -> tuple[int, ...]:
    """Read a list of integers that JSON holds as strings; raises UnknownCostError."""
    values = config.get(key) if isinstance(config, Mapping) else None
    if not isinstance(values, list):
        raise UnknownCostError(f"the backend_config has no list {key}")
    return tuple(map(_read_number, values))


def _read_number(value: object) -> int:
    """Read an integer that JSON holds as a number or, for 64 bits, as a string."""
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return int(value)
    raise UnknownCostError("the backend_config lacks a number")


def _count_cublas(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cublas$gemm` and `__cublas$lt$matmul*`: operands lhs, rhs, then additions."""
    dimensions = instruction.find_config("gemm_backend_config", "dot_dimension_numbers")
    contracting = _read_numbers(dimensions, "lhs_contracting_dimensions")
    result = first_array(instruction.shape)
    return arithmetic.count_dot_flops(result, operand_shape(instruction, 0), contracting), False


def _count_onednn(instruction: Instruction) -> tuple[int, bool]:
    """Count `__onednn$matmul`: the last two dimensions, one side perhaps transposed."""
    flags = instruction.find_config("onednn_matmul_config")
    is_transposed = isinstance(flags, Mapping) and flags.get("transpose_a") is True
    lhs = operand_shape(instruction, 0)
    contracted = len(lhs.dims) - (2 if is_transposed else 1)
    return arithmetic.count_dot_flops(first_array(instruction.shape), lhs, (contracted,)), False


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
        return arithmetic.count_convolution_flops(instruction, result, rhs, lhs), False
    if target.startswith("__cudnn$convBackwardFilter"):
        return arithmetic.count_convolution_flops(instruction, lhs, result, rhs), False
    return arithmetic.count_convolution_flops(instruction, lhs, rhs, result), False


# MLIR attributes as TransformerEngine prints them: `attn_heads = 48 : i64`.
_MLIR_INTEGER: Final = r"(\w+) = (-?\d{1,18}) : i(?:32|64)"
# NVTE_Mask_Type (transformer_engine/fused_attn.h): which masks leave a triangle, which of
# those hang from the bottom right corner, which hide padding of a length known only at run time.
_TE_CAUSAL: Final = frozenset((2, 3, 4, 5))
_TE_BOTTOM_RIGHT: Final = frozenset((4, 5))
_TE_PADDING: Final = frozenset((1, 3, 5))


def _count_te_attention(instruction: Instruction) -> tuple[int, bool]:
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


def _count_cudnn_attention(instruction: Instruction) -> tuple[int, bool]:
    """Count `__cudnn$fmha*`: operands q, k, v; the config names the scores' shape and the mask.

    Returns flops, and whether padding may make them fewer.
    """
    config = instruction.find_config("cudnn_fmha_backend_config")
    if not isinstance(config, Mapping):
        raise UnknownCostError("the backend_config has no cudnn_fmha_backend_config")
    *batch, queries, keys = _read_numbers(config.get("intermediate_tensor_shape"), "dimensions")
    qk_size, v_size = (operand_shape(instruction, number).dims[-1] for number in (0, 2))
    mask = str(config.get("mask_type", ""))
    window = _read_number(config.get("sliding_window_length", 0))
    pairs = count_attended_pairs(
        queries,
        keys,
        shift=0 if "CAUSAL" in mask else None,
        left=window - 1 if window > 0 else None,
    )
    is_backward = "Backward" in instruction.custom_call_target
    flops = _count_products(prod(batch) * pairs, qk_size, v_size, is_backward=is_backward)
    return flops, "PADDING" in mask


def _count_products(pairs: int, qk_size: int, v_size: int, *, is_backward: bool) -> int:
    """Count the matrix products of attention over `pairs` of query and key.

    Forward q·k and p·v. Backward q·k again, and the gradients of v and p (over the size of
    v), of q and k (over that of q). Softmax is not counted.
    """
    size = 3 * qk_size + 2 * v_size if is_backward else qk_size + v_size
    return arithmetic.MULTIPLY_ADD * pairs * size


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
    return rising * first + rising * (rising - 1) // 2 + (count - zeros - rising) * most


# Returns flops, and whether they are an upper bound.
FlopCounter: TypeAlias = Callable[[Instruction], tuple[int, bool]]

_PRODUCT: Final = CustomCallKind.MATRIX_PRODUCT
_COUNTERS: Final[tuple[tuple[str, CustomCallKind, FlopCounter], ...]] = (
    ("__cublas$gemm", _PRODUCT, _count_cublas),
    ("__cublas$lt$matmul", _PRODUCT, _count_cublas),
    ("__cublas$triangularSolve", _PRODUCT, lambda one: (arithmetic.count_solve_flops(one), False)),
    ("__cusolver$cholesky", _PRODUCT, lambda one: (arithmetic.count_cholesky_flops(one), False)),
    ("__onednn$matmul", _PRODUCT, _count_onednn),
    ("__cudnn$conv", CustomCallKind.CONVOLUTION, _count_cudnn_convolution),
    ("__cudnn$fmha", CustomCallKind.ATTENTION, _count_cudnn_attention),
    ("te_fused_attn_", CustomCallKind.ATTENTION, _count_te_attention),
)


# Calls of libraries whose arithmetic nobody counts: normalizations, sorts, selections.
_LIBRARIES: Final = (
    "__cudnn$norm", "__cub$DeviceRadixSort", "__gpu$TopK", "TopK", "te_layernorm", "te_rmsnorm",
    "te_norm", "lapack_", "cusolver_", "hipsolver_",
)  # fmt: skip


_MOST_ARRAYS: Final = 16  # operands that have names, and results
_MOST_DIMS: Final = 8


def _declare() -> Iterator[Field]:
    main = "in space 0, which on TPU is HBM"
    yield Field("operand_bytes", BYTES, f"size of the operands {main}; each counts once")
    yield Field("result_bytes", BYTES, f"size of the results {main}")
    for of in ("operand", "result"):
        for number in range(_MOST_ARRAYS):
            name = f"{of}{number}"
            yield Field(f"{name}_bytes", BYTES, f"size of {of} {number}")
            yield Field(f"{name}_elements", COUNT, f"elements of {of} {number}, if an array")
            for dim in range(_MOST_DIMS):
                yield Field(f"{name}_dim{dim}", COUNT, f"dimension {dim} of {of} {number}")


CALL_FIGURES: Final[Mapping[str, Field]] = {one.name: one for one in _declare()}


def read_call_figures(instruction: Instruction) -> Mapping[str, int]:
    """Return the figures that a custom call has, by their names in `CALL_FIGURES`.

    Left out is what it has not: an operand or a dimension that is not there, the elements of a
    tuple, what the text leaves open. Results are the arrays of the result, however nested.
    Sizes are the host's, without the padding of tiles.
    """
    found: dict[str, int] = {}
    sizes = Sizes()
    operands = [one.shape for one in instruction.operands]
    distinct = [leaf for one in dict.fromkeys(instruction.operands) for leaf in one.shape.leaves()]
    for name, arrays in (("operand", distinct), ("result", instruction.shape.leaves())):
        with suppress(UnknownCostError):
            found[f"{name}_bytes"] = sum(
                sizes.content_bytes(one) for one in arrays if one.memory_space == 0
            )
    results = islice(instruction.shape.leaves(), _MOST_ARRAYS)
    for name, shapes in (("operand", operands[:_MOST_ARRAYS]), ("result", results)):
        for number, shape in enumerate(shapes):
            found |= _read_array(f"{name}{number}", shape, sizes)
    return found


def _read_array(name: str, shape: Shape, sizes: Sizes) -> Mapping[str, int]:
    found: dict[str, int] = {}
    with suppress(UnknownCostError):
        found[f"{name}_bytes"] = sizes.content_bytes(shape)
        found[f"{name}_elements"] = count_elements(shape)
    if isinstance(shape, ArrayShape):
        for dim, size in enumerate(shape.dims[:_MOST_DIMS]):
            if size != UNBOUNDED:
                found[f"{name}_dim{dim}"] = size
    return found


_Figures: TypeAlias = Mapping[str, int]
_Count: TypeAlias = Callable[[_Figures], int | None]


class CallRule(Struct, frozen=True):
    """A `[[custom_call]]`, its expressions parsed: flops and bytes of calls to some targets.

    Names in an expression are those of `CALL_FIGURES`. None is a figure that the rule leaves
    unknown.
    """

    target: Pattern
    flops: Expression | None = None
    bytes: Expression | None = None


def compile_call_rules(rules: Sequence[CallRule]) -> FindStated:
    """Return the function that says what the rules state of a custom call.

    For each figure the first rule counts whose pattern is found in the target and whose
    expression comes to something: a name that the call has not makes it unknown.
    """
    compiled = [(one.target, _compile(one.flops), _compile(one.bytes)) for one in rules]

    def find_stated(instruction: Instruction) -> StatedCost:
        target = instruction.custom_call_target
        matching = [counts for pattern, *counts in compiled if pattern.is_found(target)]
        if not matching:
            return StatedCost()
        figures = read_call_figures(instruction)
        flops, size = (
            (count(figures) for count in counts) for counts in zip(*matching, strict=True)
        )
        return StatedCost(_first(flops), _first(size))

    return find_stated


def _compile(tree: Expression | None) -> _Count:
    """Return the function that evaluates an expression over the figures of a call."""
    if tree is None:
        return lambda _: None
    from hlotool.table.expression.compile import as_number, compile_value  # noqa: PLC0415
    from hlotool.table.expression.nodes import Name  # noqa: PLC0415

    def find_reader(read: Read) -> Callable[[_Figures], int | None]:
        return lambda figures: figures.get(read.path) if isinstance(read, Name) else None

    read = compile_value(tree, find_reader)

    def count(figures: _Figures) -> int | None:
        """Round to whole operations or bytes; what is below 0 or without end is unknown."""
        number = as_number(read(figures))
        return round(number) if number is not None and 0 <= number < math.inf else None

    return count


def _first(counts: Iterable[int | None]) -> int | None:
    return next((one for one in counts if one is not None), None)
