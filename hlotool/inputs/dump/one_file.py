"""One file as PATH: what it is, and what stands beside it or was named by hand."""

from __future__ import annotations

import os

from msgspec import Struct

from hlotool.errors import InputError, UsageError
from hlotool.inputs.dump.files import DumpFile, Input
from hlotool.inputs.dump.role import KINDS_OF_ROLE, READ_ROLES, ROLE_OF_KIND, Role, Stage
from hlotool.inputs.dump.siblings import (
    find_assignment,
    find_assignment_beside,
    find_before,
    find_debug_options,
    find_sibling,
    find_stem,
)
from hlotool.inputs.dump.split_name import split_file_name
from hlotool.inputs.read.module_head import read_module_head
from hlotool.inputs.read.refusals import describe_refusal
from hlotool.inputs.read.text import STDIN, display_name
from hlotool.inputs.read.text_kind import Detection, TextKind
from hlotool.source import Source


class NamedFiles(Struct, frozen=True):
    """Siblings the user names by hand; they win over those found by name."""

    buffers: str | None = None
    live_range: str | None = None
    module_text: str | None = None


def describe_file(path: str, source: Source, detection: Detection, named: NamedFiles) -> Input:
    """Put one file and what stands beside it together."""
    kind, size = detection.kind, len(source.text)
    role = ROLE_OF_KIND.get(kind)
    if kind is TextKind.DOCUMENT:
        _refuse(
            named != NamedFiles(), "a JSON document stands alone: no file can be named beside it."
        )
        return Input(path, document=DumpFile(path, (kind,), size, source))
    if role is None:
        what, *more = describe_refusal(kind)
        raise InputError(f"{source.name}: {what}", *more)
    own = DumpFile(path, KINDS_OF_ROLE[role], size, source, is_settled=True)
    files = {each: None if path == STDIN else find_sibling(path, each) for each in READ_ROLES}
    if kind is TextKind.BUFFERS:  # holds these two itself
        files[Role.VALUES] = files[Role.LIVE_RANGE] = None
    files[role] = own
    if role is Role.MODULE and files[Role.BUFFERS] is None:
        files[Role.BUFFERS] = _find_in_proto(path, source)
    _take_named(files, named, role)
    if role is not Role.MODULE and files[Role.BUFFERS] is None:
        what, *more = describe_refusal(kind)
        raise InputError(f"{source.name}: {what}{_mention_missing(path)}", *more)
    module = files[Role.MODULE]
    head = read_module_head(source.text, detection.begin, with_signature=False)
    name = split_file_name(os.path.basename(module.raw_path if module else path))
    stage = name.stage or (Stage.AFTER if head.is_scheduled or role is not Role.MODULE else None)
    return Input(
        path,
        head.name or name.name,
        stage,
        module,
        files[Role.BUFFERS],
        files[Role.VALUES],
        files[Role.LIVE_RANGE],
        find_debug_options(path),
        None if path == STDIN or name.stage is Stage.BEFORE else find_before(path),
    )


def _find_in_proto(path: str, source: Source) -> DumpFile | None:
    """Return the buffer assignment in the proto that a text was made of, or that lies beside it."""
    if source.proto is not None:
        kinds = KINDS_OF_ROLE[Role.BUFFERS]
        return DumpFile(path, kinds, len(source.proto), is_assignment=True, data=source.proto)
    return None if path == STDIN else find_assignment_beside(path)


def _take_named(files: dict[Role, DumpFile | None], named: NamedFiles, typed: Role) -> None:
    """Replace siblings by the files named by hand, and theirs by those beside them."""
    if named.module_text:
        _refuse(typed is Role.MODULE, "PATH is a module text already; --module-text names another.")
        files[Role.MODULE] = DumpFile(named.module_text, KINDS_OF_ROLE[Role.MODULE])
    if named.buffers:
        _refuse(
            typed is Role.BUFFERS, "PATH is a buffer assignment already; --buffers names another."
        )
        text = DumpFile(named.buffers, KINDS_OF_ROLE[Role.BUFFERS])
        files[Role.BUFFERS] = find_assignment(named.buffers) or text
        for role in {Role.VALUES, Role.LIVE_RANGE} - {typed}:
            files[role] = find_sibling(named.buffers, role)
    if named.live_range:
        _refuse(
            typed is Role.LIVE_RANGE, "PATH holds live ranges already; --live-range names another."
        )
        files[Role.LIVE_RANGE] = DumpFile(named.live_range, KINDS_OF_ROLE[Role.LIVE_RANGE])


def _refuse(is_wrong: bool, message: str) -> None:
    """Refuse options that do not go with PATH."""
    if is_wrong:
        raise UsageError(message)


def _mention_missing(path: str) -> str:
    """Say which file was looked for beside a part of a buffer assignment."""
    if path == STDIN:
        return ""
    return f" There is no {display_name(find_stem(path))}-buffer-assignment.txt."
