"""Which attributes does XLA write for each opcode? Those between devices are in `collectives`.

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.inputs.proto.dimensions import (
    join_numbers,
    list_dot,
    list_gather,
    list_ragged_dot,
    list_scatter,
    render_labels,
    render_padding,
    render_window,
)
from hlotool.inputs.proto.escape import escape_text
from hlotool.inputs.proto.messages import HloInstructionProto, enum_names
from hlotool.inputs.proto.nodes import Node
from hlotool.inputs.proto.shapes import ShapeTexts, primitive_name
from hlotool.inputs.proto.sharding import render_sharding

_FLAGS: Final = ("false", "true")
_NO_ALGORITHM: Final = 0


def list_precision(proto: HloInstructionProto) -> list[str]:
    """Return how exactly the operands are taken, and how they are multiplied."""
    if not proto.HasField("precision_config"):
        return []
    config, parts = proto.precision_config, []
    if any(config.operand_precision):
        names = enum_names("PrecisionConfig.Precision")
        words = ",".join(names.get(each, "").lower() for each in config.operand_precision)
        parts.append(f"operand_precision={{{words}}}")
    if config.algorithm != _NO_ALGORITHM:
        name = enum_names("PrecisionConfig.Algorithm").get(config.algorithm, "")
        parts.append(f"algorithm={name.removeprefix('ALG_').lower()}")
    return parts


def list_convolution_counts(proto: HloInstructionProto) -> list[str]:
    """Return how many groups a convolution has, where that is not one; 0 is one, too."""
    return [
        f"{key}={count}"
        for key, count in (
            ("feature_group_count", proto.feature_group_count),
            ("batch_group_count", proto.batch_group_count),
        )
        if count not in {0, 1}
    ]


def list_aliasing(proto: HloInstructionProto) -> list[str]:
    """Return which output lies in the memory of which operand."""
    if not proto.output_operand_aliasing:
        return []
    pairs = ", ".join(
        f"{join_numbers(each.output_shape_index)}: "
        f"({each.operand_index}, {join_numbers(each.operand_shape_index)})"
        for each in proto.output_operand_aliasing
    )
    return [f"output_to_operand_aliasing={{{pairs}}}"]


def _list_dimensions(node: Node, _: ShapeTexts) -> list[str]:
    return [f"dimensions={join_numbers(node.proto.dimensions)}"]


def _list_map(node: Node, _: ShapeTexts) -> list[str]:
    return [f"dimensions={join_numbers(range(len(node.proto.shape.dimensions)))}"]


def _list_sort(node: Node, shapes: ShapeTexts) -> list[str]:
    return [*_list_dimensions(node, shapes), *["is_stable=true"] * node.proto.is_stable]


def _list_reshape(node: Node, _: ShapeTexts) -> list[str]:
    return [f"inferred_dimension={each}" for each in node.proto.dimensions[:1]]


def _list_iota(node: Node, _: ShapeTexts) -> list[str]:
    return [f"iota_dimension={each}" for each in node.proto.dimensions[:1]]


def _list_slice(node: Node, _: ShapeTexts) -> list[str]:
    dimensions = node.proto.slice_dimensions
    has_strides = any(each.stride != 1 for each in dimensions)
    parts = (
        f"[{each.start}:{each.limit}" + (f":{each.stride}]" if has_strides else "]")
        for each in dimensions
    )
    return [f"slice={{{', '.join(parts)}}}"]


def _list_dynamic_slice(node: Node, _: ShapeTexts) -> list[str]:
    return [f"dynamic_slice_sizes={join_numbers(node.proto.dynamic_slice_sizes)}"]


def _list_window(node: Node, _: ShapeTexts) -> list[str]:
    window = node.proto.window
    return [f"window={render_window(window)}"] if window.dimensions else []


def _list_convolution(node: Node, shapes: ShapeTexts) -> list[str]:
    proto = node.proto
    parts = _list_window(node, shapes)
    parts.append(f"dim_labels={render_labels(proto.convolution_dimension_numbers)}")
    parts += list_convolution_counts(proto)
    parts += list_precision(proto)
    if proto.conv_kind:
        name = enum_names("ConvolutionKind").get(proto.conv_kind, "")
        parts.append(f"conv_kind={name.removeprefix('CONVOLUTION_KIND_').lower()}")
    return parts


def _list_dot(node: Node, _: ShapeTexts) -> list[str]:
    return [*list_dot(node.proto.dot_dimension_numbers), *list_precision(node.proto)]


def _list_ragged_dot(node: Node, _: ShapeTexts) -> list[str]:
    return [*list_ragged_dot(node.proto.ragged_dot_dimension_numbers), *list_precision(node.proto)]


def _list_gather(node: Node, _: ShapeTexts) -> list[str]:
    proto = node.proto
    return [
        *list_gather(proto.gather_dimension_numbers),
        f"slice_sizes={join_numbers(proto.gather_slice_sizes)}",
        *["indices_are_sorted=true"] * proto.indices_are_sorted,
    ]


def _list_scatter(node: Node, _: ShapeTexts) -> list[str]:
    proto = node.proto
    return [
        *list_scatter(proto.scatter_dimension_numbers),
        *["indices_are_sorted=true"] * proto.indices_are_sorted,
        *["unique_indices=true"] * proto.unique_indices,
    ]


def _list_compare(node: Node, _: ShapeTexts) -> list[str]:
    proto = node.proto
    parts = [f"direction={escape_text(proto.comparison_direction)}"]
    kind = proto.comparison_type
    if kind and node.operands:
        name = primitive_name(node.operands[0].proto.shape.element_type)
        usual = {"s": "SIGNED", "u": "UNSIGNED", "p": "UNSIGNED"}.get(name[0], "FLOAT")
        parts += [f"type={escape_text(kind)}"] * (kind != usual)
    return parts


def _list_batch_norm(node: Node, _: ShapeTexts) -> list[str]:
    return [f"epsilon={node.proto.epsilon:g}", f"feature_index={node.proto.feature_index}"]


def _list_fft(node: Node, _: ShapeTexts) -> list[str]:
    kind = enum_names("FftType").get(node.proto.fft_type, "")
    return [f"fft_type={kind}", f"fft_length={join_numbers(node.proto.fft_length)}"]


def _list_triangular_solve(node: Node, _: ShapeTexts) -> list[str]:
    options = node.proto.triangular_solve_options
    names = enum_names("TriangularSolveOptions.Transpose")
    return [
        *["left_side=true"] * options.left_side,
        *["lower=true"] * options.lower,
        *["unit_diagonal=true"] * options.unit_diagonal,
        *[f"transpose_a={names.get(options.transpose_a, '')}"] * bool(options.transpose_a),
    ]


def _list_cholesky(node: Node, _: ShapeTexts) -> list[str]:
    return ["lower=true"] * node.proto.cholesky_options.lower


def _list_topk(node: Node, _: ShapeTexts) -> list[str]:
    return [f"k={node.proto.k}", f"largest={_FLAGS[node.proto.largest]}"]


def _list_parameter(node: Node, _: ShapeTexts) -> list[str]:
    if not node.proto.HasField("parameter_replication"):
        return []
    leaves = node.proto.parameter_replication.replicated_at_leaf_buffers
    words = ",".join(_FLAGS[each] for each in leaves)
    return [f"parameter_replication={{{words}}}"] if leaves else []


def _list_fusion(node: Node, _: ShapeTexts) -> list[str]:
    return [f"kind={escape_text(node.proto.fusion_kind)}", *list_aliasing(node.proto)]


def _list_rng(node: Node, _: ShapeTexts) -> list[str]:
    name = enum_names("RandomDistribution").get(node.proto.distribution, "")
    return [f"distribution={name.lower()}"]


def _list_rng_bits(node: Node, _: ShapeTexts) -> list[str]:
    return [f"algorithm={enum_names('RandomAlgorithm').get(node.proto.rng_algorithm, '').lower()}"]


def _list_rng_state(node: Node, _: ShapeTexts) -> list[str]:
    return [f"delta={node.proto.delta}"]


def _list_reduce_precision(node: Node, _: ShapeTexts) -> list[str]:
    proto = node.proto
    return [f"exponent_bits={proto.exponent_bits}", f"mantissa_bits={proto.mantissa_bits}"]


def _list_infeed(node: Node, _: ShapeTexts) -> list[str]:
    config = node.proto.infeed_config
    return [f'infeed_config="{escape_text(config)}"'] if config else []


def _list_outfeed(node: Node, shapes: ShapeTexts) -> list[str]:
    config = node.proto.outfeed_config
    shape = shapes.long(node.proto.outfeed_shape)
    return [
        f"outfeed_shape={shape}",
        *([f'outfeed_config="{escape_text(config)}"'] if config else []),
    ]


def _list_pad(node: Node, _: ShapeTexts) -> list[str]:
    return [f"padding={render_padding(node.proto.padding_config)}"]


def _list_domain(node: Node, _: ShapeTexts) -> list[str]:
    """Return both sides; XLA fills the field named after the entry from the operand's, its exit."""
    proto = node.proto
    entry = (
        render_sharding(proto.domain_exit_sharding)
        if proto.HasField("domain_exit_sharding")
        else "{}"
    )
    leave = (
        render_sharding(proto.domain_entry_sharding)
        if proto.HasField("domain_entry_sharding")
        else "{}"
    )
    return [f'domain={{kind="sharding", entry={entry}, exit={leave}}}']


