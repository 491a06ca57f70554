"""What is attached to instructions: shardings, groups of devices, and where they come from.

Follows xla/hlo/ir/hlo_sharding.cc (`HloSharding::Print`), tile_assignment.cc, named_sharding.cc,
mesh_and_axis.cc, replica_group.cc, hlo_op_metadata.cc and hlo_original_value.cc.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.proto import messages as pb
from hlotool.proto.kind import BrokenFieldError, find_proto_head, list_fields
from hlotool.proto.values import escape_text, is_json_object, join_annotated, join_numbers

_TYPES: Final = {number: name.lower() for number, name in pb.enum_names("OpSharding.Type").items()}
_GROUP_WORDS: Final = {0: "shard_as", 1: "shard_like"}


def render_sharding(sharding: pb.OpSharding) -> str:
    """Return a sharding in braces, or those of a tuple's elements in braces.

    A tiled one says how many parts each dimension has, and the device of each part, in order:
    `{devices=[4,2]<=[8]}`, or with a list `{devices=[2,2]0,2,1,3}`. `<=[4,2]T(1,0)` stands for the
    numbers of the devices, reshaped and transposed.
    """
    kind = _TYPES.get(sharding.type, "")
    if kind == "tuple":
        return f"{{{join_annotated([render_sharding(each) for each in sharding.tuple_shardings])}}}"
    if sharding.HasField("named_sharding"):
        return _render_named(sharding.named_sharding)
    if kind == "maximal":
        device = next(iter(sharding.tile_assignment_devices), 0)
        return f"{{maximal device={device}{_render_end(sharding)}}}"
    if kind != "other":
        return f"{{{kind}{_render_end(sharding)}}}"
    dimensions = ",".join(map(str, sharding.tile_assignment_dimensions))
    devices = ",".join(map(str, sharding.tile_assignment_devices))
    if sharding.iota_reshape_dims:
        iota = _canonicalize_iota(sharding.iota_reshape_dims, sharding.iota_transpose_perm)
        devices = f"<={_render_iota(*iota)}"
    # What the last dimensions of the tiles are for, if not for splitting.
    names = ", ".join(_TYPES.get(each, "") for each in sharding.last_tile_dims)
    last = f" last_tile_dims={{{names}}}" if sharding.last_tile_dims else ""
    if sharding.replicate_on_last_tile_dim:
        last = " last_tile_dim_replicate"
    return f"{{devices=[{dimensions}]{devices}{last}{_render_end(sharding)}}}"


class EntryShardings(Struct, frozen=True):
    """The shardings of a module's parameters and of its result, as texts; none where it has none.

    They stand in the fields `spmd_parameters_shardings` and `spmd_output_sharding`.
    """

    parameters: tuple[str, ...] = ()
    result: str | None = None


_RESULT, _PARAMETERS = 12, 14  # in HloModuleProto


def find_entry_shardings(data: bytes) -> EntryShardings | None:
    """Return what a proto says of its module's entry; nothing else of the module is decoded.

    None for anything else than the proto of a module, and for one that is broken.
    """
    if (head := find_proto_head(data)) is None:
        return None
    begin, end = head.begin, len(data) if head.end is None else head.end
    found: dict[int, list[str]] = {_RESULT: [], _PARAMETERS: []}
    try:
        for _ in range(head.depth):  # the module is the first field of what it stands in
            first = next(list_fields(data, begin, end))
            begin, end = first.begin, first.end
        for field in list_fields(data, begin, end):
            if field.number in found:
                sharding = pb.OpSharding.FromString(data[field.begin : field.end])
                found[field.number].append(render_sharding(sharding))
    except (BrokenFieldError, DecodeError):
        return None
    return EntryShardings(tuple(found[_PARAMETERS]), next(iter(found[_RESULT]), None))


def _render_end(sharding: pb.OpSharding) -> str:
    """Return the group of shardings and the metadata."""
    text = ""
    if sharding.is_shard_group:
        text = f" {_GROUP_WORDS.get(sharding.shard_group_type, '')} {sharding.shard_group_id}"
    if len(sharding.metadata) == 1:
        return f"{text} metadata={{{render_metadata(sharding.metadata[0])}}}"
    if sharding.metadata:
        return f"{text} metadata={{{_render_metadata_list(sharding.metadata)}}}"
    return text


def render_groups(instruction: pb.HloInstructionProto) -> str:
    """Return the groups of a collective: `{{0,1},{2,3}}`, `[2,4]<=[8]`, or axes of a mesh."""
    if instruction.HasField("iota_collective_device_list"):
        iota = instruction.iota_collective_device_list
        size = f"[{iota.num_replica_groups},{iota.num_devices_per_group}]"
        order = _canonicalize_iota(iota.iota_reshape_dims, iota.iota_transpose_perm)
        return f"{size}<={_render_iota(*order)}"
    if instruction.HasField("mesh_axes_replica_group_list"):
        named = instruction.mesh_axes_replica_group_list
        axes = ",".join(_render_axis(axis, named.mesh) for axis in named.axes)
        return f"{_render_mesh(named.mesh)} {{{axes}}}"
    if instruction.HasField("collective_device_list"):
        return _render_lists(instruction.collective_device_list.replica_groups)
    return _render_lists(instruction.replica_groups)  # as XLA wrote it until 2024


def _render_lists(groups: Iterable[pb.ReplicaGroup]) -> str:
    return f"{{{','.join(join_numbers(each.replica_ids) for each in groups)}}}"


def render_pairs(instruction: pb.HloInstructionProto) -> str:
    """Return who sends to whom: `{{0,1},{1,0}}`."""
    pairs = (f"{{{each.source},{each.target}}}" for each in instruction.source_target_pairs)
    return f"{{{','.join(pairs)}}}"


def _render_mesh(mesh: pb.MeshProto) -> str:
    """Return a mesh: `mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0))`."""
    if not mesh.axes:
        return f"maximal_mesh[device_id={mesh.device_ids[0]}]" if mesh.device_ids else "mesh[]"
    axes = ",".join(f"'{axis.name}'={axis.size}" for axis in mesh.axes)
    if mesh.device_ids:
        return f"mesh[{axes}], device_ids=({','.join(map(str, mesh.device_ids))})"
    order = mesh.iota_transform  # the devices in an order that is not their own
    dims, perm = _canonicalize_iota(order.reshape_dims, order.transpose_perm)
    suffix = f", device_ids=({_render_iota(dims, perm)})" if len(dims) > 1 else ""
    return f"mesh[{axes}]{suffix}"


def _render_axis(axis: pb.AxisRefProto, mesh: pb.MeshProto) -> str:
    """Return an axis of a mesh by its name, or a part of one: `'x':(2)4`."""
    index = axis.mesh_axis_index
    name = mesh.axes[index].name if 0 <= index < len(mesh.axes) else "?"
    if not axis.HasField("sub_axis_info"):
        return f"'{name}'"
    return f"'{name}':({axis.sub_axis_info.pre_size}){axis.sub_axis_info.size}"


def _canonicalize_iota(dims: Iterable[int], perm: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the shortest form of the numbers 0, 1, … reshaped and transposed.

    Dimensions of size 1 are left out, and neighbours that stay neighbours become one:
    [3,4,5]T(2,0,1) is [12,5]T(1,0).
    """
    sizes, order = list(dims), list(perm)
    if sorted(order) != list(range(len(sizes))):
        return sizes, order
    order = [dimension for dimension in order if sizes[dimension] != 1]
    rank = {dimension: number for number, dimension in enumerate(sorted(order))}
    runs: list[list[int]] = []
    for dimension in order:
        if runs and rank[runs[-1][-1]] + 1 == rank[dimension]:
            runs[-1].append(dimension)
        else:
            runs.append([dimension])
    by_place = sorted(range(len(runs)), key=lambda number: runs[number][0])
    merged = [math.prod(sizes[dimension] for dimension in runs[number]) for number in by_place]
    place = {number: new for new, number in enumerate(by_place)}
    return (merged, [place[number] for number in range(len(runs))]) if merged else ([1], [0])


