"""How does XLA write a mesh of devices, and a sharding that names its axes?

Follows xla/hlo/ir/mesh_and_axis.cc and xla/hlo/ir/named_sharding.cc.

How does XLA write which devices take part in a collective?

Follows xla/hlo/ir/replica_group.cc.

How does XLA write which device holds which part of a value?

Follows xla/hlo/ir/hlo_sharding.cc (`HloSharding::Print`) and xla/hlo/ir/tile_assignment.cc.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from hlotool.proto.messages import (
    AxisRefProto,
    HloInstructionProto,
    MeshProto,
    NamedShardingProto,
    OpSharding,
    ReplicaGroup,
    enum_names,
)
from hlotool.proto.origins import render_metadata, render_metadata_list
from hlotool.proto.shapes import join_annotated, join_numbers


def render_mesh(mesh: MeshProto) -> str:
    """Return a mesh: `mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0))`."""
    if not mesh.axes:
        return f"maximal_mesh[device_id={mesh.device_ids[0]}]" if mesh.device_ids else "mesh[]"
    axes = ",".join(f"'{axis.name}'={axis.size}" for axis in mesh.axes)
    return f"mesh[{axes}]{_render_order(mesh)}"


def _render_order(mesh: MeshProto) -> str:
    """Return the order of the devices, if it is not their own."""
    if mesh.device_ids:
        return f", device_ids=({','.join(map(str, mesh.device_ids))})"
    dims, perm = canonicalize_iota(
        mesh.iota_transform.reshape_dims, mesh.iota_transform.transpose_perm
    )
    return f", device_ids=({render_iota(dims, perm)})" if len(dims) > 1 else ""


def render_axis(axis: AxisRefProto, mesh: MeshProto) -> str:
    """Return an axis of a mesh by its name, or a part of one: `'x':(2)4`."""
    index = axis.mesh_axis_index
    name = mesh.axes[index].name if 0 <= index < len(mesh.axes) else "?"
    if not axis.HasField("sub_axis_info"):
        return f"'{name}'"
    return f"'{name}':({axis.sub_axis_info.pre_size}){axis.sub_axis_info.size}"


def canonicalize_iota(dims: Iterable[int], perm: Iterable[int]) -> tuple[list[int], list[int]]:
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


def render_iota(dims: list[int], perm: list[int]) -> str:
    """Return reshaped and transposed numbers: `[4,2]T(1,0)`, `[8]`."""
    text = f"[{','.join(map(str, dims))}]"
    return f"{text}T({','.join(map(str, perm))})" if len(dims) > 1 else text


def render_named_sharding(sharding: NamedShardingProto) -> str:
    """Return a sharding by names: `{mesh['x'=2], [{'x'}, {?}], replicated={'y'}}`."""
    mesh = sharding.mesh
    parts = [render_mesh(mesh)]
    lists = (
        ("replicated", sharding.replicated_axes),
        ("unreduced", sharding.unreduced_axes),
        ("manual", sharding.manual_axes),
    )
    if special := _find_special(sharding):
        parts.append(special)
    elif mesh.axes:
        dimensions = ", ".join(_render_dimension(each, mesh) for each in sharding.dim_shardings)
        parts.append(f"[{dimensions}]")
        for word, axes in lists:
            if axes:
                names = ", ".join(render_axis(axis, mesh) for axis in axes)
                parts.append(f"{word}={{{names}}}")
    if sharding.metadata:
        parts.append(f"metadata={{{render_metadata_list(sharding.metadata)}}}")
    return f"{{{', '.join(parts)}}}"


def _find_special(sharding: NamedShardingProto) -> str:
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


def _render_dimension(dimension: NamedShardingProto.DimensionSharding, mesh: MeshProto) -> str:
    """Return the axes that one dimension is split over, `?` where more may come."""
    axes = [render_axis(axis, mesh) for axis in dimension.axes]
    return f"{{{', '.join(axes if dimension.is_closed else [*axes, '?'])}}}"


def render_groups(instruction: HloInstructionProto) -> str:
    """Return the groups of a collective: `{{0,1},{2,3}}`, `[2,4]<=[8]`, or axes of a mesh."""
    if instruction.HasField("iota_collective_device_list"):
        iota = instruction.iota_collective_device_list
        size = f"[{iota.num_replica_groups},{iota.num_devices_per_group}]"
        order = canonicalize_iota(iota.iota_reshape_dims, iota.iota_transpose_perm)
        return f"{size}<={render_iota(*order)}"
    if instruction.HasField("mesh_axes_replica_group_list"):
        named = instruction.mesh_axes_replica_group_list
        axes = ",".join(render_axis(axis, named.mesh) for axis in named.axes)
        return f"{render_mesh(named.mesh)} {{{axes}}}"
    if instruction.HasField("collective_device_list"):
        return _render_lists(instruction.collective_device_list.replica_groups)
    return _render_lists(instruction.replica_groups)  # as XLA wrote it until 2024


def _render_lists(groups: Iterable[ReplicaGroup]) -> str:
    return f"{{{','.join(join_numbers(each.replica_ids) for each in groups)}}}"


def render_pairs(instruction: HloInstructionProto) -> str:
    """Return who sends to whom: `{{0,1},{1,0}}`."""
    pairs = (f"{{{each.source},{each.target}}}" for each in instruction.source_target_pairs)
    return f"{{{','.join(pairs)}}}"


_TYPES: Final = {number: name.lower() for number, name in enum_names("OpSharding.Type").items()}
_GROUP_WORDS: Final = {0: "shard_as", 1: "shard_like"}


def render_sharding(sharding: OpSharding) -> str:
    """Return a sharding in braces, or those of a tuple's elements in braces."""
    kind = _TYPES.get(sharding.type, "")
    if kind == "tuple":
        return f"{{{join_annotated([render_sharding(each) for each in sharding.tuple_shardings])}}}"
    if sharding.HasField("named_sharding"):
        return render_named_sharding(sharding.named_sharding)
    if kind == "maximal":
        device = next(iter(sharding.tile_assignment_devices), 0)
        return f"{{maximal device={device}{_render_end(sharding)}}}"
    if kind != "other":
        return f"{{{kind}{_render_end(sharding)}}}"
    return f"{{{_render_tiles(sharding)}{_render_subgroups(sharding)}{_render_end(sharding)}}}"


