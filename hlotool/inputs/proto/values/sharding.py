"""How does XLA write which device holds which part of a value?

Follows xla/hlo/ir/hlo_sharding.cc (`HloSharding::Print`) and xla/hlo/ir/tile_assignment.cc.
"""

from __future__ import annotations

from typing import Final

from hlotool.inputs.proto.messages import OpSharding, enum_names
from hlotool.inputs.proto.values.mesh import canonicalize_iota, render_iota, render_named_sharding
from hlotool.inputs.proto.values.origins import render_metadata, render_metadata_list
from hlotool.inputs.proto.values.shapes import join_annotated

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
