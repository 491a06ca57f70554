"""How does XLA write where an instruction comes from, and what others attached to it?

Follows xla/hlo/ir/hlo_op_metadata.cc, hlo_original_value.cc and hlo_instruction_utils.cc.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from hlotool.proto.messages import (
    OpMetadata,
    OriginalArrayProto,
    OriginalValueElementProto,
    OriginalValueProto,
    Payload,
    ResultAccuracy,
    StatisticsViz,
    enum_names,
)
from hlotool.proto.shapes import escape_text, is_json_object


def render_metadata(
    metadata: OpMetadata, frame: int | None = None, payloads: Sequence[bytes] = ()
) -> str:
    """Return metadata without its braces: `op_name="f" source_file="a.py" source_line=3`.

    `frame` is the number that its stack frame has in the text, if that is another.
    """
    frame = metadata.stack_frame_id if frame is None else frame
    parts: list[str] = []
    for key, text in (
        ("op_type", metadata.op_type),
        ("op_name", metadata.op_name),
        ("source_file", metadata.source_file),
    ):
        if text:
            parts.append(f'{key}="{escape_text(text)}"')
    for key, number in (
        ("source_line", metadata.source_line),
        ("source_end_line", metadata.source_end_line),
        ("source_column", metadata.source_column),
        ("source_end_column", metadata.source_end_column),
    ):
        if number:
            parts.append(f"{key}={number}")
    if metadata.profile_type:
        parts.append(f"profile_type={{{','.join(map(str, metadata.profile_type))}}}")
    if metadata.deduplicated_name:
        parts.append(f'deduplicated_name="{escape_text(metadata.deduplicated_name)}"')
    if metadata.scheduling_name:
        parts.append(f'scheduling_name="{escape_text(metadata.scheduling_name)}"')
    if frame:
        parts.append(f"stack_frame_id={frame}")
    if payload := find_payload(metadata.metadata_payload, payloads):
        parts.append(f'metadata_payload="{escape_text(payload)}"')
    return " ".join(parts)


def render_metadata_list(metadata: Iterable[OpMetadata]) -> str:
    """Return several of them, each in braces."""
    return ", ".join(f"{{{render_metadata(each)}}}" for each in metadata)


def find_payload(payload: Payload, payloads: Sequence[bytes]) -> bytes:
    """Return the bytes that stand in a payload, or those of the table that it points to."""
    if payload.HasField("value"):
        return payload.value
    if payload.HasField("id") and 0 <= payload.id < len(payloads):
        return payloads[payload.id]
    return b""


def render_frontend_attributes(attributes: Mapping[str, str]) -> str:
    """Return a map in braces, sorted by key; a value is quoted unless it is a JSON object."""
    parts = [
        f"{key}={value}" if is_json_object(value) else f'{key}="{escape_text(value)}"'
        for key, value in sorted(attributes.items())
    ]
    return f"{{{','.join(parts)}}}"


def render_original_value(value: OriginalValueProto) -> str:
    """Return a value that an instruction stands for, as a tuple if it is one.

    value := "[synthetic_call]" | node
    node  := "{" [ '"' instruction '"' [ " {" index "}" ] ] "}" | "(" node { ", " node } ")"

    The proto lists the leaves of the tree, each with its index.
    """
    if value.is_synthetic_call:
        return "[synthetic_call]"
    leaves = [(tuple(each.shape_index), _render_leaf(each)) for each in value.elements]
    return _render_tree(leaves, 0)


def render_original_array(array: OriginalArrayProto) -> str:
    """Return the name of an instruction, and the index into its value."""
    index = f" {{{','.join(map(str, array.shape_index))}}}" if array.shape_index else ""
    return f'"{array.instruction_name}"{index}'


def _render_leaf(element: OriginalValueElementProto) -> str:
    if not element.HasField("original_array"):
        return "{}"
    return f"{{{render_original_array(element.original_array)}}}"


def _render_tree(leaves: Sequence[tuple[tuple[int, ...], str]], depth: int) -> str:
    """Return the leaves that share the first `depth` numbers of their index."""
    if len(leaves) == 1 and len(leaves[0][0]) == depth:
        return leaves[0][1]
    deeper = [leaf for leaf in leaves if len(leaf[0]) > depth]
    groups = groupby(deeper, key=lambda leaf: leaf[0][depth])
    return f"({', '.join(_render_tree(list(group), depth + 1) for _, group in groups)})"


def render_statistics(statistics: StatisticsViz) -> str:
    """Return statistics that a tool shows beside an instruction."""
    parts = [f"visualizing_index={statistics.stat_index_to_visualize}"]
    parts += [f"{each.stat_name}={each.stat_val:g}" for each in statistics.statistics]
    return f"{{{','.join(parts)}}}"


def render_accuracy(accuracy: ResultAccuracy) -> str:
    """Return how exact a result must be, '' where nothing is asked for."""
    if accuracy.mode:
        return f"{{mode={enum_names('ResultAccuracy.Mode').get(accuracy.mode, '').lower()}}}"
    if accuracy.HasField("tolerance"):
        bound = accuracy.tolerance
        return f"{{tolerance={{atol={bound.atol:g},rtol={bound.rtol:g},ulps={bound.ulps}}}}}"
    return ""
