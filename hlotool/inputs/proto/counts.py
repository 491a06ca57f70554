"""How many replicas and partitions does a module run on, as far as its proto proves it?

A configuration and a device assignment say it. Else shardings do, whose tiles are all partitions,
and the groups of collectives, which name each id of a kind once: of replicas, of partitions, or of
both together. What contradicts itself proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from hlotool.inputs.proto.messages import (
    HloInstructionProto,
    HloModuleConfigProto,
    HloModuleProto,
    MeshProto,
    OpSharding,
    ReplicaGroup,
    enum_names,
)
from hlotool.source import DeviceCounts

_OTHER: Final = next(n for n, name in enum_names("OpSharding.Type").items() if name == "OTHER")
# With a channel these name replicas, or devices; the others partitions.
_REDUCING: Final = frozenset({"all-gather", "all-reduce", "reduce-scatter"})
_COVERING: Final = _REDUCING | {"all-to-all", "ragged-all-to-all"}  # they leave nobody out
_Kind: TypeAlias = Literal["replicas", "partitions", "devices"]


def find_counts(module: HloModuleProto, config: HloModuleConfigProto | None) -> DeviceCounts | None:
    """Return what a configuration or a device assignment says, None if there is neither."""
    if config is not None:
        return DeviceCounts(max(config.replica_count, 1), max(config.num_partitions, 1))
    devices = module.device_assignment
    if devices.replica_count > 0 and devices.computation_count > 0:
        return DeviceCounts(devices.replica_count, devices.computation_count)
    return None


def prove_counts(module: HloModuleProto, config: HloModuleConfigProto | None) -> DeviceCounts:
    """Return what is said or proven; None for a count that nothing proves."""
    if (said := find_counts(module, config)) is not None:
        return said
    found: dict[_Kind, set[int]] = {"replicas": set(), "partitions": set(), "devices": set()}
    for kind, count in _list_evidence(module):
        found[kind].add(count)
    replicas, partitions, devices = (_only(found[kind]) for kind in found)
    if devices is not None and replicas is None and partitions and devices % partitions == 0:
        replicas = devices // partitions
    if devices is not None and partitions is None and replicas and devices % replicas == 0:
        partitions = devices // replicas
    return DeviceCounts(replicas, partitions)


def _only(counts: set[int]) -> int | None:
    return next(iter(counts)) if len(counts) == 1 else None


def _list_evidence(module: HloModuleProto) -> Iterator[tuple[_Kind, int]]:
    """Yield each count that something in a module names."""
    for sharding in (module.spmd_output_sharding, *module.spmd_parameters_shardings):
        yield from (("partitions", count) for count in _list_tiles(sharding))
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.HasField("sharding"):
                yield from (("partitions", count) for count in _list_tiles(instruction.sharding))
            opcode = instruction.opcode.removesuffix("-start")
            if opcode in _COVERING and (count := _count_ids(instruction)):
                yield _find_kind(opcode, instruction), count


def _list_tiles(sharding: OpSharding) -> Iterator[int]:
    """Yield how many devices the tiles of a sharding are on."""
    if sharding.HasField("named_sharding"):
        if sharding.named_sharding.mesh.axes:
            yield _count_mesh(sharding.named_sharding.mesh)
    elif sharding.type == _OTHER:
        yield math.prod(sharding.tile_assignment_dimensions)
    for each in sharding.tuple_shardings:
        yield from _list_tiles(each)


def _count_mesh(mesh: MeshProto) -> int:
    return math.prod(axis.size for axis in mesh.axes)


def _count_ids(instruction: HloInstructionProto) -> int:
    """Return how many ids the groups of a collective name, 0 where they mean everybody."""
    if instruction.HasField("iota_collective_device_list"):
        iota = instruction.iota_collective_device_list
        return iota.num_replica_groups * iota.num_devices_per_group
    if instruction.HasField("mesh_axes_replica_group_list"):
        return _count_mesh(instruction.mesh_axes_replica_group_list.mesh)
    groups: Sequence[ReplicaGroup] = instruction.replica_groups
    if instruction.HasField("collective_device_list"):
        groups = instruction.collective_device_list.replica_groups
    return sum(len(each.replica_ids) for each in groups)


def _find_kind(opcode: str, instruction: HloInstructionProto) -> _Kind:
    """Return what the ids in a collective's groups count."""
    if instruction.channel_id <= 0:
        return "replicas"
    if opcode not in _REDUCING:
        return "partitions"
    return "devices" if instruction.use_global_device_ids else "replicas"
