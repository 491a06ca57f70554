"""The attributes that belong to an opcode, and how XLA writes them.

`ATTRIBUTES` lists for each opcode the functions that write them, in XLA's order; each returns what
it writes, nothing for what is left out. Follows the `PrintExtraAttributesImpl` of each class in
xla/hlo/ir/hlo_instructions.cc, and xla/window_util.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from hlotool.proto import values
from hlotool.proto.messages import DotDimensionNumbers, Window, WindowDimension, enum_names
from hlotool.proto.nodes import Node
from hlotool.proto.sharding import render_groups, render_pairs, render_sharding

Attribute: TypeAlias = Callable[[Node, values.ShapeTexts], list[str]]

_ORIGINAL: Final = 1  # the API version that is not written; what an old proto leaves out is that
_MOST_DIMENSIONS: Final = 1000
_FLAGS: Final = ("false", "true")
_LAST_INDEX: Final = "index_vector_dim"  # the one field that is no list


def list_own_attributes(node: Node, shapes: values.ShapeTexts) -> list[str]:
    """Return the attributes that belong to the opcode of an instruction, but what it calls."""
    if not (writers := ATTRIBUTES.get(node.opcode)):
        return []
    return [text for list_attribute in writers for text in list_attribute(node, shapes)]


def _flag(key: str, inside: str = "") -> Attribute:
    """Return what writes a flag where it is set, of a message inside the instruction's if named."""
    if inside:
        return lambda node, _: [f"{key}=true"] * getattr(getattr(node.proto, inside), key)
    return lambda node, _: [f"{key}=true"] * getattr(node.proto, key)


def _value(key: str, field: str = "") -> Attribute:
    return lambda node, _: [f"{key}={getattr(node.proto, field or key)}"]


def _text(key: str, field: str) -> Attribute:
    return lambda node, _: [f"{key}={values.escape_text(getattr(node.proto, field))}"]


def _numbers(key: str, field: str = "") -> Attribute:
    return lambda node, _: [f"{key}={values.join_numbers(getattr(node.proto, field or key))}"]


def _first_dimension(key: str) -> Attribute:
    return lambda node, _: [f"{key}={each}" for each in node.proto.dimensions[:1]]


def _enum(key: str, enum: str, field: str) -> Attribute:
    """Return what writes the name of an enum's value in small letters."""
    return lambda node, _: [f"{key}={_name(enum, getattr(node.proto, field)).lower()}"]


def _name(enum: str, number: int) -> str:
    return enum_names(enum).get(number, "")


def _list_if(key: str, numbers: Sequence[int]) -> list[str]:
    return [f"{key}={values.join_numbers(numbers)}"] if numbers else []


def _list_gathered(node: Node, _: values.ShapeTexts) -> list[str]:
    return _list_if("dimensions", node.proto.dimensions)


