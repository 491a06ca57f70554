"""From the files of a directory to programs.

Files of one prefix, number and name are a group. A name alone proves little: XLA gives one program
two numbers when it copies the module on the way (openxla/xla issue 7193), and two programs one
number when two processes write into one directory; so what stands in the headers decides as well.
A buffer assignment whose name says nothing is matched by content. A wrong match would be a lie:
every name must fit, and one module alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.dump import modules
from hlotool.dump.files import DumpedProgram, DumpFile, Input, PassText
from hlotool.dump.names import DumpFileName, Stage, split_file_name
from hlotool.dump.siblings import PARTS, SAME_TEXT, find_first_assignment, find_part
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.errors import InputError
from hlotool.table.sums import group_by
from hlotool.text import DeviceCounts


class GroupMember(Struct, frozen=True):
    """A file of a directory (or a section of a stream) with its name taken apart."""

    directory: str
    file: DumpFile
    name: DumpFileName

    @property
    def stem(self) -> tuple[str, str]:
        """What a text and its proto have in common."""
        return self.directory, self.name.stem


def make_member(directory: str, filename: str, file: DumpFile) -> GroupMember:
    """Take a file's name apart and note what the file may hold."""
    name = split_file_name(filename)
    return GroupMember(directory, replace(file, kind=name.kind or file.kind), name)


class ModuleText(Struct, frozen=True):
    """A module text with what its first lines say."""

    file: DumpFile
    name: DumpFileName  # with what the file says of its own name and stage
    head: modules.ModuleHead = modules.ModuleHead()


class FileGroup(Struct, eq=False):
    """The files of one module: its texts, and companions by the suffix of their text."""

    directory: str
    prefix: str
    untimed_prefix: str
    number: int | None
    name: str
    texts: list[ModuleText] = field(default_factory=list)
    companions: dict[tuple[str, TextKind], DumpFile] = field(default_factory=dict)
    debug_options: DumpFile | None = None
    protos: dict[str, DumpFile] = field(default_factory=dict)  # by the suffix of their text

    def staged(self, stage: Stage | None) -> list[ModuleText]:
        """Return the texts of one stage, in the order found."""
        return [text for text in self.texts if text.name.stage is stage]

    def absorb(self, other: FileGroup) -> None:
        """Take over the files of another group."""
        self.texts += other.texts
        self.companions |= other.companions
        self.protos |= other.protos
        self.debug_options = self.debug_options or other.debug_options


def group_files(members: Iterable[GroupMember]) -> list[FileGroup]:
    """Sort files into groups; files that are no part of a dump are left out.

    So are all that cannot be read, and protos that say no more than a text beside them.
    """
    every = tuple(members)
    protos = {each.stem: each.file for each in every if each.name.is_proto}
    texts = {each.stem for each in every if _is_module(each) and not each.name.is_proto}
    groups: dict[tuple[str, str, int | None, str], FileGroup] = {}
    for member in every:
        name = member.name
        if name.is_proto and member.stem in texts:
            continue
        if (found := _find_part(member)) is None:
            continue
        if isinstance(found, ModuleText):
            name = found.name
        key = (member.directory, name.prefix, name.number, name.name)
        if (group := groups.get(key)) is None:
            group = groups[key] = FileGroup(key[0], key[1], name.untimed_prefix, key[2], key[3])
        if isinstance(found, ModuleText):
            group.texts.append(found)
            if proto := protos.get(member.stem):
                group.protos[name.suffix] = proto
        else:
            group.companions[name.suffix, found] = replace(member.file, kind=found)
    merged = _merge_nameless(list(groups.values()))
    # The names of debug options have neither stage nor timestamp.
    told = (each for each in every if each.name.kind is TextKind.DEBUG_OPTIONS)
    options = {(each.directory, each.name.number, each.name.name): each.file for each in told}
    for group in merged:
        keys = [(group.directory, group.number, name) for name in (group.name, "")]
        named = next((options[key] for key in keys if key in options), None)
        group.debug_options = group.debug_options or named
    return merged


# Endings of files that never hold a module or its buffers: not worth opening.
_PASSED_OVER: Final = re.compile(
    r"pb|ll|ptx|o|mlir|jsonl?|csv|md|html|dot|url|svg|png|pbtxt|textproto|proto|py|sh|log|cubin"
    r"|hsaco|so|a|bc|toml|ya?ml|flagfile|zip|tar|npz|pkl"
)


