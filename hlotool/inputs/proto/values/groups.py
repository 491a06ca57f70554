"""How does XLA write which devices take part in a collective?

Follows xla/hlo/ir/replica_group.cc.
"""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.inputs.proto.messages import HloInstructionProto, ReplicaGroup
from hlotool.inputs.proto.values.dimensions import join_numbers
from hlotool.inputs.proto.values.mesh import (
    canonicalize_iota,
    render_axis,
    render_iota,
    render_mesh,
)


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
