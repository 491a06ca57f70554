"""Which files of a directory are of one module? Those of one prefix, number and name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.member import GroupMember, ModuleText, find_role
from hlotool.inputs.dump.role import KINDS_OF_ROLE, Role, Stage
from hlotool.inputs.read.protos import is_proto_readable


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
