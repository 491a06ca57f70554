"""Which devices talk to each other in a collective?

How do the numbers of the devices in a group follow each other?

A group along axes of a row-major mesh holds numbers that are a step apart, and blocks of such
that are a larger step apart. The steps are known where no mesh is.

Where do printed groups contradict the number of devices that the module runs on?

`universe` is how many ids there are of what a mode names: 0, 1, … universe − 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import is_between_slices
from hlotool.hlo import Instruction, ReplicaGroups
from hlotool.hlo.groups import (
    MOST_DEVICES,
    Groups,
    Order,
    Step,
    arrange,
    cut,
    join,
    order_iota,
    order_mesh,
)
from hlotool.table.words import count_noun

GroupMode: TypeAlias = Literal[
    "cross_replica",
    "cross_partition",
    "cross_replica_and_partition",
    "flattened_id",
    "cross_slice",
]
Pairs: TypeAlias = tuple[tuple[int, int], ...]
ExactShare: TypeAlias = tuple[int, int]  # an exact rational: numerator and denominator

# With a channel, these count replicas (GetCollectiveOpGroupMode).
_OF_REPLICAS: Final = frozenset(("all-gather", "all-reduce", "reduce-scatter"))


class DeviceGroups(Struct, frozen=True):
    """Who takes part in a collective.

    `group_size` is the number of devices of a group, the largest where they are uneven, and
    `least_size` the smallest; both and `group_count` are None for what goes in pairs, and where
    nobody knows. `pairs` are the (source, target) as printed, () for what goes in groups.
    `problem` says where the text contradicts the module's num_partitions × replica_count, None
    if it does not. `is_listed` is False where it would be too much to list the devices, and where
    nobody knows how many there are: then `is_counted` is False, too, and the counts say nothing.
    """

    mode: GroupMode
    group_size: int | None = None
    group_count: int | None = None
    least_size: int | None = None
    problem: str | None = None
    pairs: Pairs = ()
    has_pairs: bool = False
    printed: ReplicaGroups | None = None
    replica_count: int = 1
    num_partitions: int = 1
    is_listed: bool = True
    is_counted: bool = True

    @property
    def pair_count(self) -> int | None:
        """Pairs as printed, None for what goes in groups."""
        return len(self.pairs) if self.has_pairs else None

    @property
    def is_uneven(self) -> bool:
        """Whether groups differ in size."""
        return self.least_size != self.group_size

    @property
    def is_known(self) -> bool:
        """Whether the text says who takes part, in ids of this module."""
        return self.mode != "cross_slice" and (bool(self.pairs) or self.group_size is not None)

    def sent_share(self) -> ExactShare | None:
        """Return the share of the devices named in pairs that send to another one.

        None where no pair is printed.
        """
        devices = {device for pair in self.pairs for device in pair}
        moving = sum(source != target for source, target in self.pairs)
        return (moving, len(devices)) if devices else None

    def expand(self) -> Groups | None:
        """Return the groups in flattened ids, replica × num_partitions + partition.

        What names replicas happens in every partition, and the other way round. None where
        pairs are printed instead or nothing is, where they are not listed, or more than
        MOST_DEVICES would be, and between slices, each of which runs a module of its own.
        """
        if self.has_pairs or not self.is_known:
            return None
        if not self.is_listed or self.count_listed() > MOST_DEVICES:
            return None
        ids = (self.printed and self.printed.expand()) or (tuple(range(self._universe())),)
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
        """Return the pairs in flattened ids; None where there are none or too many.

        None between slices, too, where the printed ids are no flattened ones.
        """
        if self.mode == "cross_slice":
            return None
        if not self.pairs or not self.is_listed or self.count_listed() > MOST_DEVICES:
            return None
        copies = self._copies()
        if self.mode == "cross_partition":
            offsets, step = [one * self.num_partitions for one in range(copies)], 1
        else:
            offsets, step = list(range(copies)), self.num_partitions
        return tuple(
            (source * step + offset, target * step + offset)
            for offset in offsets
            for source, target in self.pairs
        )

    def find_steps(self) -> Order | None:
        """Return how the devices of every group follow each other, in flattened ids.

        The largest step first. None for pairs, and where groups or the ids of a mesh are listed.
        """
        if self.has_pairs or not self.is_known or not self.is_counted:
            return None
        inside = self._find_printed_steps()
        if inside is None:
            return None
        if self.mode in {"cross_replica", "cross_replica_and_partition"}:
            inside = [(size, step * self.num_partitions) for size, step in inside]
        if self.mode == "cross_replica_and_partition" and self.num_partitions > 1:
            inside.append((self.num_partitions, 1))
        return join(sorted(inside, key=itemgetter(1), reverse=True))

    def _find_printed_steps(self) -> list[Step] | None:
        printed = self.printed
        if printed is None or printed.is_everybody:
            return [(self._universe(), 1)] if self._universe() > 1 else []
        if printed.iota is not None:
            order = order_iota(printed.iota)
            parts = order and cut(order, printed.iota.dims)
        elif printed.mesh is not None and not isinstance(printed.mesh.device_ids, tuple):
            dims, perm, width = printed.arrange(printed.mesh)
            order = order_mesh(printed.mesh)
            order = order and arrange(order, dims, perm)
            parts = order and cut(order, (printed.count() // width, width))
        else:
            return None
        return parts[1] if parts else None

    def count_listed(self) -> int:
        """Return how many ids or pairs `expand` or `expand_pairs` lists."""
        if self.has_pairs:
            return len(self.pairs) * self._copies()
        copies = 1 if self.mode == "flattened_id" else self._copies()
        return copies * ((self.printed and self.printed.count()) or self._universe())

    def _copies(self) -> int:
        return self.replica_count if self.mode == "cross_partition" else self.num_partitions

    def _universe(self) -> int:
        return count_ids(self.mode, self.replica_count, self.num_partitions) or 0


def count_ids(mode: GroupMode, replica_count: int | None, num_partitions: int | None) -> int | None:
    """Return how many different ids a group of that mode may name, None where nobody knows."""
    if mode == "cross_partition":
        return num_partitions
    if mode == "flattened_id":
        return multiply(replica_count, num_partitions)
    return replica_count


def multiply(count: int | None, by: int | None) -> int | None:
    """Return a product, None where a factor is unknown."""
    return None if count is None or by is None else count * by


def find_mode(operation: Instruction) -> GroupMode:
    """Return what the ids of a collective mean (xla/hlo/ir/collective_op_group_mode.h).

    Between slices they are the same device of each. Without a channel they are replicas. With
    one they are flattened ids where `use_global_device_ids` is set; else replicas, joined over
    all partitions, for all-gather, all-reduce and reduce-scatter, and partitions for the
    others.
    """
    if is_between_slices(operation):
        return "cross_slice"
    attributes = operation.attributes
    if attributes.get("use_global_device_ids") == "true":
        return "flattened_id"
    if "channel_id" not in attributes:
        return "cross_replica"
    if operation.opcode.removesuffix("-start") in _OF_REPLICAS:
        return "cross_replica_and_partition"
    return "cross_partition"


class Stride(Struct, frozen=True):
    """`4@2`: 4 devices whose numbers are 2 apart."""

    size: int
    step: int

    def __str__(self) -> str:
        return f"{self.size}@{self.step}"


Strides: TypeAlias = tuple[Stride, ...]  # the largest step first


def find_strides(groups: Iterable[Sequence[int]], device_count: int) -> Strides | None:
    """Return the strides of groups, the largest step first; () where nobody has company.

    None where the groups differ in them, or lie as along no axes of any row-major mesh of
    `device_count` devices.
    """
    found: tuple[Stride, ...] | None = None
    for group in groups:
        strides = _strides_of(sorted(group), device_count)
        if strides is None or (found is not None and strides != found):
            return None
        found = strides
    return found


def join_pairs(pairs: Pairs) -> Groups:
    """Return the devices that pairs connect, as groups; those alone only if all are alone."""
    heads: dict[int, int] = {}

    def find_head(device: int) -> int:
        path = []
        while heads.setdefault(device, device) != device:
            path.append(device)
            device = heads[device]
        for one in path:
            heads[one] = device
        return device

    for source, target in pairs:
        heads[find_head(source)] = find_head(target)
    joined: dict[int, list[int]] = {}
    for device in sorted(heads):
        joined.setdefault(find_head(device), []).append(device)
    groups = tuple(tuple(group) for group in joined.values())
    return tuple(group for group in groups if len(group) > 1) or groups


def _strides_of(devices: list[int], device_count: int) -> tuple[Stride, ...] | None:
    """Take the runs of the smallest step out, then those of their beginnings, and so on."""
    found: list[Stride] = []
    block = 1  # what the strides found so far span
    while len(devices) > 1:
        step = devices[1] - devices[0]
        size = _count_run(devices, step)
        if step < 1 or step % block or len(devices) % size:
            return None
        begins = devices[::size]
        if any(one // step % size for one in begins):
            return None
        if devices != [one + at * step for one in begins for at in range(size)]:
            return None
        found.insert(0, Stride(size, step))
        devices, block = begins, step * size
    return None if device_count % block else tuple(found)


def _count_run(devices: Sequence[int], step: int) -> int:
    """Return how many of the first devices are a step apart."""
    size = 1
    while size < len(devices) and devices[size] - devices[size - 1] == step:
        size += 1
    return size


_NOUNS: Final[dict[GroupMode, str]] = {
    "cross_replica": "replica",
    "cross_partition": "partition",
    "cross_replica_and_partition": "replica",
    "flattened_id": "device",
    "cross_slice": "device",
}


def find_total_problem(total: int, universe: int, mode: GroupMode) -> str | None:
    """Say that a notation names more or fewer ids than there are."""
    if total == universe:
        return None
    return f"names {count_noun(total, _NOUNS[mode])}, the module has {universe:,}"


def find_group_problem(
    groups: Sequence[Sequence[int]], universe: int, mode: GroupMode, *, is_partial: bool
) -> str | None:
    """Say which id is out of range, in two groups, or, unless `is_partial`, in none."""
    noun = _NOUNS[mode]
    ids = [one for group in groups for one in group]
    outside = max(ids, default=0)
    if outside >= universe or min(ids, default=0) < 0:
        return f"names {noun} {outside:,}, but ids end at {universe - 1:,}"
    if len(set(ids)) < len(ids):
        twice = min(one for one, times in Counter(ids).items() if times > 1)
        return f"{noun} {twice:,} is named twice"
    if len(ids) < universe and not is_partial:
        return f"of {count_noun(universe, noun)}, {universe - len(ids):,} in no group"
    return None


def find_pair_problem(pairs: Pairs, universe: int, mode: GroupMode) -> str | None:
    """Say which id is out of range, sends twice or receives twice."""
    noun = _NOUNS[mode]
    outside = max((one for pair in pairs for one in pair), default=0)
    if outside >= universe:
        return f"names {noun} {outside:,}, but ids end at {universe - 1:,}"
    for side, verb in enumerate(("sends", "receives")):
        counted = Counter(pair[side] for pair in pairs)
        twice = [one for one, times in counted.items() if times > 1]
        if twice:
            return f"{noun} {min(twice):,} {verb} twice"
    return None
