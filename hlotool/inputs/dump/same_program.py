"""Can two module texts be one program, before and after optimization?"""

from __future__ import annotations

import re
from typing import Final

from hlotool.inputs.read.module_head import ArrayText, ModuleHead

_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def may_be_same_program(before: ModuleHead, after: ModuleHead) -> bool:
    """Whether two heads fit one program before and after optimization.

    The names and device counts are equal, and so is the entry signature but for layouts and
    sharding: an array after partitioning is the part of the array before that one of k ≤
    num_partitions devices holds, in each dimension. What a head does not say fits anything.
    """
    if before.name and after.name and before.name != after.name:
        return False
    devices = after.num_partitions
    if before.parameters is None or after.parameters is None:
        return True
    if _differ(before.num_partitions, devices) or _differ(
        before.replica_count, after.replica_count
    ):
        return False
    left = (before.parameters, before.results or ())
    right = (after.parameters, after.results or ())
    return all(
        len(whole) == len(part) and all(map(_may_be_part, whole, part, [devices] * len(part)))
        for whole, part in zip(left, right, strict=True)
    )


def _differ(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and before != after


def _may_be_part(whole: ArrayText, part: ArrayText, devices: int | None) -> bool:
    """Whether an array may be one device's part of another."""
    if whole[0] != part[0] or len(whole[1]) != len(part[1]):
        return False
    return all(map(_may_divide, whole[1], part[1], [devices] * len(part[1])))


def _may_divide(whole: str, part: str, devices: int | None) -> bool:
    """Whether a dimension may be another one, padded and cut into at most `devices` parts."""
    if whole == part:
        return True
    if not (_NUMBER.fullmatch(whole) and _NUMBER.fullmatch(part)) or int(part) == 0:
        return False
    shards = -(-int(whole) // int(part))
    return 1 < shards <= (devices or shards) and -(-int(whole) // shards) == int(part)
