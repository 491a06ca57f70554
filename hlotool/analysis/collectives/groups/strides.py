"""How do the numbers of the devices in a group follow each other?

A group along axes of a row-major mesh holds numbers that are a step apart, and blocks of such
that are a larger step apart. The steps are known where no mesh is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.groups.device_groups import Pairs
from hlotool.ir.groups import Groups


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
