"""The devices that talk to each other in a collective, in whatever notation they are printed.

Ids are replicas, partitions or flattened ids (replica × num_partitions + partition), by the mode
(xla/hlo/ir/collective_op_group_mode.h); between TPU slices they are others, which no module knows.
Groups can be longer than the text that says them: they are listed only where somebody asks, and
only as far as `MOST_LISTED` allows for a module. `universe` is how many ids there are of what a
mode names: 0, 1, … universe − 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import prod
from operator import itemgetter
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import is_between_slices
from hlotool.hlo import Instruction, Module, ReplicaGroups
from hlotool.hlo.groups import (
    MOST_DEVICES,
    MOST_LISTED,
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
    "cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id", "cross_slice"
]
Pairs: TypeAlias = tuple[tuple[int, int], ...]
ExactShare: TypeAlias = tuple[int, int]  # an exact rational: numerator and denominator

_TARGET: Final = "_xla_megascale_target"
_RANGE: Final = r"\d{1,9}(?::\d{1,9})?"
_RANGES: Final = rf"\{{({_RANGE}(?:,{_RANGE})*+)\}}"
_PRODUCT: Final = re.compile(rf"{_RANGES}x{_RANGES}")
_SLICE_PAIR: Final = r"\{(\d{1,18})->(\d{1,18})\}"
_PAIRS: Final = re.compile(rf"\{{{_SLICE_PAIR}(?:,{_SLICE_PAIR})*+\}}")
_GROUP: Final = r"\{(\d{1,18}(?:,\d{1,18})*+)\}"
_GROUPS: Final = re.compile(rf"\{{{_GROUP}(?:,{_GROUP})*+\}}")

_PAIR: Final = r"\{\s*(\d{1,18})\s*,\s*(\d{1,18})\s*\}"
_SEND_PAIRS: Final = "_xla_send_recv_source_target_pairs"
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
        if self.has_pairs or not self.is_known or not self._can_be_listed:
            return None
        return self._flatten(
            (self.printed and self.printed.expand()) or (tuple(range(self._universe())),)
        )

    def expand_pairs(self) -> Pairs | None:
        """Return the pairs in flattened ids; None where there are none or too many.

        None between slices, too, where the printed ids are no flattened ones.
        """
        if not self.pairs or not self.is_known or not self._can_be_listed:
            return None
        return tuple((source, target) for source, target in self._flatten(self.pairs))

    def _flatten(self, groups: Groups) -> Groups:
        """Write groups or pairs in flattened ids, for every replica or partition they stand for."""
        width = self.num_partitions
        if self.mode == "cross_replica_and_partition":
            return tuple(
                tuple(one * width + partition for one in group for partition in range(width))
                for group in groups
            )
        step, apart = {"flattened_id": (1, 0), "cross_partition": (1, width)}.get(
            self.mode, (width, 1)
        )
        return tuple(
            tuple(one * step + copy * apart for one in group)
            for copy in range(self._copies())
            for group in groups
        )

    def find_steps(self) -> Order | None:
        """Return how the devices of every group follow each other, in flattened ids.

        The largest step first. None for pairs, and where groups or the ids of a mesh are listed.
        """
        if self.has_pairs or not self.is_known or not self.is_counted:
            return None
        if (inside := self._find_printed_steps()) is None:
            return None
        if self.mode in {"cross_replica", "cross_replica_and_partition"}:
            inside = [(size, step * self.num_partitions) for size, step in inside]
        if self.mode == "cross_replica_and_partition" and self.num_partitions > 1:
            inside.append((self.num_partitions, 1))
        return join(sorted(inside, key=itemgetter(1), reverse=True))

    def _find_printed_steps(self) -> list[Step] | None:
        if (printed := self.printed) is None or printed.is_everybody:
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
        return self._copies() * ((self.printed and self.printed.count()) or self._universe())

    @property
    def _can_be_listed(self) -> bool:
        return self.is_listed and self.count_listed() <= MOST_DEVICES

    def _copies(self) -> int:
        if self.mode == "flattened_id":
            return 1
        return self.replica_count if self.mode == "cross_partition" else self.num_partitions

    def _universe(self) -> int:
        return count_ids(self.mode, self.replica_count, self.num_partitions) or 0


class GroupReader:
    """Reads the groups of a module's collectives; equal texts are read once.

    The devices of all groups that differ are listed up to MOST_LISTED in all, those that the
    text lists aside.
    """

    def __init__(self, module: Module) -> None:
        header = module.header
        is_counted = header.device_count is not None
        self._replica_count = header.replica_count
        self._num_partitions = header.num_partitions
        self._blank = DeviceGroups(
            "flattened_id",
            replica_count=header.replica_count or 1,
            num_partitions=header.num_partitions or 1,
            is_listed=is_counted,
            is_counted=is_counted,
        )
        self._known: dict[tuple[str, GroupMode, str], DeviceGroups] = {}
        self._listed = 0

    def read(self, operation: Instruction) -> DeviceGroups:
        """Return the groups of a collective, or the pairs of a permute or a send.

        No `replica_groups`, or `{}`, means everybody. A collective-broadcast may leave devices
        out, no other may. Raises ParseError where the attribute is malformed.
        """
        kind = operation.opcode.removesuffix("-start")
        mode = choose_mode(operation)
        if kind == "send":
            key = _TARGET if mode == "cross_slice" else _SEND_PAIRS
            text = operation.frontend_attributes().get(key, "")
        else:
            key = "source_target_pairs" if kind == "collective-permute" else "replica_groups"
            text = operation.attributes.get(key, "")
        known = text, mode, kind
        if known not in self._known:
            found = self._read(operation, kind, mode, text)
            printed = found.printed.listed if found.printed else None
            self._listed += found.count_listed() - sum(map(len, printed or found.pairs))
            if self._listed > MOST_LISTED:
                found = replace(found, is_listed=False)
            self._known[known] = found
        return self._known[known]

    def _read(self, operation: Instruction, kind: str, mode: GroupMode, text: str) -> DeviceGroups:
        if mode == "cross_slice":
            return read_slice_groups(text)
        universe = count_ids(mode, self._replica_count, self._num_partitions)
        if kind not in {"send", "collective-permute"}:
            printed = operation.replica_groups()
            groups = self._measure(printed, universe, mode)
            is_partial = kind == "collective-broadcast"
            if printed is None or universe is None:
                return groups
            return replace(
                groups, problem=_find_problem(printed, universe, mode, is_partial=is_partial)
            )
        if kind == "send":
            pairs = tuple((int(source), int(target)) for source, target in re.findall(_PAIR, text))
        else:
            pairs = operation.source_target_pairs()
        return replace(
            self._blank,
            mode=mode,
            problem=None if universe is None else _find_pair_problem(pairs, universe, mode),
            pairs=pairs,
            has_pairs=kind != "send" or bool(pairs),
        )

    def _measure(
        self, printed: ReplicaGroups | None, universe: int | None, mode: GroupMode
    ) -> DeviceGroups:
        """Return groups with their number and the sizes of the largest and the smallest."""
        size, count, least = universe, 1, universe
        if printed is not None and not printed.is_everybody:
            if printed.listed is not None:
                sizes = [len(group) for group in printed.listed]
                size, count, least = max(sizes), len(sizes), min(sizes)
            else:
                total, size = _count_devices(printed)
                count, least = total // size if size else 0, size
        copies: int | None = 1
        if mode == "cross_replica_and_partition":
            size, least = (_multiply(each, self._num_partitions) for each in (size, least))
        elif mode == "cross_replica":
            copies = self._num_partitions
        elif mode == "cross_partition":
            copies = self._replica_count
        return replace(
            self._blank,
            mode=mode,
            group_size=size,
            group_count=_multiply(count, copies),
            least_size=least,
            printed=printed,
        )


def choose_mode(operation: Instruction) -> GroupMode:
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


def count_ids(mode: GroupMode, replica_count: int | None, num_partitions: int | None) -> int | None:
    """Return how many different ids a group of that mode may name, None where nobody knows."""
    if mode == "cross_partition":
        return num_partitions
    return _multiply(replica_count, num_partitions) if mode == "flattened_id" else replica_count


def _multiply(count: int | None, by: int | None) -> int | None:
    """Return a product, None where a factor is unknown."""
    return None if count is None or by is None else count * by


_UNKNOWN: Final = DeviceGroups("cross_slice")


def read_slice_groups(target: str) -> DeviceGroups:
    """Return the groups or pairs of a target; of a text of another form nobody knows them.

        target   = slices "x" devices | "{" group { "," group } "}" | "{" pair { "," pair } "}"
        slices   = devices = "{" range { "," range } "}"
        range    = number [ ":" number ]        both are in it
        group    = "{" endpoint { "," endpoint } "}"
        pair     = "{" endpoint "->" endpoint "}"
        endpoint = slice number × 100000 + number of the device in its slice

    `{1,2}x{0:127}` are 128 groups: each device of slice 1 with the same one of slice 2. The
    bytes that real interconnects carry say so, and XProf, which lists the groups.
    """
    text = target.replace(" ", "")
    if product := _PRODUCT.fullmatch(text):
        size, count = _count_named(product[1]), _count_named(product[2])
        return DeviceGroups("cross_slice", size, count, size) if size and count else _UNKNOWN
    if _PAIRS.fullmatch(text):
        pairs = tuple(
            (int(source), int(target)) for source, target in re.findall(_SLICE_PAIR, text)
        )
        return DeviceGroups("cross_slice", pairs=pairs, has_pairs=True)
    if _GROUPS.fullmatch(text):
        sizes = [group.count(",") + 1 for group in re.findall(_GROUP, text)]
        return DeviceGroups("cross_slice", max(sizes), len(sizes), min(sizes))
    return _UNKNOWN


def _count_named(ranges: str) -> int | None:
    """Return how many numbers ranges name; None where one of them ends before it begins."""
    total = 0
    for one in ranges.split(","):
        first, _, last = one.partition(":")
        length = int(last or first) - int(first) + 1
        if length < 1:
            return None
        total += length
    return total


_NOUNS: Final[dict[GroupMode, str]] = {
    "cross_replica": "replica",
    "cross_partition": "partition",
    "cross_replica_and_partition": "replica",
    "flattened_id": "device",
    "cross_slice": "device",
}


def _find_problem(
    printed: ReplicaGroups, universe: int, mode: GroupMode, *, is_partial: bool
) -> str | None:
    """Say where printed groups contradict how many ids there are."""
    if printed.is_everybody:
        return None
    if printed.listed is not None:
        return _find_group_problem(printed.listed, universe, mode, is_partial=is_partial)
    total, _ = _count_devices(printed)
    if total != universe:
        return f"names {count_noun(total, _NOUNS[mode])}, but the module has {universe:,}"
    if printed.mesh is None or printed.mesh.device_ids is None:
        return None
    return _find_group_problem([printed.mesh.devices()], universe, mode, is_partial=False)


def _count_devices(printed: ReplicaGroups) -> tuple[int, int]:
    """Return how many devices an iota or mesh notation holds, and how many make a group."""
    if printed.iota is not None:
        return prod(printed.iota.dims), printed.iota.dims[1]
    if printed.mesh is None:
        return 0, 0
    sizes = {axis.name: axis.size for axis in printed.mesh.axes}
    grouped = prod(ref.size or sizes[ref.name] for ref in printed.grouped_axes)
    return prod(sizes[axis.name] for axis in printed.mesh.axes), grouped


def _find_group_problem(
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


def _find_pair_problem(pairs: Pairs, universe: int, mode: GroupMode) -> str | None:
    """Say which id is out of range, sends twice or receives twice."""
    noun = _NOUNS[mode]
    outside = max((one for pair in pairs for one in pair), default=0)
    if outside >= universe:
        return f"names {noun} {outside:,}, but ids end at {universe - 1:,}"
    for side, verb in enumerate(("sends", "receives")):
        counted = Counter(pair[side] for pair in pairs)
        if twice := [one for one, times in counted.items() if times > 1]:
            return f"{noun} {min(twice):,} {verb} twice"
    return None