def _is_module(member: GroupMember) -> bool:
    return member.name.kind is TextKind.MODULE


def _find_part(member: GroupMember) -> ModuleText | TextKind | None:
    """Say what a file is to its module, opening it if its name does not tell; None if nothing.

    Texts between passes are not opened: there may be thousands.
    """
    name, file = member.name, member.file
    if _is_module(member) and name.stage in (Stage.PASS, Stage.OTHER):
        return ModuleText(file, name)
    if _is_module(member) and name.stage is not None and name.number is not None:
        return ModuleText(file, name, modules.read_module_head(read_header_line(file)))
    if name.kind is not None and name.kind not in PARTS:
        return None
    if name.kind in PARTS and not _is_module(member) and name.number is not None:
        return name.kind
    if name.kind is None and _PASSED_OVER.fullmatch(name.stem.rpartition(".")[2].lower()):
        return None
    try:
        text = file.head(modules.HEAD_BYTES)
    except InputError:
        return None
    part = find_part(detect_kind(text).kind) if text else None
    if part is not TextKind.MODULE:
        return part
    file = replace(file, kind=part)
    head = modules.read_module_head(read_header_line(file))
    if name.number is None:
        stage = name.stage or (Stage.AFTER if head.is_scheduled else None)
        return ModuleText(file, replace(name, stage=stage), head)
    # Name and an unknown suffix are apart where the module's own name ends.
    both = f"{name.name}.{name.suffix}" if name.name else name.suffix
    if both.startswith(f"{head.name}."):
        name = replace(name, name=head.name, suffix=both.removeprefix(f"{head.name}."))
    return ModuleText(file, replace(name, stage=Stage.OTHER), head)


def read_header_line(file: DumpFile) -> str:
    """Return the first line of the module, '' where there is none to read.

    Who reads the whole file gets the error.
    """
    try:
        text = file.head(modules.HEAD_BYTES)
        detection = detect_kind(text)
        if detection.kind is not TextKind.MODULE:
            return ""
        if text.find("\n", detection.begin) < 0:
            text = file.head(modules.LONG_HEAD_BYTES)
    except InputError:
        return ""
    end = text.find("\n", detection.begin)
    return text[detection.begin : end if end >= 0 else len(text)]


def _merge_nameless(groups: list[FileGroup]) -> list[FileGroup]:
    """Put files whose name left out the module's to the module of the same number.

    XLA leaves it out of those names alone that would grow too long. If several modules have
    the number, the one that the text's header names is meant.
    """
    merged = [group for group in groups if group.name or group.number is None]
    by_number = group_by(merged, lambda group: (group.directory, group.prefix, group.number))
    for group in groups:
        if group.name or group.number is None:
            continue
        named = by_number.get((group.directory, group.prefix, group.number), [])
        header = next((text.head.name for text in group.texts if text.head.name), "")
        if header:
            # As XLA writes a module's name into a file name (tsl `SanitizeFileName`).
            written = re.sub(r"[/\\\[\] ]", "_", header)
            named = [each for each in named if each.name in (header, written)]
        if len(named) == 1:
            named[0].absorb(group)
        else:
            group.name = header
            merged.append(group)
    return merged


_MAX_TRIES: Final = 64
_DIGITS: Final = re.compile(r"([0-9]{1,18})")


def pair_programs(groups: list[FileGroup]) -> tuple[DumpedProgram, ...]:
    """Make programs of groups: split what does not belong together, join what does.

    A group whose texts before and after optimization cannot be one program (see
    `may_be_same_program`) is two. A group with only a text before and one with only a text
    after, of one directory, copy and name, are one program if they can be: each text after
    takes the nearest earlier number that fits, else the nearest later one.
    """
    joined = _join(sorted([part for group in groups for part in _split(group)], key=_order))
    return tuple(_make_program(group) for group in sorted(joined, key=_order))


def _split(group: FileGroup) -> list[FileGroup]:
    """Part the text before optimization from a group that it does not fit."""
    before, after = group.staged(Stage.BEFORE), group.staged(Stage.AFTER)
    if not before or not after or may_be_same_program(before[0].head, after[0].head):
        return [group]
    alone = replace(group, texts=before, companions={}, protos={})
    group.texts = [text for text in group.texts if text.name.stage is not Stage.BEFORE]
    return [alone, group]


