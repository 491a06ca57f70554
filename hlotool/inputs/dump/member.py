"""What is one file of a directory to its module? Told by its name, or else by its first words."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.inputs.dump.file_name import DumpFileName
from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.header import read_header_line
from hlotool.inputs.dump.role import KINDS_OF_ROLE, ROLE_OF_KIND, Role, Stage
from hlotool.inputs.dump.split_name import split_file_name
from hlotool.inputs.read.module_head import HEAD_BYTES, ModuleHead, read_module_head
from hlotool.inputs.read.text_kind import detect_kind

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
