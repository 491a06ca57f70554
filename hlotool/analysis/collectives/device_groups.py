"""Which devices talk to each other in a collective, in whatever notation the text has?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.ir import Instruction, Module, ReplicaGroups
from hlotool.ir.groups import MOST_DEVICES, Groups

GroupMode: TypeAlias = Literal[
    "cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"
]
Pairs: TypeAlias = tuple[tuple[int, int], ...]
Share: TypeAlias = tuple[int, int]  # an exact rational: numerator and denominator

# With a channel, these count replicas (GetCollectiveOpGroupMode).
_OF_REPLICAS: Final = frozenset(("all-gather", "all-reduce", "reduce-scatter"))
_PAIR: Final = r"\{\s*(\d{1,18})\s*,\s*(\d{1,18})\s*\}"
_SEND_PAIRS: Final = "_xla_send_recv_source_target_pairs"
_NOUNS: Final[dict[GroupMode, str]] = {
    "cross_replica": "replica",
    "cross_partition": "partition",
    "cross_replica_and_partition": "replica",
    "flattened_id": "device",
}


class DeviceGroups(Struct, frozen=True):
    """Who takes part in a collective.

    `group_size` is the number of devices of a group, the largest where they are uneven; both
    it and `group_count` are None for what goes in pairs. `pairs` are the (source, target) as
    printed, () for what goes in groups. `problem` says where the text contradicts the
    module's num_partitions × replica_count, None if it does not.
    """

    mode: GroupMode
    group_size: int | None = None
    group_count: int | None = None
    is_uneven: bool = False
    problem: str | None = None
    pairs: Pairs = ()
    has_pairs: bool = False
    printed: ReplicaGroups | None = None
    replica_count: int = 1
    num_partitions: int = 1

    @property
    def pair_count(self) -> int | None:
        """Pairs as printed, None for what goes in groups."""
        return len(self.pairs) if self.has_pairs else None

    def sent_share(self) -> Share | None:
        """Return the share of the devices named in pairs that send to another one.

        None where no pair is printed.
        """
        devices = {device for pair in self.pairs for device in pair}
        moving = sum(source != target for source, target in self.pairs)
        return (moving, len(devices)) if devices else None

    def expand(self) -> Groups | None:
        """Return the groups in flattened ids, replica × num_partitions + partition.

        What names replicas happens in every partition, and the other way round. None where
        pairs are printed instead, or more than MOST_DEVICES would be listed.
        """
        if self.has_pairs or self.replica_count * self.num_partitions > MOST_DEVICES:
            return None
        ids = (self.printed and self.printed.expand()) or (tuple(range(self._universe())),)
        if sum(map(len, ids)) > MOST_DEVICES:
            return None
        if self.mode == "flattened_id":
            return ids
        partitions = range(self.num_partitions)
        if self.mode == "cross_partition":
            return tuple(
                tuple(replica * self.num_partitions + one for one in group)
                for replica in range(self.replica_count)
                for group in ids
            )
        if self.mode == "cross_replica":
            return tuple(
                tuple(one * self.num_partitions + partition for one in group)
                for partition in partitions
                for group in ids
            )
        return tuple(
            tuple(
                one * self.num_partitions + partition for one in group for partition in partitions
            )
            for group in ids
        )

    def expand_pairs(self) -> Pairs | None:
        """Return the pairs in flattened ids; None where there are none or too many."""
        copies = self.replica_count if self.mode == "cross_partition" else self.num_partitions
        if not self.pairs or len(self.pairs) * copies > MOST_DEVICES:
            return None
        if self.mode == "cross_partition":
            offsets, step = [one * self.num_partitions for one in range(copies)], 1
        else:
            offsets, step = list(range(copies)), self.num_partitions
        return tuple(
            (source * step + offset, target * step + offset)
            for offset in offsets
            for source, target in self.pairs
        )

    def _universe(self) -> int:
        return count_ids(self.mode, self.replica_count, self.num_partitions)


def count_ids(mode: GroupMode, replica_count: int, num_partitions: int) -> int:
    """Return how many different ids a group of that mode may name."""
    if mode == "cross_partition":
        return num_partitions
    if mode == "flattened_id":
        return replica_count * num_partitions
    return replica_count


class GroupReader:
    """Reads the groups of a module's collectives; equal texts are read once."""

    def __init__(self, module: Module) -> None:
        self._replica_count = module.header.replica_count
        self._num_partitions = module.header.num_partitions
        self._known: dict[tuple[str, GroupMode, bool], DeviceGroups] = {}

    def read(self, operation: Instruction) -> DeviceGroups:
        """Return the groups of a collective, or the pairs of a permute or a send.

        No `replica_groups`, or `{}`, means everybody. Raises ParseError where the attribute
        is malformed.
        """
        kind = operation.opcode.removesuffix("-start")
        mode = find_mode(operation)
        attributes = operation.attributes
        if kind == "collective-permute":
            text = attributes.get("source_target_pairs", "")
        elif kind == "send":
            text = operation.frontend_attributes().get(_SEND_PAIRS, "")
        else:
            text = attributes.get("replica_groups", "")
        key = text, mode, kind == "collective-broadcast"
        found = self._known.get(key)
        if found is None:
            found = self._read(operation, kind, mode, text)
            self._known[key] = found
        return found

    def _read(self, operation: Instruction, kind: str, mode: GroupMode, text: str) -> DeviceGroups:
        if kind == "send":
            pairs = tuple((int(source), int(target)) for source, target in re.findall(_PAIR, text))
            return self._make_pairs(mode, pairs, has_pairs=bool(pairs))
        if kind == "collective-permute":
            return self._make_pairs(mode, operation.source_target_pairs(), has_pairs=True)
        printed = operation.replica_groups()
        return self._make_groups(mode, printed, is_partial=kind == "collective-broadcast")

    def _make_pairs(self, mode: GroupMode, pairs: Pairs, *, has_pairs: bool) -> DeviceGroups:
        problem = _check_pairs(pairs, self._count_ids(mode), _NOUNS[mode])
        return DeviceGroups(
            mode,
            problem=problem,
            pairs=pairs,
            has_pairs=has_pairs,
            replica_count=self._replica_count,
            num_partitions=self._num_partitions,
        )

    def _make_groups(
        self, mode: GroupMode, printed: ReplicaGroups | None, *, is_partial: bool
    ) -> DeviceGroups:
        universe = self._count_ids(mode)
        if printed is None or printed.is_everybody:
            size, count, is_uneven, problem = universe, 1, False, None
        elif printed.listed is not None:
            sizes = [len(group) for group in printed.listed]
            size, count, is_uneven = max(sizes), len(sizes), min(sizes) != max(sizes)
            problem = _check_groups(printed.listed, universe, _NOUNS[mode], is_partial=is_partial)
        else:
            total, size = _measure(printed)
            count, is_uneven = total // size if size else 0, False
            problem = _check_total(total, universe, _NOUNS[mode])
            if problem is None and printed.mesh is not None and printed.mesh.device_ids is not None:
                ids = [printed.mesh.devices()]
                problem = _check_groups(ids, universe, _NOUNS[mode], is_partial=False)
        if mode == "cross_replica_and_partition":
            size *= self._num_partitions
        elif mode == "cross_replica":
            count *= self._num_partitions
        elif mode == "cross_partition":
            count *= self._replica_count
        return DeviceGroups(
            mode,
            size,
            count,
            is_uneven,
            problem,
            printed=printed,
            replica_count=self._replica_count,
            num_partitions=self._num_partitions,
        )

    def _count_ids(self, mode: GroupMode) -> int:
        return count_ids(mode, self._replica_count, self._num_partitions)


