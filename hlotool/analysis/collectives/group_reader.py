"""Which devices of which TPU slices talk to each other in a transfer between slices?

What groups or pairs of devices does a collective print, in whatever notation?
"""

from __future__ import annotations

import re
from math import prod
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.groups import (
    DeviceGroups,
    GroupMode,
    Pairs,
    count_ids,
    find_group_problem,
    find_mode,
    find_pair_problem,
    find_total_problem,
    multiply,
)
from hlotool.hlo import Instruction, Module, ReplicaGroups
from hlotool.hlo.groups import MOST_LISTED

_TARGET: Final = "_xla_megascale_target"
_RANGE: Final = r"\d{1,9}(?::\d{1,9})?"
_RANGES: Final = rf"\{{({_RANGE}(?:,{_RANGE})*+)\}}"
_PRODUCT: Final = re.compile(rf"{_RANGES}x{_RANGES}")
_SLICE_PAIR: Final = r"\{(\d{1,18})->(\d{1,18})\}"
_PAIRS: Final = re.compile(rf"\{{{_SLICE_PAIR}(?:,{_SLICE_PAIR})*+\}}")
_GROUP: Final = r"\{(\d{1,18}(?:,\d{1,18})*+)\}"
_GROUPS: Final = re.compile(rf"\{{{_GROUP}(?:,{_GROUP})*+\}}")

_UNKNOWN: Final = DeviceGroups("cross_slice")


def find_target(instruction: Instruction) -> str:
    """Return the text that says who takes part, '' where there is none."""
    return instruction.frontend_attributes().get(_TARGET, "")


def read_slice_groups(target: str) -> DeviceGroups:
    """Return the groups or pairs of a target; of a text of another form nobody knows them.

        target   = slices "x" devices | "{" group { "," group } "}" | "{" pair { "," pair } "}"
        slices   = devices = "{" range { "," range } "}"
        range    = number [ ":" number ]        both are in it
        group    = "{" endpoint { "," endpoint } "}"
        pair     = "{" endpoint "->" endpoint "}"
        endpoint = slice number × 100000 + number of the device in its slice

    `{1,2}x{0:127}` are 128 groups: each device of slice 1 with the same one of slice 2. The
    bytes that real networks carry say so, and XProf, which lists the groups.
    """
    text = target.replace(" ", "")
    if product := _PRODUCT.fullmatch(text):
        size, count = _count(product[1]), _count(product[2])
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


def _count(ranges: str) -> int | None:
    """Return how many numbers ranges name; None where one of them ends before it begins."""
    total = 0
    for one in ranges.split(","):
        first, _, last = one.partition(":")
        length = int(last or first) - int(first) + 1
        if length < 1:
            return None
        total += length
    return total


_PAIR: Final = r"\{\s*(\d{1,18})\s*,\s*(\d{1,18})\s*\}"
_SEND_PAIRS: Final = "_xla_send_recv_source_target_pairs"


