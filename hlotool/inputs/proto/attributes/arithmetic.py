"""Which attributes does XLA write for arithmetic?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.inputs.proto.attributes.shared import (
    list_convolution_counts,
    list_precision,
    list_window,
)
from hlotool.inputs.proto.messages import enum_names
from hlotool.inputs.proto.nodes import Node
from hlotool.inputs.proto.values.dimensions import (
    join_numbers,
    list_dot,
    list_ragged_dot,
    render_labels,
)
from hlotool.inputs.proto.values.escape import escape_text
from hlotool.inputs.proto.values.shapes import ShapeTexts, primitive_name

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