def _render_tiles(sharding: OpSharding) -> str:
    """Return the tiles: `devices=[4,2]<=[8]`, or with a list `devices=[2,2]0,2,1,3`."""
    dimensions = ",".join(map(str, sharding.tile_assignment_dimensions))
    if sharding.iota_reshape_dims:
        iota = canonicalize_iota(sharding.iota_reshape_dims, sharding.iota_transpose_perm)
        return f"devices=[{dimensions}]<={render_iota(*iota)}"
    return f"devices=[{dimensions}]{','.join(map(str, sharding.tile_assignment_devices))}"


def _render_subgroups(sharding: OpSharding) -> str:
    """Return what the last dimensions of the tiles are for, if not for splitting."""
    if sharding.replicate_on_last_tile_dim:
        return " last_tile_dim_replicate"
    if not sharding.last_tile_dims:
        return ""
    names = (_TYPES.get(each, "") for each in sharding.last_tile_dims)
    return f" last_tile_dims={{{', '.join(names)}}}"


def _render_end(sharding: OpSharding) -> str:
    """Return the group of shardings and the metadata."""
    text = ""
    if sharding.is_shard_group:
        word = _GROUP_WORDS.get(sharding.shard_group_type, "")
        text = f" {word} {sharding.shard_group_id}"
    if len(sharding.metadata) == 1:
        return f"{text} metadata={{{render_metadata(sharding.metadata[0])}}}"
    if sharding.metadata:
        return f"{text} metadata={{{render_metadata_list(sharding.metadata)}}}"
    return text