class GroupReader:
    """Reads the groups of a module's collectives; equal texts are read once.

    The devices of all groups that differ are listed up to MOST_LISTED in all, those that the
    text lists aside.
    """

    def __init__(self, module: Module) -> None:
        self._replica_count = module.header.replica_count
        self._num_partitions = module.header.num_partitions
        self._is_counted = module.header.device_count is not None
        self._known: dict[tuple[str, GroupMode, str], DeviceGroups] = {}
        self._listed = 0

    def read(self, operation: Instruction) -> DeviceGroups:
        """Return the groups of a collective, or the pairs of a permute or a send.

        What goes between slices is read by `slice_groups`. Else no `replica_groups`, or `{}`,
        means everybody. A collective-broadcast may leave devices
        out, no other may. Raises ParseError where the attribute is malformed.
        """
        kind = operation.opcode.removesuffix("-start")
        mode = find_mode(operation)
        attributes = operation.attributes
        if mode == "cross_slice":
            text = find_target(operation)
        elif kind == "collective-permute":
            text = attributes.get("source_target_pairs", "")
        elif kind == "send":
            text = operation.frontend_attributes().get(_SEND_PAIRS, "")
        else:
            text = attributes.get("replica_groups", "")
        key = text, mode, kind
        found = self._known.get(key)
        if found is None:
            found = self._read(operation, kind, mode, text)
            found = self._spare(found)
            self._known[key] = found
        return found

    def _spare(self, groups: DeviceGroups) -> DeviceGroups:
        """Leave groups unlisted once those of the module would be too much."""
        printed = groups.printed.listed if groups.printed else None
        self._listed += groups.count_listed() - sum(map(len, printed or groups.pairs))
        return groups if self._listed <= MOST_LISTED else replace(groups, is_listed=False)

    def _read(self, operation: Instruction, kind: str, mode: GroupMode, text: str) -> DeviceGroups:
        if mode == "cross_slice":
            return read_slice_groups(text)
        if kind == "send":
            pairs = tuple((int(source), int(target)) for source, target in re.findall(_PAIR, text))
            return self._make_pairs(mode, pairs, has_pairs=bool(pairs))
        if kind == "collective-permute":
            return self._make_pairs(mode, operation.source_target_pairs(), has_pairs=True)
        printed = operation.replica_groups()
        return self._make_groups(mode, printed, is_partial=kind == "collective-broadcast")

    def _make_pairs(self, mode: GroupMode, pairs: Pairs, *, has_pairs: bool) -> DeviceGroups:
        universe = self._count_ids(mode)
        problem = None if universe is None else find_pair_problem(pairs, universe, mode)
        return DeviceGroups(
            mode,
            problem=problem,
            pairs=pairs,
            has_pairs=has_pairs,
            replica_count=self._replica_count or 1,
            num_partitions=self._num_partitions or 1,
            is_listed=self._is_counted,
            is_counted=self._is_counted,
        )

    def _make_groups(
        self, mode: GroupMode, printed: ReplicaGroups | None, *, is_partial: bool
    ) -> DeviceGroups:
        universe = self._count_ids(mode)
        size, count, least = _measure_groups(printed, universe)
        problem = None
        if universe is not None and printed is not None:
            problem = _find_problem(printed, universe, mode, is_partial=is_partial)
        if mode == "cross_replica_and_partition":
            size, least = (multiply(each, self._num_partitions) for each in (size, least))
        elif mode == "cross_replica":
            count = multiply(count, self._num_partitions)
        elif mode == "cross_partition":
            count = multiply(count, self._replica_count)
        return DeviceGroups(
            mode,
            size,
            count,
            least,
            problem,
            printed=printed,
            replica_count=self._replica_count or 1,
            num_partitions=self._num_partitions or 1,
            is_listed=self._is_counted,
            is_counted=self._is_counted,
        )

    def _count_ids(self, mode: GroupMode) -> int | None:
        return count_ids(mode, self._replica_count, self._num_partitions)


def _measure_groups(
    printed: ReplicaGroups | None, universe: int | None
) -> tuple[int | None, int | None, int | None]:
    """Return the size of the largest group, how many there are, and the size of the smallest."""
    if printed is None or printed.is_everybody:
        return universe, 1, universe
    if printed.listed is not None:
        sizes = [len(group) for group in printed.listed]
        return max(sizes), len(sizes), min(sizes)
    total, size = _measure(printed)
    return size, total // size if size else 0, size


def _find_problem(
    printed: ReplicaGroups, universe: int, mode: GroupMode, *, is_partial: bool
) -> str | None:
    """Say where printed groups contradict how many ids there are."""
    if printed.is_everybody:
        return None
    if printed.listed is not None:
        return find_group_problem(printed.listed, universe, mode, is_partial=is_partial)
    problem = find_total_problem(_measure(printed)[0], universe, mode)
    if problem is None and printed.mesh is not None and printed.mesh.device_ids is not None:
        ids = [printed.mesh.devices()]
        problem = find_group_problem(ids, universe, mode, is_partial=False)
    return problem


def _measure(printed: ReplicaGroups) -> tuple[int, int]:
    """Return how many devices an iota or mesh notation holds, and how many make a group."""
    if printed.iota is not None:
        return prod(printed.iota.dims), printed.iota.dims[1]
    if printed.mesh is None:
        return 0, 0
    sizes = {axis.name: axis.size for axis in printed.mesh.axes}
    grouped = prod(ref.size or sizes[ref.name] for ref in printed.grouped_axes)
    return prod(sizes[axis.name] for axis in printed.mesh.axes), grouped
