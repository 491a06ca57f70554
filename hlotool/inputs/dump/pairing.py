"""Which groups of files are one program?

By name and by content: the number in a name alone proves nothing. XLA gives one program two
numbers when it copies the module on the way (openxla/xla issue 7193), and two programs one
number when two processes write into one directory.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from hlotool.inputs.dump.choice import make_program
from hlotool.inputs.dump.groups import FileGroup
from hlotool.inputs.dump.program import DumpedProgram
from hlotool.inputs.dump.role import Stage
from hlotool.inputs.dump.same_program import may_be_same_program

_MAX_TRIES: Final = 64
_DIGITS: Final = re.compile(r"([0-9]{1,18})")


def pair_programs(groups: list[FileGroup]) -> tuple[DumpedProgram, ...]:
    """Make programs of groups: split what does not belong together, join what does.

    A group whose texts before and after optimization cannot be one program (see
    `may_be_same_program`) is two. A group with only a text before and one with only a text
    after, of one directory, copy and name, are one program if they can be: each text after
    takes the nearest earlier number that fits, else the nearest later one.
    """
    split = [part for group in groups for part in _split(group)]
    joined = _join(sorted(split, key=_order))
    return tuple(make_program(group) for group in sorted(joined, key=_order))


def _split(group: FileGroup) -> list[FileGroup]:
    """Part the text before optimization from a group that it does not fit."""
    before, after = group.staged(Stage.BEFORE), group.staged(Stage.AFTER)
    if not before or not after or may_be_same_program(before[0].head, after[0].head):
        return [group]
    alone = FileGroup(group.directory, group.prefix, group.untimed_prefix, group.number, group.name)
    alone.texts = before
    alone.debug_options = group.debug_options
    group.texts = [text for text in group.texts if text.stage is not Stage.BEFORE]
    return [alone, group]


def _join(groups: list[FileGroup]) -> list[FileGroup]:
    """Join groups of different numbers that are one program."""
    waiting: dict[tuple[str, str, str], list[FileGroup]] = {}
    for group in groups:
        if group.number is not None and group.staged(Stage.BEFORE) and not _has_after(group):
            waiting.setdefault(_copy_and_name(group), []).append(group)
    gone: set[int] = set()
    for group in groups:
        if group.number is None or group.staged(Stage.BEFORE) or not group.staged(Stage.AFTER):
            continue
        candidates = waiting.get(_copy_and_name(group), [])
        partner = _choose_partner(group, candidates)
        if partner is not None:
            candidates.remove(partner)
            group.absorb(partner)
            gone.add(id(partner))
    return [group for group in groups if id(group) not in gone]


def _choose_partner(group: FileGroup, candidates: list[FileGroup]) -> FileGroup | None:
    """Return the group with the text before optimization that fits, nearest by number.

    `candidates` are in the order of their numbers; earlier ones are tried first. No more
    than _MAX_TRIES on either side are, so that thousands of modules of one name take linear
    time.
    """
    after = group.staged(Stage.AFTER)[0].head
    middle = bisect_left(candidates, group.number or 0, key=lambda each: each.number or 0)
    earlier = candidates[max(middle - _MAX_TRIES, 0) : middle]
    for each in [*reversed(earlier), *candidates[middle : middle + _MAX_TRIES]]:
        if may_be_same_program(each.staged(Stage.BEFORE)[0].head, after):
            return each
    return None


def _copy_and_name(group: FileGroup) -> tuple[str, str, str]:
    """Return what the groups of one program have in common: the copy of a dump, and the name."""
    return group.directory, group.untimed_prefix, group.name


def _has_after(group: FileGroup) -> bool:
    """Whether a group holds anything from after optimization."""
    return bool(group.staged(Stage.AFTER)) or bool(group.companions)


def _order(group: FileGroup) -> tuple[str, list[str | int], int, str]:
    """Sort by directory, copy, number and name; digits in a copy's prefix count as numbers."""
    number = -1 if group.number is None else group.number
    return group.directory, _natural(group.prefix), number, group.name


def _natural(text: str) -> list[str | int]:
    """Split a text so that numbers in it sort as numbers."""
    return [int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(text))]
