"""Which attributes does XLA write for an operation between devices?

Follows the `PrintExtraAttributesImpl` of each class in xla/hlo/ir/hlo_instructions.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.inputs.proto.messages import HloInstructionProto
from hlotool.inputs.proto.values.dimensions import join_numbers
from hlotool.inputs.proto.values.groups import render_groups, render_pairs


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