def _render_iota(dims: list[int], perm: list[int]) -> str:
    """Return reshaped and transposed numbers: `[4,2]T(1,0)`, `[8]`."""
    text = f"[{','.join(map(str, dims))}]"
    return f"{text}T({','.join(map(str, perm))})" if len(dims) > 1 else text


def _render_named(sharding: pb.NamedShardingProto) -> str:
    """Return a sharding by names: `{mesh['x'=2], [{'x'}, {?}], replicated={'y'}}`."""
    mesh = sharding.mesh
    parts = [_render_mesh(mesh)]
    lists = (
        ("replicated", sharding.replicated_axes),
        ("unreduced", sharding.unreduced_axes),
        ("manual", sharding.manual_axes),
    )
    if special := _find_special(sharding):
        parts.append(special)
    elif mesh.axes:
        dimensions = []
        for dimension in sharding.dim_shardings:  # `?` where more axes may come
            axes = [_render_axis(axis, mesh) for axis in dimension.axes]
            names = ", ".join(axes if dimension.is_closed else [*axes, "?"])
            dimensions.append(f"{{{names}}}")
        parts.append(f"[{', '.join(dimensions)}]")
        for word, refs in lists:
            if refs:
                names = ", ".join(_render_axis(axis, mesh) for axis in refs)
                parts.append(f"{word}={{{names}}}")
    if sharding.metadata:
        parts.append(f"metadata={{{_render_metadata_list(sharding.metadata)}}}")
    return f"{{{', '.join(parts)}}}"


