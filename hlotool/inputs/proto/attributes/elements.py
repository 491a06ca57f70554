"""Which attributes does XLA write for what takes elements along dimensions?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.inputs.proto.attributes.shared import list_dimensions, list_window
from hlotool.inputs.proto.nodes import Node
from hlotool.inputs.proto.values.dimensions import (
    join_numbers,
    list_gather,
    list_scatter,
    render_padding,
)
from hlotool.inputs.proto.values.shapes import ShapeTexts


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
