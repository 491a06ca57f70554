"""What stands in the header line of a module text, for who reads no more of it?

What is one file of a directory to its module? Told by its name, or else by its first words.

Which files of a directory are of one module? Those of one prefix, number and name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.dump.files import DumpFile
from hlotool.dump.modules import HEAD_BYTES, LONG_HEAD_BYTES, ModuleHead, read_module_head
from hlotool.dump.names import (
    KINDS_OF_ROLE,
    ROLE_OF_KIND,
    DumpFileName,
    Role,
    Stage,
    split_file_name,
)
from hlotool.dump.protos import is_proto_readable
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.errors import InputError


def read_header_line(file: DumpFile) -> str:
    """Return the first line of the module, '' where there is none to read.

    Who reads the whole file gets the error.
    """
    try:
        text = file.head(HEAD_BYTES)
        detection = detect_kind(text)
        if detection.kind is not TextKind.MODULE:
            return ""
        if text.find("\n", detection.begin) < 0:
            text = file.head(LONG_HEAD_BYTES)
    except InputError:
        return ""
    end = text.find("\n", detection.begin)
    return text[detection.begin : end if end >= 0 else len(text)]


# Endings of files that never hold a module or its buffers: not worth opening.
_PASSED_OVER: Final = frozenset(
    (
        *("pb", "ll", "ptx", "o", "mlir", "json", "jsonl", "csv", "md", "html", "dot", "url"),
        *("svg", "png", "pbtxt", "textproto", "proto", "py", "sh", "log", "cubin", "hsaco"),
        *("so", "a", "bc", "toml", "yaml", "yml", "flagfile", "zip", "tar", "npz", "pkl"),
    )
)
MODULE_ROLES: Final = (Role.MODULE, Role.PROTO)  # a proto is read as the text XLA prints of it
_COMPANION_ROLES: Final = (Role.BUFFERS, Role.VALUES, Role.LIVE_RANGE)


class GroupMember(Struct, frozen=True):
    """A file of a directory (or a section of a stream) with its name taken apart."""

    directory: str
    file: DumpFile
    name: DumpFileName


class ModuleText(Struct, frozen=True):
    """A module text with what its first lines say."""

    file: DumpFile
    name: DumpFileName
    stage: Stage | None
    head: ModuleHead


def make_member(directory: str, filename: str, file: DumpFile) -> GroupMember:
    """Take a file's name apart and note what the file may hold by its role."""
    name = split_file_name(filename)
    kinds = KINDS_OF_ROLE.get(name.role, file.kinds)
    return GroupMember(directory, replace(file, kinds=kinds), name)


def find_role(member: GroupMember) -> tuple[Role, ModuleText | None] | None:
    """Say what a file is to its module, opening it if its name does not tell; None if nothing.

    Texts between passes are not opened: there may be thousands.
    """
    name, role = member.name, member.name.role
    if role in _COMPANION_ROLES and name.number is not None:
        return role, None
    if role in MODULE_ROLES and name.stage in (Stage.PASS, Stage.OTHER):
        return Role.MODULE, ModuleText(member.file, name, name.stage, ModuleHead())
    if role in MODULE_ROLES and name.stage is not None and name.number is not None:
        return Role.MODULE, ModuleText(
            member.file, name, name.stage, read_module_head(read_header_line(member.file))
        )
    if role not in (*MODULE_ROLES, Role.OTHER, *_COMPANION_ROLES) or _is_passed_over(name):
        return None
    return _find_role_by_content(member)


def _find_role_by_content(member: GroupMember) -> tuple[Role, ModuleText | None] | None:
    """Say what a file is by its first words."""
    try:
        text = member.file.head(HEAD_BYTES)
    except InputError:
        return None
    role = ROLE_OF_KIND.get(detect_kind(text).kind) if text else None
    if role is not Role.MODULE:
        return None if role is None else (role, None)
    name, head = member.name, read_module_head(read_header_line(member.file))
    file = replace(member.file, kinds=KINDS_OF_ROLE[role])
    if name.number is not None:
        return role, ModuleText(file, _rename(name, head.name), Stage.OTHER, head)
    scheduled = Stage.AFTER if head.is_scheduled else None
    return role, ModuleText(file, name, name.stage or scheduled, head)