def find_mode(operation: Instruction) -> GroupMode:
    """Return what the ids of a collective mean (xla/hlo/ir/collective_op_group_mode.h).

    Without a channel they are replicas. With one they are flattened ids where
    `use_global_device_ids` is set; else replicas, joined over all partitions, for
    all-gather, all-reduce and reduce-scatter, and partitions for the others.
    """
    attributes = operation.attributes
    if attributes.get("use_global_device_ids") == "true":
        return "flattened_id"
    if "channel_id" not in attributes:
        return "cross_replica"
    if operation.opcode.removesuffix("-start") in _OF_REPLICAS:
        return "cross_replica_and_partition"
    return "cross_partition"


def _measure(printed: ReplicaGroups) -> tuple[int, int]:
    """Return how many devices an iota or mesh notation holds, and how many make a group."""
    if printed.iota is not None:
        return prod(printed.iota.dims), printed.iota.dims[1]
    if printed.mesh is None:
        return 0, 0
    sizes = {axis.name: axis.size for axis in printed.mesh.axes}
    grouped = prod(ref.size or sizes[ref.name] for ref in printed.grouped_axes)
    return prod(sizes[axis.name] for axis in printed.mesh.axes), grouped


def _check_total(total: int, universe: int, noun: str) -> str | None:
    if total == universe:
        return None
    return f"names {_count(total, noun)}, the module has {universe:,}"


def _check_groups(
    groups: Sequence[Sequence[int]], universe: int, noun: str, *, is_partial: bool
) -> str | None:
    """Say which id is out of range, in two groups, or in none (collective-broadcast may)."""
    ids = [one for group in groups for one in group]
    outside = max(ids, default=0)
    if outside >= universe or min(ids, default=0) < 0:
        return f"names {noun} {outside:,}, but ids end at {universe - 1:,}"
    if len(set(ids)) < len(ids):
        twice = min(one for one, times in Counter(ids).items() if times > 1)
        return f"{noun} {twice:,} is named twice"
    if len(ids) < universe and not is_partial:
        return f"of {_count(universe, noun)}, {universe - len(ids):,} in no group"
    return None


def _check_pairs(pairs: Pairs, universe: int, noun: str) -> str | None:
    """Say which id is out of range, sends twice or receives twice."""
    outside = max((one for pair in pairs for one in pair), default=0)
    if outside >= universe:
        return f"names {noun} {outside:,}, but ids end at {universe - 1:,}"
    for side, verb in enumerate(("sends", "receives")):
        counted = Counter(pair[side] for pair in pairs)
        twice = [one for one, times in counted.items() if times > 1]
        if twice:
            return f"{noun} {min(twice):,} {verb} twice"
    return None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
