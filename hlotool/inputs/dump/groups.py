"""Sort the files of a directory into groups: the files of one module by directory and name.

Names decide where XLA gave them; files with other names are opened to see what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.names import DumpFileName, Role, Stage, split_file_name
from hlotool.inputs.dump.siblings import KINDS
from hlotool.inputs.read.first_lines import (
    HEAD_BYTES,
    LONG_HEAD_BYTES,
    ModuleHead,
    read_module_head,
)
from hlotool.inputs.read.kinds import Kind, detect_kind

# Endings of files that never hold a module or its buffers: not worth opening.
_PASSED_OVER: Final = frozenset(
    (
        *("pb", "ll", "ptx", "o", "mlir", "json", "jsonl", "csv", "md", "html", "dot", "url"),
        *("svg", "png", "pbtxt", "textproto", "proto", "py", "sh", "log", "cubin", "hsaco"),
        *("so", "a", "bc", "toml", "yaml", "yml", "flagfile", "zip", "tar", "npz", "pkl"),
    )
)
_FROM_CONTENT: Final = {
    Kind.MODULE: Role.MODULE,
    Kind.ALLOCATIONS: Role.BUFFERS,
    Kind.BUFFERS: Role.BUFFERS,
    Kind.VALUES: Role.VALUES,
    Kind.LIVE_RANGE: Role.LIVE_RANGE,
}
_COMPANION_ROLES: Final = (Role.BUFFERS, Role.VALUES, Role.LIVE_RANGE)


class Member(Struct, frozen=True):
    """A file of a directory (or a section of a stream) with its name taken apart."""

    directory: str
    file: DumpFile
    name: DumpFileName


class Text(Struct, frozen=True):
    """A module text with what its first lines say."""

    file: DumpFile
    name: DumpFileName
    stage: Stage | None
    head: ModuleHead


class Group(Struct, eq=False):
    """The files of one module: its texts, and companions by the suffix of their text."""

    directory: str
    prefix: str
    origin: str
    number: int | None
    name: str
    texts: list[Text] = field(default_factory=list)
    companions: dict[tuple[str, Role], DumpFile] = field(default_factory=dict)
    debug_options: DumpFile | None = None

    def staged(self, stage: Stage | None) -> list[Text]:
        """Return the texts of one stage, in the order found."""
        return [text for text in self.texts if text.stage is stage]

    def absorb(self, other: Group) -> None:
        """Take over the files of another group."""
        self.texts += other.texts
        self.companions |= other.companions
        self.debug_options = self.debug_options or other.debug_options


def make_member(directory: str, filename: str, file: DumpFile) -> Member:
    """Take a file's name apart and note what the file may hold by its role."""
    name = split_file_name(filename)
    kinds = KINDS.get(name.role, file.kinds)
    return Member(directory, DumpFile(file.location, kinds, file.size_bytes, file.source), name)


def group_files(members: Iterable[Member]) -> list[Group]:
    """Sort files into groups; files that are no part of a dump are left out."""
    groups: dict[tuple[str, str, int | None, str], Group] = {}
    options: list[Member] = []
    for member in members:
        if member.name.role is Role.DEBUG_OPTIONS:
            options.append(member)
            continue
        settled = _settle(member)
        if settled is None:
            continue
        role, text = settled
        name = text.name if text else member.name
        key = (member.directory, name.prefix, name.number, name.name)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(key[0], key[1], name.origin, key[2], key[3])
        if text:
            group.texts.append(text)
        else:
            group.companions[name.suffix, role] = replace(member.file, kinds=KINDS[role])
    merged = _merge_nameless(list(groups.values()))
    _attach_options(merged, options)
    return merged


def _settle(member: Member) -> tuple[Role, Text | None] | None:
    """Say what a file is to its module, opening it if its name does not tell; None if nothing.

    Texts between passes are not opened: there may be thousands.
    """
    name, role = member.name, member.name.role
    if role in _COMPANION_ROLES and name.number is not None:
        return role, None
    if role is Role.MODULE and name.stage in (Stage.PASS, Stage.OTHER):
        return role, Text(member.file, name, name.stage, ModuleHead())
    if role is Role.MODULE and name.stage is not None and name.number is not None:
        return role, Text(member.file, name, name.stage, _read_head(member.file))
    if role not in (Role.MODULE, Role.OTHER, *_COMPANION_ROLES) or _is_passed_over(name):
        return None
    return _settle_by_content(member)


def _settle_by_content(member: Member) -> tuple[Role, Text | None] | None:
    """Say what a file is by its first words."""
    try:
        text = member.file.head(HEAD_BYTES)
    except InputError:
        return None
    role = _FROM_CONTENT.get(detect_kind(text).kind) if text else None
    if role is not Role.MODULE:
        return None if role is None else (role, None)
    name, head = member.name, _read_head(member.file)
    file = replace(member.file, kinds=KINDS[role])
    if name.number is not None:
        return role, Text(file, _rename(name, head.name), Stage.OTHER, head)
    scheduled = Stage.AFTER if head.is_scheduled else None
    return role, Text(file, name, name.stage or scheduled, head)


def _rename(name: DumpFileName, module: str) -> DumpFileName:
    """Split name and an unknown suffix where the module's own name ends."""
    both = f"{name.name}.{name.suffix}" if name.name else name.suffix
    if not both.startswith(f"{module}."):
        return name
    return replace(name, name=module, suffix=both.removeprefix(f"{module}."))


def _is_passed_over(name: DumpFileName) -> bool:
    """Whether the ending says that a file is no text of ours."""
    return name.role is Role.OTHER and name.stem.rpartition(".")[2].lower() in _PASSED_OVER


def _read_head(file: DumpFile) -> ModuleHead:
    """Read the header of a module text; an empty head if there is none to read."""
    try:
        text = file.head(HEAD_BYTES)
        detection = detect_kind(text)
        if detection.kind is not Kind.MODULE:
            return ModuleHead()
        if text.find("\n", detection.begin) < 0:
            text = file.head(LONG_HEAD_BYTES)
    except InputError:
        return ModuleHead()  # who reads the file gets the error
    return read_module_head(text, detection.begin)


def _merge_nameless(groups: list[Group]) -> list[Group]:
    """Put files whose name left out the module's to the module of the same number.

    XLA leaves it out of those names alone that would grow too long. If several modules have
    the number, the one that the text's header names is meant.
    """
    merged = [group for group in groups if group.name or group.number is None]
    by_number: dict[tuple[str, str, int | None], list[Group]] = {}
    for group in merged:
        by_number.setdefault((group.directory, group.prefix, group.number), []).append(group)
    for group in groups:
        if group.name or group.number is None:
            continue
        named = by_number.get((group.directory, group.prefix, group.number), [])
        header = next((text.head.name for text in group.texts if text.head.name), "")
        if header:
            named = [each for each in named if each.name in (header, _sanitize(header))]
        if len(named) == 1:
            named[0].absorb(group)
        else:
            group.name = header
            merged.append(group)
    return merged


def _sanitize(name: str) -> str:
    """Return a module name as XLA writes it into a file name (tsl `SanitizeFileName`)."""
    return re.sub(r"[/\\\[\] ]", "_", name)


def _attach_options(groups: list[Group], options: list[Member]) -> None:
    """Give each module its debug options, whose names have neither stage nor timestamp."""
    by_name = {(each.directory, each.name.number, each.name.name): each.file for each in options}
    for group in groups:
        for name in (group.name, ""):
            key = (group.directory, group.number, name)
            group.debug_options = group.debug_options or by_name.get(key)