def _find_special(sharding: pb.NamedShardingProto) -> str:
    """Return the word for a sharding that uses all axes in one way, '' for any other."""
    mesh = sharding.mesh
    if not mesh.axes or sharding.dim_shardings:
        return ""
    if not any((sharding.replicated_axes, sharding.unreduced_axes, sharding.manual_axes)):
        return "replicated"
    for word, axes in (("unreduced", sharding.unreduced_axes), ("manual", sharding.manual_axes)):
        is_whole = [axis.mesh_axis_index for axis in axes] == list(range(len(mesh.axes)))
        if axes and is_whole and not any(axis.HasField("sub_axis_info") for axis in axes):
            return word
    return ""


def render_metadata(
    metadata: pb.OpMetadata, frame: int | None = None, payloads: Sequence[bytes] = ()
) -> str:
    """Return metadata without its braces: `op_name="f" source_file="a.py" source_line=3`.

    `frame` is the number that its stack frame has in the text, if that is another.
    """
    frame = metadata.stack_frame_id if frame is None else frame
    lines = ("source_line", "source_end_line", "source_column", "source_end_column")
    parts = [
        *_list_texts(metadata, "op_type", "op_name", "source_file"),
        *(f"{key}={number}" for key in lines if (number := getattr(metadata, key))),
    ]
    if metadata.profile_type:
        parts.append(f"profile_type={join_numbers(metadata.profile_type)}")
    parts += _list_texts(metadata, "deduplicated_name", "scheduling_name")
    if frame:
        parts.append(f"stack_frame_id={frame}")
    if metadata.HasField("metadata_payload"):
        payload = find_payload(metadata.metadata_payload, payloads)
        parts += [f'metadata_payload="{escape_text(payload)}"'] if payload else []
    return " ".join(parts)


def _list_texts(metadata: pb.OpMetadata, *keys: str) -> list[str]:
    return [f'{key}="{escape_text(text)}"' for key in keys if (text := getattr(metadata, key))]


def _render_metadata_list(metadata: Iterable[pb.OpMetadata]) -> str:
    """Return several of them, each in braces."""
    return ", ".join(f"{{{render_metadata(each)}}}" for each in metadata)


def find_payload(payload: pb.Payload, payloads: Sequence[bytes]) -> bytes:
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


def render_original_value(value: pb.OriginalValueProto) -> str:
    """Return a value that an instruction stands for, as a tuple if it is one.

    value := "[synthetic_call]" | node
    node  := "{" [ '"' instruction '"' [ " {" index "}" ] ] "}" | "(" node { ", " node } ")"

    The proto lists the leaves of the tree, each with its index.
    """
    if value.is_synthetic_call:
        return "[synthetic_call]"
    leaves = [(tuple(each.shape_index), _render_leaf(each)) for each in value.elements]
    return _render_tree(leaves, 0)


def render_original_array(array: pb.OriginalArrayProto) -> str:
    """Return the name of an instruction, and the index into its value."""
    index = f" {{{','.join(map(str, array.shape_index))}}}" if array.shape_index else ""
    return f'"{array.instruction_name}"{index}'


def _render_leaf(element: pb.OriginalValueElementProto) -> str:
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


def render_accuracy(accuracy: pb.ResultAccuracy) -> str:
    """Return how exact a result must be, '' where nothing is asked for."""
    if accuracy.mode:
        return f"{{mode={pb.enum_names('ResultAccuracy.Mode').get(accuracy.mode, '').lower()}}}"
    if accuracy.HasField("tolerance"):
        bound = accuracy.tolerance
        return f"{{tolerance={{atol={bound.atol:g},rtol={bound.rtol:g},ulps={bound.ulps}}}}}"
    return ""