def _join(groups: list[FileGroup]) -> list[FileGroup]:
    """Join groups of different numbers that are one program."""
    waiting: dict[tuple[str, str, str], list[FileGroup]] = {}
    for group in groups:
        has_after = group.staged(Stage.AFTER) or group.companions
        if group.number is not None and group.staged(Stage.BEFORE) and not has_after:
            waiting.setdefault(_copy_and_name(group), []).append(group)
    gone: set[int] = set()
    for group in groups:
        if group.number is None or group.staged(Stage.BEFORE) or not group.staged(Stage.AFTER):
            continue
        candidates = waiting.get(_copy_and_name(group), [])
        if (counterpart := _choose_counterpart(group, candidates)) is not None:
            candidates.remove(counterpart)
            group.absorb(counterpart)
            gone.add(id(counterpart))
    return [group for group in groups if id(group) not in gone]


def _choose_counterpart(group: FileGroup, candidates: list[FileGroup]) -> FileGroup | None:
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


def _order(group: FileGroup) -> tuple[str, list[str | int], int, str]:
    """Sort by directory, copy, number and name; digits in a copy's prefix count as numbers."""
    number = -1 if group.number is None else group.number
    parts = enumerate(_DIGITS.split(group.prefix))
    prefix = [int(part) if at % 2 else part for at, part in parts]
    return group.directory, prefix, number, group.name


_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def may_be_same_program(before: modules.ModuleHead, after: modules.ModuleHead) -> bool:
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
        len(whole) == len(part)
        and all(_may_be_part(*pair, devices) for pair in zip(whole, part, strict=True))
        for whole, part in zip(left, right, strict=True)
    )


