"""Which devices talk to each other in a collective?"""

from __future__ import annotations

from operator import itemgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.host_transfers import is_between_slices
from hlotool.ir import Instruction, ReplicaGroups
from hlotool.ir.device_order import Order, Step, arrange, cut, join, order_iota, order_mesh
from hlotool.ir.groups import MOST_DEVICES, Groups

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
