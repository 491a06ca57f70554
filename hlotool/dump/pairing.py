"""Which of a group's texts stands for the program, and which companions are its own?

Can two module texts be one program, before and after optimization?

Which groups of files are one program?

By name and by content: the number in a name alone proves nothing. XLA gives one program two
numbers when it copies the module on the way (openxla/xla issue 7193), and two programs one
number when two processes write into one directory.

Find the module of a buffer assignment whose name says nothing.

Told by content. A wrong match would be a lie, so every name must fit, and one module alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from msgspec.structs import replace

from hlotool.dump.files import DumpedProgram, DumpFile, PassText
from hlotool.dump.groups import FileGroup, ModuleText
from hlotool.dump.modules import ArrayText, ModuleHead, read_arrays
from hlotool.dump.names import Role, Stage
from hlotool.dump.siblings import find_assignment
from hlotool.errors import InputError
from hlotool.text import DeviceCounts

_SAME_TEXT: Final = "_after_buffer_assignment"  # the text the assignment's own name stands for


def make_program(group: FileGroup) -> DumpedProgram:
    """Choose the texts that stand for a program, and the companions of the chosen one."""
    _lend_counts(group)
    before, loose = group.staged(Stage.BEFORE), group.staged(None)
    after = _choose_after(group)
    chosen = after or (loose[0] if loose else None)
    suffix = _companion_suffix(group, chosen)
    heads = [text.head.name for text in (after, *before, *loose) if text and text.head.name]
    taken = {id(after), *(id(text) for text in before[:1] + loose[:1])}
    return DumpedProgram(
        name=heads[0] if heads else group.name,
        directory=group.directory,
        number=group.number,
        before=before[0].file if before else None,
        after=after.file if after else None,
        loose=loose[0].file if loose else None,
        passes=_order_passes(group),
        others=tuple(
            text.file
            for text in group.texts
            if id(text) not in taken and text.stage is not Stage.PASS
        ),
        buffers=group.companions.get((suffix, Role.BUFFERS)) or _find_in_proto(group, chosen),
        values=group.companions.get((suffix, Role.VALUES)),
        live_range=group.companions.get((suffix, Role.LIVE_RANGE)),
        debug_options=group.debug_options,
    )


def _lend_counts(group: FileGroup) -> None:
    """Let protos take the devices that they do not count from a text of the same module."""
    texts = [each for each in group.texts if each.name.role is not Role.PROTO and each.head.name]
    known = {each.head.name: each.head for each in reversed(texts)}
    for place, one in enumerate(group.texts):
        head = known.get(one.head.name)
        if one.name.role is Role.PROTO and head is not None:
            counts = DeviceCounts(head.replica_count, head.num_partitions)
            group.texts[place] = replace(one, file=replace(one.file, counts=counts))


def _choose_after(group: FileGroup) -> ModuleText | None:
    """Return the one text after optimization that stands for the program.

    The one the buffer assignment is named after, if there is one; else by its name.
    """
    assigned = {suffix for suffix, role in group.companions if role is Role.BUFFERS}

    def rank(text: ModuleText) -> tuple[bool, int, str]:
        suffix = text.name.suffix
        return suffix not in assigned, text.name.after_rank, suffix

    return min(group.staged(Stage.AFTER), key=rank, default=None)


def _companion_suffix(group: FileGroup, text: ModuleText | None) -> str:
    """Return the suffix by which the chosen text's companions are named."""
    suffixes = sorted(suffix for suffix, role in group.companions if role is Role.BUFFERS)
    if text is None:
        return suffixes[0] if suffixes else ""
    own = text.name.suffix
    return own if own in suffixes else own.removesuffix(_SAME_TEXT)


def _find_in_proto(group: FileGroup, text: ModuleText | None) -> DumpFile | None:
    """Return the buffer assignment that stands in the proto of a text, or in that of the same."""
    if text is None or text.stage is not Stage.AFTER:
        return None
    own = text.name.suffix
    protos = (group.protos.get(suffix) for suffix in (own, own.removesuffix(_SAME_TEXT)))
    found = (find_assignment(proto.raw_path) for proto in protos if proto)
    return next((each for each in found if each), None)


def _order_passes(group: FileGroup) -> tuple[PassText, ...]:
    """Return the texts between passes by their step."""
    texts = [
        PassText(
            each.file,
            each.name.step or 0,
            each.name.pipeline,
            each.name.after_pass,
            each.name.before_pass,
        )
        for each in group.staged(Stage.PASS)
    ]
    return tuple(sorted(texts, key=lambda each: (each.step, each.file.raw_path)))


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


_PARAMETER: Final = re.compile(
    r"^allocation \d++:[^|\n]*, parameter \d++, shape \|([^|(\n]++)\|", re.MULTILINE
)
_VALUE_NAME: Final = re.compile(r"^ value: <\d++ ([^\s{]++)", re.MULTILINE)
_DEFINED: Final = re.compile(r"^\s*+(?:ROOT )?+%?+([\w.\-]++) = ", re.MULTILINE)
_MAX_TRIES_ORPHANS: Final = 8  # module texts read for one assignment
_MAX_ORPHANS: Final = 64  # assignments looked at


def adopt_buffers(groups: list[FileGroup]) -> tuple[list[FileGroup], tuple[str, ...]]:
    """Move nameless buffer assignments to the one module they fit; say so in notes.

    It fits when the arrays of its parameters are among the module's, and every instruction
    that it names is defined in the module's text. An assignment that fits no module, or
    several, stays alone; so do those after the first _MAX_ORPHANS.
    """
    orphans = [each for each in groups if _is_orphan(each)]
    homes = [each for each in groups if not each.companions and each.staged(Stage.AFTER)]
    if not orphans or not homes:
        return groups, ()
    notes: list[str] = []
    gone: set[int] = set()
    for orphan in orphans[:_MAX_ORPHANS]:
        file = next(iter(orphan.companions.values()))
        found = _find_homes(file, homes)
        if len(found) != 1:
            continue
        home, text = found[0]
        home.companions[text.name.suffix, Role.BUFFERS] = file
        homes.remove(home)
        gone.add(id(orphan))
        notes.append(f"{file.path} is, by its content, the buffer assignment of {text.file.path}.")
    return [each for each in groups if id(each) not in gone], tuple(notes)


def _is_orphan(group: FileGroup) -> bool:
    """Whether a group is one buffer assignment without a module."""
    roles = [role for _, role in group.companions]
    return group.number is None and not group.texts and roles == [Role.BUFFERS]


def _find_homes(file: DumpFile, homes: list[FileGroup]) -> list[tuple[FileGroup, ModuleText]]:
    """Return the modules an assignment fits, reading the texts of those with its arrays."""
    try:
        text = file.read().text
    except InputError:
        return []
    arrays = frozenset(array for shape in _PARAMETER.findall(text) for array in read_arrays(shape))
    names = frozenset(_VALUE_NAME.findall(text))
    likely = [
        (home, after)
        for home in homes
        for after in home.staged(Stage.AFTER)[:1]
        if arrays <= frozenset(after.head.parameters or ())
    ]
    return [
        (home, after) for home, after in likely[:_MAX_TRIES_ORPHANS] if _defines(after.file, names)
    ]


def _defines(file: DumpFile, names: frozenset[str]) -> bool:
    """Whether a module text defines instructions of all these names."""
    try:
        defined = frozenset(_DEFINED.findall(file.read().text))
    except InputError:
        return False
    return bool(names) and names <= defined