def _differ(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and before != after


def _may_be_part(whole: modules.ArrayText, part: modules.ArrayText, devices: int | None) -> bool:
    """Whether an array may be one device's part of another."""
    if whole[0] != part[0] or len(whole[1]) != len(part[1]):
        return False
    return all(_may_divide(*pair, devices) for pair in zip(whole[1], part[1], strict=True))


def _may_divide(whole: str, part: str, devices: int | None) -> bool:
    """Whether a dimension may be another one, padded and cut into at most `devices` parts."""
    if whole == part:
        return True
    if not (_NUMBER.fullmatch(whole) and _NUMBER.fullmatch(part)) or int(part) == 0:
        return False
    # Of 10 in 4 parts each has 3, as XLA pads to equal parts; 6 is a part of no number of them.
    shards = -(-int(whole) // int(part))
    return 1 < shards <= (devices or shards) and -(-int(whole) // shards) == int(part)


def _make_program(group: FileGroup) -> DumpedProgram:
    """Choose the texts that stand for a program, and the companions of the chosen one."""
    _lend_counts(group)
    before, loose = group.staged(Stage.BEFORE)[:1], group.staged(None)[:1]
    assigned = [suffix for suffix, kind in group.companions if kind is TextKind.ALLOCATIONS]

    def rank(text: ModuleText) -> tuple[bool, int, str]:
        suffix = text.name.suffix
        return suffix not in assigned, text.name.after_rank, suffix

    # The text that the buffer assignment is named after stands for the program, else its name says.
    after = sorted(group.staged(Stage.AFTER), key=rank)[:1]
    chosen = next(iter(after or loose), None)
    suffix = min(assigned, default="")
    if chosen is not None:
        own = chosen.name.suffix
        suffix = own if own in assigned else own.removesuffix(SAME_TEXT)
    buffers = group.companions.get((suffix, TextKind.ALLOCATIONS))
    if buffers is None and chosen is not None and chosen.name.stage is Stage.AFTER:
        own = chosen.name.suffix
        protos = (group.protos.get(each) for each in (own, own.removesuffix(SAME_TEXT)))
        buffers = find_first_assignment(protos)
    heads = (*after, *group.staged(Stage.BEFORE), *group.staged(None))
    name = next((text.head.name for text in heads if text.head.name), group.name)
    whole = Input(
        "",
        name,
        buffers=buffers,
        values=group.companions.get((suffix, TextKind.VALUES)),
        live_range=group.companions.get((suffix, TextKind.LIVE_RANGE)),
        debug_options=group.debug_options,
        before=before[0].file if before else None,
    )
    texts = [
        Input(file.place, name, Stage.BEFORE, file, debug_options=group.debug_options)
        for file in (text.file for text in before)
    ]
    texts += [replace(whole, path=one.file.place, module=one.file) for one in loose]
    file = after[0].file if after else None
    if file or (buffers and not loose):
        leading = file or buffers
        place = leading.place if leading else ""
        texts.append(replace(whole, path=place, stage=Stage.AFTER, module=file))
    taken = {id(text) for text in (*before, *after, *loose)}
    passes = [PassText(each.file, each.name) for each in group.staged(Stage.PASS)]
    return DumpedProgram(
        name,
        group.number,
        tuple(texts),
        tuple(sorted(passes, key=lambda each: (each.name.step or 0, each.file.raw_path))),
        tuple(
            text.file
            for text in group.texts
            if id(text) not in taken and text.name.stage is not Stage.PASS
        ),
    )


def _lend_counts(group: FileGroup) -> None:
    """Let protos take the devices that they do not count from a text of the same module."""
    texts = [each for each in group.texts if not each.name.is_proto and each.head.name]
    known = {each.head.name: each.head for each in reversed(texts)}  # of equal names the first
    for place, one in enumerate(group.texts):
        head = known.get(one.head.name)
        if one.name.is_proto and head is not None:
            counts = DeviceCounts(head.replica_count, head.num_partitions)
            group.texts[place] = replace(one, file=replace(one.file, counts=counts))


_PARAMETER: Final = re.compile(
    r"^allocation \d++:[^|\n]*, parameter \d++, shape \|([^|(\n]++)\|", re.MULTILINE
)
_VALUE_NAME: Final = re.compile(r"^ value: <\d++ ([^\s{]++)", re.MULTILINE)
_DEFINED: Final = re.compile(r"^\s*+(?:ROOT )?+%?+([\w.\-]++) = ", re.MULTILINE)
_MOST_READ: Final = 8  # module texts read for one assignment
_MAX_ORPHANS: Final = 64  # assignments looked at


def adopt_buffers(groups: list[FileGroup]) -> tuple[list[FileGroup], tuple[str, ...]]:
    """Move nameless buffer assignments to the one module they fit; say so in notes.

    It fits when the arrays of its parameters are among the module's, and every instruction
    that it names is defined in the module's text. An assignment that fits no module, or
    several, stays alone; so do those after the first _MAX_ORPHANS.
    """
    orphans = [
        each
        for each in groups
        if each.number is None
        and not each.texts
        and [kind for _, kind in each.companions] == [TextKind.ALLOCATIONS]
    ]
    homes = [each for each in groups if not each.companions and each.staged(Stage.AFTER)]
    if not orphans or not homes:
        return groups, ()
    notes: list[str] = []
    gone: set[int] = set()
    for orphan in orphans[:_MAX_ORPHANS]:
        file = next(iter(orphan.companions.values()))
        found = _list_homes(file, homes)
        if len(found) != 1:
            continue
        home, text = found[0]
        # A module has one assignment: what fits two is the first's, and the second stays alone.
        home.companions[text.name.suffix, TextKind.ALLOCATIONS] = file
        homes.remove(home)
        gone.add(id(orphan))
        notes.append(f"{file.path} is, by its content, the buffer assignment of {text.file.path}.")
    return [each for each in groups if id(each) not in gone], tuple(notes)


def _list_homes(file: DumpFile, homes: list[FileGroup]) -> list[tuple[FileGroup, ModuleText]]:
    """Return the modules an assignment fits, reading the texts of those with its arrays."""
    try:
        text = file.read().text
    except InputError:
        return []
    arrays = frozenset(
        array for shape in _PARAMETER.findall(text) for array in modules.read_arrays(shape)
    )
    names = frozenset(_VALUE_NAME.findall(text))
    likely = [
        (home, after)
        for home in homes
        for after in home.staged(Stage.AFTER)[:1]
        if arrays <= frozenset(after.head.parameters or ())
    ]
    return [(home, after) for home, after in likely[:_MOST_READ] if _defines(after.file, names)]


def _defines(file: DumpFile, names: frozenset[str]) -> bool:
    """Whether a module text defines instructions of all these names."""
    try:
        defined = frozenset(_DEFINED.findall(file.read().text))
    except InputError:
        return False
    return bool(names) and names <= defined
