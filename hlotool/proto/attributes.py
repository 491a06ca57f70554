"""Which attributes do instructions of several kinds share?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.

Which attributes does XLA write for arithmetic?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.

Which attributes does XLA write for what takes elements along dimensions?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.

Which attributes does XLA write for what hands values on: parameters, fusions, feeds, copies?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.

Which attributes does XLA write for an operation between devices?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.

Which attributes does XLA write for a custom call?

Follows `HloCustomCallInstruction` in xla/hlo/ir/hlo_instructions.cc.

Which attributes does XLA write for each opcode, but those between devices and custom calls?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.proto.literals import render_literal
from hlotool.proto.messages import HloInstructionProto, enum_names
from hlotool.proto.nodes import Node
from hlotool.proto.shapes import (
    ShapeTexts,
    escape_text,
    join_numbers,
    list_dot,
    list_gather,
    list_ragged_dot,
    list_scatter,
    primitive_name,
    render_labels,
    render_padding,
    render_window,
)
from hlotool.proto.sharding import render_groups, render_pairs, render_sharding

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


def list_dimensions(node: Node, _: ShapeTexts) -> list[str]:
    """Return the dimensions, whatever the opcode does along them."""
    return [f"dimensions={join_numbers(node.proto.dimensions)}"]


def list_window(node: Node, _: ShapeTexts) -> list[str]:
    """Return the window, where it has a dimension."""
    window = node.proto.window
    return [f"window={render_window(window)}"] if window.dimensions else []


_FLAGS: Final = ("false", "true")


def _list_convolution(node: Node, shapes: ShapeTexts) -> list[str]:
    proto = node.proto
    parts = list_window(node, shapes)
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


ARITHMETIC: Final[dict[str, Callable[[Node, ShapeTexts], list[str]]]] = {
    "batch-norm-grad": _list_batch_norm,
    "batch-norm-inference": _list_batch_norm,
    "batch-norm-training": _list_batch_norm,
    "cholesky": _list_cholesky,
    "compare": _list_compare,
    "convolution": _list_convolution,
    "dot": _list_dot,
    "fft": _list_fft,
    "ragged-dot": _list_ragged_dot,
    "reduce-precision": _list_reduce_precision,
    "rng": _list_rng,
    "rng-bit-generator": _list_rng_bits,
    "rng-get-and-update-state": _list_rng_state,
    "scaled-dot": _list_dot,
    "topk": _list_topk,
    "triangular-solve": _list_triangular_solve,
}


def _list_map(node: Node, _: ShapeTexts) -> list[str]:
    return [f"dimensions={join_numbers(range(len(node.proto.shape.dimensions)))}"]


def _list_sort(node: Node, shapes: ShapeTexts) -> list[str]:
    return [*list_dimensions(node, shapes), *["is_stable=true"] * node.proto.is_stable]


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


def _list_pad(node: Node, _: ShapeTexts) -> list[str]:
    return [f"padding={render_padding(node.proto.padding_config)}"]


def _list_scan(node: Node, shapes: ShapeTexts) -> list[str]:
    proto = node.proto
    associative = {1: ["is_associative=true"], 2: ["is_associative=false"]}
    return [
        *list_dimensions(node, shapes),
        *["is_reverse=true"] * proto.is_reverse,
        f"num_carries={proto.num_carries}",
        *associative.get(proto.is_associative, []),
    ]


ELEMENTS: Final[dict[str, Callable[[Node, ShapeTexts], list[str]]]] = {
    "broadcast": list_dimensions,
    "concatenate": list_dimensions,
    "dynamic-slice": _list_dynamic_slice,
    "gather": _list_gather,
    "get-dimension-size": list_dimensions,
    "iota": _list_iota,
    "map": _list_map,
    "pad": _list_pad,
    "reduce": list_dimensions,
    "reduce-window": list_window,
    "reshape": _list_reshape,
    "reverse": list_dimensions,
    "scan": _list_scan,
    "scatter": _list_scatter,
    "select-and-scatter": list_window,
    "set-dimension-size": list_dimensions,
    "slice": _list_slice,
    "sort": _list_sort,
    "transpose": list_dimensions,
}


def _list_parameter(node: Node, _: ShapeTexts) -> list[str]:
    if not node.proto.HasField("parameter_replication"):
        return []
    leaves = node.proto.parameter_replication.replicated_at_leaf_buffers
    words = ",".join(_FLAGS[each] for each in leaves)
    return [f"parameter_replication={{{words}}}"] if leaves else []


def _list_fusion(node: Node, _: ShapeTexts) -> list[str]:
    return [f"kind={escape_text(node.proto.fusion_kind)}", *list_aliasing(node.proto)]


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


PASSING: Final[dict[str, Callable[[Node, ShapeTexts], list[str]]]] = {
    "copy-start": _list_copy_start,
    "domain": _list_domain,
    "fusion": _list_fusion,
    "get-tuple-element": _list_tuple_index,
    "infeed": _list_infeed,
    "outfeed": _list_outfeed,
    "parameter": _list_parameter,
}


def list_channel(proto: HloInstructionProto) -> list[str]:
    """Return the channel; 0 is none."""
    return [f"channel_id={proto.channel_id}"] if proto.channel_id > 0 else []


def _list_groups(proto: HloInstructionProto) -> list[str]:
    return [
        *list_channel(proto),
        f"replica_groups={render_groups(proto)}",
        *["constrain_layout=true"] * proto.constrain_layout,
    ]


def _list_dimension(proto: HloInstructionProto) -> list[str]:
    return [f"dimensions={join_numbers(proto.dimensions)}"] if proto.dimensions else []


def _list_global(proto: HloInstructionProto) -> list[str]:
    return ["use_global_device_ids=true"] * proto.use_global_device_ids


def _list_all_gather(proto: HloInstructionProto) -> list[str]:
    return [*_list_groups(proto), *_list_dimension(proto), *_list_global(proto)]


def _list_all_reduce(proto: HloInstructionProto) -> list[str]:
    return [*_list_groups(proto), *_list_global(proto)]


def _list_reduce_scatter(proto: HloInstructionProto) -> list[str]:
    return [*_list_groups(proto), *_list_global(proto), *_list_dimension(proto)]


def _list_all_to_all(proto: HloInstructionProto) -> list[str]:
    return [*_list_groups(proto), *_list_dimension(proto)]


def _list_permute(proto: HloInstructionProto) -> list[str]:
    parts = [*list_channel(proto), f"source_target_pairs={render_pairs(proto)}"]
    if proto.dynamic_slice_sizes:
        parts.append(f"slice_sizes={{{join_numbers(proto.dynamic_slice_sizes)}}}")
    return parts


def _list_transfer(proto: HloInstructionProto) -> list[str]:
    return [*list_channel(proto), *["is_host_transfer=true"] * proto.is_host_transfer]


COLLECTIVES: Final[dict[str, Callable[[HloInstructionProto], list[str]]]] = {
    "all-gather": _list_all_gather,
    "all-gather-start": _list_all_gather,
    "all-reduce": _list_all_reduce,
    "all-reduce-start": _list_all_reduce,
    "all-to-all": _list_all_to_all,
    "collective-broadcast": _list_groups,
    "collective-permute": _list_permute,
    "collective-permute-start": _list_permute,
    "ragged-all-to-all": _list_groups,
    "recv": _list_transfer,
    "recv-done": _list_transfer,
    "reduce-scatter": _list_reduce_scatter,
    "send": _list_transfer,
    "send-done": _list_transfer,
}

_ORIGINAL: Final = 1  # the version that is not written; what an old proto leaves out is that


def list_custom_call(proto: HloInstructionProto, shapes: ShapeTexts) -> list[str]:
    """Return the attributes of a custom call but the computations it calls."""
    parts: list[str] = []
    if proto.HasField("window"):
        parts.append(f"window={render_window(proto.window)}")
    if proto.HasField("convolution_dimension_numbers"):
        parts.append(f"dim_labels={render_labels(proto.convolution_dimension_numbers)}")
    parts += list_convolution_counts(proto)
    parts += list_precision(proto)
    if proto.padding_type:
        parts.append(f"padding_type={enum_names('PaddingType').get(proto.padding_type, '')}")
    parts.append(f'custom_call_target="{escape_text(proto.custom_call_target)}"')
    if proto.constrain_layout:
        operands = ", ".join(map(shapes.long, proto.operand_shapes_with_layout))
        parts.append(f"operand_layout_constraints={{{operands}}}")
    if proto.custom_call_has_side_effect:
        parts.append("custom_call_has_side_effect=true")
    if proto.HasField("literal"):
        parts.append(f"literal={render_literal(proto.literal, shapes)}")
    parts += list_aliasing(proto)
    if proto.custom_call_schedule:
        name = enum_names("CustomCallSchedule").get(proto.custom_call_schedule, "")
        parts.append(f"schedule={name}")
    if proto.custom_call_api_version not in {0, _ORIGINAL}:
        name = enum_names("CustomCallApiVersion").get(proto.custom_call_api_version, "")
        parts.append(f"api_version={name}")
    return parts


ATTRIBUTES: Final[dict[str, Callable[[Node, ShapeTexts], list[str]]]] = {
    **ARITHMETIC,
    **ELEMENTS,
    **PASSING,
}