def _list_tuple_index(node: Node, _: ShapeTexts) -> list[str]:
    return [f"index={node.proto.tuple_index}"]


def _list_copy_start(node: Node, _: ShapeTexts) -> list[str]:
    proto = node.proto
    if proto.HasField("cross_program_prefetch_index"):
        return [f"cross_program_prefetch_index={proto.cross_program_prefetch_index}"]
    return ["cross_program_prefetch_index=0"] * proto.is_cross_program_prefetch


def _list_scan(node: Node, shapes: ShapeTexts) -> list[str]:
    proto = node.proto
    associative = {1: ["is_associative=true"], 2: ["is_associative=false"]}
    return [
        *_list_dimensions(node, shapes),
        *["is_reverse=true"] * proto.is_reverse,
        f"num_carries={proto.num_carries}",
        *associative.get(proto.is_associative, []),
    ]


ATTRIBUTES: Final[dict[str, Callable[[Node, ShapeTexts], list[str]]]] = {
    "batch-norm-grad": _list_batch_norm,
    "batch-norm-inference": _list_batch_norm,
    "batch-norm-training": _list_batch_norm,
    "broadcast": _list_dimensions,
    "cholesky": _list_cholesky,
    "compare": _list_compare,
    "concatenate": _list_dimensions,
    "convolution": _list_convolution,
    "copy-start": _list_copy_start,
    "domain": _list_domain,
    "dot": _list_dot,
    "dynamic-slice": _list_dynamic_slice,
    "fft": _list_fft,
    "fusion": _list_fusion,
    "gather": _list_gather,
    "get-dimension-size": _list_dimensions,
    "get-tuple-element": _list_tuple_index,
    "infeed": _list_infeed,
    "iota": _list_iota,
    "map": _list_map,
    "outfeed": _list_outfeed,
    "pad": _list_pad,
    "parameter": _list_parameter,
    "ragged-dot": _list_ragged_dot,
    "reduce": _list_dimensions,
    "reduce-precision": _list_reduce_precision,
    "reduce-window": _list_window,
    "reshape": _list_reshape,
    "reverse": _list_dimensions,
    "rng": _list_rng,
    "rng-bit-generator": _list_rng_bits,
    "rng-get-and-update-state": _list_rng_state,
    "scaled-dot": _list_dot,
    "scan": _list_scan,
    "scatter": _list_scatter,
    "select-and-scatter": _list_window,
    "set-dimension-size": _list_dimensions,
    "slice": _list_slice,
    "sort": _list_sort,
    "topk": _list_topk,
    "transpose": _list_dimensions,
    "triangular-solve": _list_triangular_solve,
}
