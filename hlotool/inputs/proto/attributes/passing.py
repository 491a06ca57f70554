"""Which attributes does XLA write for what hands values on: parameters, fusions, feeds, copies?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.inputs.proto.attributes.shared import list_aliasing
from hlotool.inputs.proto.nodes import Node
from hlotool.inputs.proto.values.escape import escape_text
from hlotool.inputs.proto.values.shapes import ShapeTexts
from hlotool.inputs.proto.values.sharding import render_sharding

_FLAGS: Final = ("false", "true")


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
