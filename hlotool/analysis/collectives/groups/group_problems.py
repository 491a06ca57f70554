"""Where do printed groups contradict the number of devices that the module runs on?

`universe` is how many ids there are of what a mode names: 0, 1, … universe − 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hlotool.analysis.collectives.groups.device_groups import GroupMode, Pairs

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
    return f"names {_count(total, _NOUNS[mode])}, the module has {universe:,}"


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
        return f"of {_count(universe, noun)}, {universe - len(ids):,} in no group"
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


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