def _rename(name: DumpFileName, module: str) -> DumpFileName:
    """Split name and an unknown suffix where the module's own name ends."""
    both = f"{name.name}.{name.suffix}" if name.name else name.suffix
    if not both.startswith(f"{module}."):
        return name
    return replace(name, name=module, suffix=both.removeprefix(f"{module}."))


def _is_passed_over(name: DumpFileName) -> bool:
    """Whether the ending says that a file is no text of ours."""
    return name.role is Role.OTHER and name.stem.rpartition(".")[2].lower() in _PASSED_OVER


class FileGroup(Struct, eq=False):
    """The files of one module: its texts, and companions by the suffix of their text."""

    directory: str
    prefix: str
    untimed_prefix: str
    number: int | None
    name: str
    texts: list[ModuleText] = field(default_factory=list)
    companions: dict[tuple[str, Role], DumpFile] = field(default_factory=dict)
    debug_options: DumpFile | None = None
    protos: dict[str, DumpFile] = field(default_factory=dict)  # by the suffix of their text

    def staged(self, stage: Stage | None) -> list[ModuleText]:
        """Return the texts of one stage, in the order found."""
        return [text for text in self.texts if text.stage is stage]

    def absorb(self, other: FileGroup) -> None:
        """Take over the files of another group."""
        self.texts += other.texts
        self.companions |= other.companions
        self.protos |= other.protos
        self.debug_options = self.debug_options or other.debug_options


def group_files(members: Iterable[GroupMember]) -> list[FileGroup]:
    """Sort files into groups; files that are no part of a dump are left out.

    So are protos beside whose module's text they stand, and all that cannot be read.
    """
    every = tuple(members)
    members = _leave_out_protos(every)
    protos = {_stem_of(each): each.file for each in every if each.name.role is Role.PROTO}
    groups: dict[tuple[str, str, int | None, str], FileGroup] = {}
    options: list[GroupMember] = []
    for member in members:
        if member.name.role is Role.DEBUG_OPTIONS:
            options.append(member)
            continue
        settled = find_role(member)
        if settled is None:
            continue
        role, text = settled
        name = text.name if text else member.name
        key = (member.directory, name.prefix, name.number, name.name)
        group = groups.get(key)
        if group is None:
            group = groups[key] = FileGroup(key[0], key[1], name.untimed_prefix, key[2], key[3])
        if text:
            group.texts.append(text)
            if proto := protos.get(_stem_of(member)):
                group.protos[name.suffix] = proto
        else:
            group.companions[name.suffix, role] = replace(member.file, kinds=KINDS_OF_ROLE[role])
    merged = _merge_nameless(list(groups.values()))
    _attach_options(merged, options)
    return merged


def _leave_out_protos(members: tuple[GroupMember, ...]) -> tuple[GroupMember, ...]:
    """Leave out the protos that say no more than a text, or for which a package is missing."""
    texts = {_stem_of(each) for each in members if each.name.role is Role.MODULE}
    is_readable = is_proto_readable()
    return tuple(
        each
        for each in members
        if each.name.role is not Role.PROTO or (is_readable and _stem_of(each) not in texts)
    )


def _stem_of(member: GroupMember) -> tuple[str, str]:
    """Return what a text and its proto have in common."""
    return member.directory, member.name.stem


def _merge_nameless(groups: list[FileGroup]) -> list[FileGroup]:
    """Put files whose name left out the module's to the module of the same number.

    XLA leaves it out of those names alone that would grow too long. If several modules have
    the number, the one that the text's header names is meant.
    """
    merged = [group for group in groups if group.name or group.number is None]
    by_number: dict[tuple[str, str, int | None], list[FileGroup]] = {}
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


def _attach_options(groups: list[FileGroup], options: list[GroupMember]) -> None:
    """Give each module its debug options, whose names have neither stage nor timestamp."""
    by_name = {(each.directory, each.name.number, each.name.name): each.file for each in options}
    for group in groups:
        for name in (group.name, ""):
            key = (group.directory, group.number, name)
            group.debug_options = group.debug_options or by_name.get(key)