def _list_precision(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return how exactly the operands are taken, and how they are multiplied."""
    if not node.proto.HasField("precision_config"):
        return []
    config, parts = node.proto.precision_config, []
    if any(config.operand_precision):
        names = (_name("PrecisionConfig.Precision", each) for each in config.operand_precision)
        parts.append(f"operand_precision={{{','.join(names).lower()}}}")
    if config.algorithm:
        name = _name("PrecisionConfig.Algorithm", config.algorithm)
        parts.append(f"algorithm={name.removeprefix('ALG_').lower()}")
    return parts


def _list_window(node: Node, _: values.ShapeTexts) -> list[str]:
    window = node.proto.window
    return [f"window={_render_window(window)}"] if window.dimensions else []


def _render_window(window: Window) -> str:
    """Return a window in braces; what is the same as without it is left out, but for its size."""
    fields: list[tuple[str, Callable[[WindowDimension], str], str]] = [
        ("size", lambda each: str(each.size), ""),
        ("stride", lambda each: str(each.stride), "1"),
        ("pad", lambda each: f"{each.padding_low}_{each.padding_high}", "0_0"),
        ("lhs_dilate", lambda each: str(each.base_dilation), "1"),
        ("rhs_dilate", lambda each: str(each.window_dilation), "1"),
        ("rhs_reversal", lambda each: str(int(each.window_reversal)), "0"),
    ]
    texts = [(key, list(map(get, window.dimensions)), usual) for key, get, usual in fields]
    parts = (
        f"{key}={'x'.join(each)}" for key, each, usual in texts if any(one != usual for one in each)
    )
    return f"{{{' '.join(parts)}}}"


def _list_padding(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return what is added at the edges, and between elements: `1_0_1x1_1_0`."""
    dimensions = node.proto.padding_config.dimensions
    has_interior = any(each.interior_padding for each in dimensions)
    parts = (
        f"{each.edge_padding_low}_{each.edge_padding_high}"
        + (f"_{each.interior_padding}" if has_interior else "")
        for each in dimensions
    )
    return [f"padding={'x'.join(parts)}"]


def _list_labels(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return the letter of each dimension of a convolution: `dim_labels=b01f_01io->b01f`."""
    own = node.proto.convolution_dimension_numbers
    inputs = {"b": own.input_batch_dimension, "f": own.input_feature_dimension}
    kernel = {"i": own.kernel_input_feature_dimension, "o": own.kernel_output_feature_dimension}
    output = {"b": own.output_batch_dimension, "f": own.output_feature_dimension}
    left = _label(inputs, own.input_spatial_dimensions)
    right = _label(kernel, own.kernel_spatial_dimensions)
    return [f"dim_labels={left}_{right}->{_label(output, own.output_spatial_dimensions)}"]


def _label(places: dict[str, int], spatial: Sequence[int]) -> str:
    """Return the letters in the order of the dimensions; `?` for one without."""
    places = places | {str(number): place for number, place in enumerate(spatial)}
    # A broken proto may name a dimension far away.
    letters = ["?"] * min(max(places.values()) + 1, _MOST_DIMENSIONS)
    for letter, place in places.items():
        if 0 <= place < len(letters):
            letters[place] = letter
    return "".join(letters)


def _list_convolution_counts(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return how many groups a convolution has, where that is not one; 0 is one, too."""
    counts = (
        ("feature_group_count", node.proto.feature_group_count),
        ("batch_group_count", node.proto.batch_group_count),
    )
    return [f"{key}={count}" for key, count in counts if count not in {0, 1}]


def _list_convolution_kind(node: Node, _: values.ShapeTexts) -> list[str]:
    name = _name("ConvolutionKind", node.proto.conv_kind).removeprefix("CONVOLUTION_KIND_")
    return [f"conv_kind={name.lower()}"] if node.proto.conv_kind else []


def _list_dot(node: Node, _: values.ShapeTexts) -> list[str]:
    return _list_dot_numbers(node.proto.dot_dimension_numbers)


def _list_dot_numbers(numbers: DotDimensionNumbers) -> list[str]:
    return [
        *_list_if("lhs_batch_dims", numbers.lhs_batch_dimensions),
        f"lhs_contracting_dims={values.join_numbers(numbers.lhs_contracting_dimensions)}",
        *_list_if("rhs_batch_dims", numbers.rhs_batch_dimensions),
        f"rhs_contracting_dims={values.join_numbers(numbers.rhs_contracting_dimensions)}",
    ]


def _list_ragged_dot(node: Node, _: values.ShapeTexts) -> list[str]:
    numbers = node.proto.ragged_dot_dimension_numbers
    return [
        *_list_dot_numbers(numbers.dot_dimension_numbers),
        f"lhs_ragged_dims={values.join_numbers(numbers.lhs_ragged_dimensions)}",
        *_list_if("rhs_group_dims", numbers.rhs_group_dimensions),
    ]


def _list_comparison(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return the type of a comparison, where it is not the usual one of the operands' type."""
    kind = node.proto.comparison_type
    if not kind or not node.operands:
        return []
    name = values.primitive_name(values.decode_shape(node.operands[0].proto.shape).element_type)
    usual = {"s": "SIGNED", "u": "UNSIGNED", "p": "UNSIGNED"}.get(name[0], "FLOAT")
    return [f"type={values.escape_text(kind)}"] * (kind != usual)


def _list_transpose(node: Node, _: values.ShapeTexts) -> list[str]:
    number = node.proto.triangular_solve_options.transpose_a
    return [f"transpose_a={_name('TriangularSolveOptions.Transpose', number)}"] if number else []


def _list_slice(node: Node, _: values.ShapeTexts) -> list[str]:
    dimensions = node.proto.slice_dimensions
    has_strides = any(each.stride != 1 for each in dimensions)
    parts = (
        f"[{each.start}:{each.limit}" + (f":{each.stride}]" if has_strides else "]")
        for each in dimensions
    )
    return [f"slice={{{', '.join(parts)}}}"]


def _index_numbers(field: str) -> Attribute:
    """Return what writes the numbers of a gather or scatter; those of batches if there are any."""

    def list_numbers(node: Node, _: values.ShapeTexts) -> list[str]:
        numbers = getattr(node.proto, field)
        lists = [(each.name, getattr(numbers, each.name)) for each in numbers.DESCRIPTOR.fields]
        parts = [
            f"{key}={values.join_numbers(value)}"
            for key, value in lists
            if key != _LAST_INDEX and (value or not key.endswith("batching_dims"))
        ]
        return [*parts, f"{_LAST_INDEX}={numbers.index_vector_dim}"]

    return list_numbers


def _list_associative(node: Node, _: values.ShapeTexts) -> list[str]:
    associative = {1: ["is_associative=true"], 2: ["is_associative=false"]}
    return associative.get(node.proto.is_associative, [])


def _list_replication(node: Node, _: values.ShapeTexts) -> list[str]:
    if not node.proto.HasField("parameter_replication"):
        return []
    leaves = node.proto.parameter_replication.replicated_at_leaf_buffers
    words = ",".join(_FLAGS[each] for each in leaves)
    return [f"parameter_replication={{{words}}}"] if leaves else []


def _list_aliasing(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return which output lies in the memory of which operand."""
    pairs = ", ".join(
        f"{values.join_numbers(each.output_shape_index)}: "
        f"({each.operand_index}, {values.join_numbers(each.operand_shape_index)})"
        for each in node.proto.output_operand_aliasing
    )
    return [f"output_to_operand_aliasing={{{pairs}}}"] if pairs else []


def _feed_config(key: str) -> Attribute:
    def list_config(node: Node, _: values.ShapeTexts) -> list[str]:
        config = getattr(node.proto, key)
        return [f'{key}="{values.escape_text(config)}"'] if config else []

    return list_config


def _list_domain(node: Node, _: values.ShapeTexts) -> list[str]:
    """Return both sides; XLA fills the field named after the entry from the operand's, its exit."""
    proto, entry, leave = node.proto, "{}", "{}"
    if proto.HasField("domain_exit_sharding"):
        entry = render_sharding(proto.domain_exit_sharding)
    if proto.HasField("domain_entry_sharding"):
        leave = render_sharding(proto.domain_entry_sharding)
    return [f'domain={{kind="sharding", entry={entry}, exit={leave}}}']


def _list_prefetch(node: Node, _: values.ShapeTexts) -> list[str]:
    proto = node.proto
    if proto.HasField("cross_program_prefetch_index"):
        return [f"cross_program_prefetch_index={proto.cross_program_prefetch_index}"]
    return ["cross_program_prefetch_index=0"] * proto.is_cross_program_prefetch


def _list_channel(node: Node, _: values.ShapeTexts) -> list[str]:
    return [f"channel_id={node.proto.channel_id}"] if node.proto.channel_id > 0 else []


def _list_pairs(node: Node, _: values.ShapeTexts) -> list[str]:
    parts = [f"source_target_pairs={render_pairs(node.proto)}"]
    if node.proto.dynamic_slice_sizes:
        parts.append(f"slice_sizes={{{values.join_numbers(node.proto.dynamic_slice_sizes)}}}")
    return parts


def _list_custom_call(node: Node, shapes: values.ShapeTexts) -> list[str]:
    """Return the attributes of a custom call; what may stand on any is written where it is set."""
    proto, parts = node.proto, list[str]()
    if proto.HasField("window"):
        parts.append(f"window={_render_window(proto.window)}")
    if proto.HasField("convolution_dimension_numbers"):
        parts += _list_labels(node, shapes)
    parts += _list_convolution_counts(node, shapes)
    parts += _list_precision(node, shapes)
    if proto.padding_type:
        parts.append(f"padding_type={_name('PaddingType', proto.padding_type)}")
    parts.append(f'custom_call_target="{values.escape_text(proto.custom_call_target)}"')
    if proto.constrain_layout:
        operands = ", ".join(map(shapes.long, proto.operand_shapes_with_layout))
        parts.append(f"operand_layout_constraints={{{operands}}}")
    parts += ["custom_call_has_side_effect=true"] * proto.custom_call_has_side_effect
    if proto.HasField("literal"):
        parts.append(f"literal={values.render_literal(proto.literal, shapes)}")
    parts += _list_aliasing(node, shapes)
    if proto.custom_call_schedule:
        parts.append(f"schedule={_name('CustomCallSchedule', proto.custom_call_schedule)}")
    if proto.custom_call_api_version not in {0, _ORIGINAL}:
        parts.append(f"api_version={_name('CustomCallApiVersion', proto.custom_call_api_version)}")
    return parts


_DIMENSIONS: Final = _numbers("dimensions")
_BATCH_NORM: Final[tuple[Attribute, ...]] = (
    lambda node, _: [f"epsilon={node.proto.epsilon:g}"],
    _value("feature_index"),
)
_GROUPS: Final[tuple[Attribute, ...]] = (
    _list_channel,
    lambda node, _: [f"replica_groups={render_groups(node.proto)}"],
    _flag("constrain_layout"),
)
_GLOBAL_IDS: Final = _flag("use_global_device_ids")
_TRANSFER: Final = (_list_channel, _flag("is_host_transfer"))

ATTRIBUTES: Final[dict[str, tuple[Attribute, ...]]] = {
    "all-gather": (*_GROUPS, _list_gathered, _GLOBAL_IDS),
    "all-gather-start": (*_GROUPS, _list_gathered, _GLOBAL_IDS),
    "all-reduce": (*_GROUPS, _GLOBAL_IDS),
    "all-reduce-start": (*_GROUPS, _GLOBAL_IDS),
    "all-to-all": (*_GROUPS, _list_gathered),
    "batch-norm-grad": _BATCH_NORM,
    "batch-norm-inference": _BATCH_NORM,
    "batch-norm-training": _BATCH_NORM,
    "broadcast": (_DIMENSIONS,),
    "cholesky": (_flag("lower", "cholesky_options"),),
    "collective-broadcast": _GROUPS,
    "collective-permute": (_list_channel, _list_pairs),
    "collective-permute-start": (_list_channel, _list_pairs),
    "compare": (_text("direction", "comparison_direction"), _list_comparison),
    "concatenate": (_DIMENSIONS,),
    "convolution": (
        _list_window,
        _list_labels,
        _list_convolution_counts,
        _list_precision,
        _list_convolution_kind,
    ),
    "copy-start": (_list_prefetch,),
    "custom-call": (_list_custom_call,),
    "domain": (_list_domain,),
    "dot": (_list_dot, _list_precision),
    "dynamic-slice": (_numbers("dynamic_slice_sizes"),),
    "fft": (
        lambda node, _: [f"fft_type={_name('FftType', node.proto.fft_type)}"],
        _numbers("fft_length"),
    ),
    "fusion": (_text("kind", "fusion_kind"), _list_aliasing),
    "gather": (
        _index_numbers("gather_dimension_numbers"),
        _numbers("slice_sizes", "gather_slice_sizes"),
        _flag("indices_are_sorted"),
    ),
    "get-dimension-size": (_DIMENSIONS,),
    "get-tuple-element": (_value("index", "tuple_index"),),
    "infeed": (_feed_config("infeed_config"),),
    "iota": (_first_dimension("iota_dimension"),),
    # XLA numbers the dimensions of a map anew when it reads a proto, whatever stands there.
    "map": (
        lambda node, _: [
            f"dimensions={values.join_numbers(range(len(values.decode_shape(node.proto.shape).dimensions)))}"
        ],
    ),
    "outfeed": (
        lambda node, shapes: [f"outfeed_shape={shapes.long(node.proto.outfeed_shape)}"],
        _feed_config("outfeed_config"),
    ),
    "pad": (_list_padding,),
    "parameter": (_list_replication,),
    "ragged-all-to-all": _GROUPS,
    "ragged-dot": (_list_ragged_dot, _list_precision),
    "recv": _TRANSFER,
    "recv-done": _TRANSFER,
    "reduce": (_DIMENSIONS,),
    "reduce-precision": (_value("exponent_bits"), _value("mantissa_bits")),
    "reduce-scatter": (*_GROUPS, _GLOBAL_IDS, _list_gathered),
    "reduce-window": (_list_window,),
    "reshape": (_first_dimension("inferred_dimension"),),
    "reverse": (_DIMENSIONS,),
    "rng": (_enum("distribution", "RandomDistribution", "distribution"),),
    "rng-bit-generator": (_enum("algorithm", "RandomAlgorithm", "rng_algorithm"),),
    "rng-get-and-update-state": (_value("delta"),),
    "scaled-dot": (_list_dot, _list_precision),
    "scan": (_DIMENSIONS, _flag("is_reverse"), _value("num_carries"), _list_associative),
    "scatter": (
        _index_numbers("scatter_dimension_numbers"),
        _flag("indices_are_sorted"),
        _flag("unique_indices"),
    ),
    "select-and-scatter": (_list_window,),
    "send": _TRANSFER,
    "send-done": _TRANSFER,
    "set-dimension-size": (_DIMENSIONS,),
    "slice": (_list_slice,),
    "sort": (_DIMENSIONS, _flag("is_stable")),
    "topk": (_value("k"), lambda node, _: [f"largest={_FLAGS[node.proto.largest]}"]),
    "transpose": (_DIMENSIONS,),
    "triangular-solve": (
        _flag("left_side", "triangular_solve_options"),
        _flag("lower", "triangular_solve_options"),
        _flag("unit_diagonal", "triangular_solve_options"),
        _list_transpose,
    ),
}
