"""Which files stand beside one file of a dump? Told by their names; any may be compressed.

One file as PATH: what it is, and what stands beside it or was named by hand.
"""

from __future__ import annotations

import os
from typing import Final

from msgspec import Struct

from hlotool.dump.compression import describe_refusal
from hlotool.dump.files import DumpFile, Input
from hlotool.dump.modules import read_module_head
from hlotool.dump.names import (
    COMPANIONS,
    COMPRESSIONS,
    KINDS_OF_ROLE,
    READ_ROLES,
    ROLE_OF_KIND,
    DumpFileName,
    Role,
    Stage,
    find_dump_file_name,
    split_file_name,
    strip_compression,
)
from hlotool.dump.protos import is_proto_readable
from hlotool.dump.read import STDIN, display_name, holds_assignment
from hlotool.dump.stores import find_store
from hlotool.dump.text_kind import Detection, TextKind
from hlotool.errors import InputError, UsageError
from hlotool.text import Source

_ENDING: Final = {role: ending for ending, role in COMPANIONS} | {Role.MODULE: ".txt"}
_PROTO: Final = ".hlo.pb"
_BEFORE: Final = "before_optimizations"
_TPU_FLAGS: Final = "tpu_comp_env.txt"
# TPU prints one module as after_optimizations and again, unchanged, under this name.
_SAME_TEXT: Final = "after_optimizations_after_buffer_assignment"


def find_stem(path: str) -> str:
    """Return a path without the ending of a module's text or of a companion, or as it is."""
    plain = strip_compression(path)
    for ending in (*_ENDING.values(), ".hlo", _PROTO):
        if plain.endswith(ending):
            return plain.removesuffix(ending)
    return plain


def find_sibling(path: str, role: Role) -> DumpFile | None:
    """Return the file that stands beside `path` in a role, if there is one.

    The plain file wins over a compressed one, the text of a module over its proto. No file is its
    own sibling, compressed or not: an assignment called `x.txt` has the name its module's text
    would have.
    """
    stem = find_stem(path)
    stems = [stem]
    if role is not Role.MODULE and stem.endswith(_SAME_TEXT):
        stems.append(stem.removesuffix("_after_buffer_assignment"))
    endings = _list_endings() if role is Role.MODULE else (_ENDING[role],)
    found = _first_file(role, [each + ending for ending in endings for each in stems])
    is_itself = found and strip_compression(found.raw_path) == strip_compression(path)
    return None if is_itself else found


def find_assignment(path: str) -> DumpFile | None:
    """Return the buffer assignment that stands in a proto, None for any other file."""
    if not is_proto_readable() or not holds_assignment(path):
        return None
    return DumpFile(path, KINDS_OF_ROLE[Role.BUFFERS], is_assignment=True)


def find_assignment_beside(path: str) -> DumpFile | None:
    """Return the buffer assignment in the proto that is called as a module's text is."""
    stem = find_stem(path)
    stems = [stem, stem.removesuffix("_after_buffer_assignment")]
    protos = (_first_file(Role.PROTO, [each + _PROTO]) for each in stems)
    found = (find_assignment(proto.raw_path) for proto in protos if proto)
    return next((each for each in found if each), None)


def find_usage_report(path: str) -> DumpFile | None:
    """Return XLA's memory-usage report beside a file of a module, if there is one."""
    return find_sibling(path, Role.MEMORY_REPORT)


def find_debug_options(path: str) -> DumpFile | None:
    """Return the `.debug_options` file of the module that a dump file belongs to.

    XLA names it without the stage, and without the timestamp.
    """
    directory, filename = os.path.split(path)
    name = find_dump_file_name(filename)
    if name is None or name.number is None:
        return None
    module = f"module_{name.number:04d}"
    full = name.stem.removesuffix(name.suffix).removesuffix(".")
    bases = (full, full[full.find(module) :], module)
    paths = [os.path.join(directory, f"{base}.debug_options") for base in bases]
    return _first_file(Role.DEBUG_OPTIONS, paths)


def find_before(path: str) -> DumpFile | None:
    """Return the text before optimization of the module that a dump file belongs to, by name."""
    return _find_of_module(path, [_BEFORE + each for each in _list_endings()], Role.MODULE)


def find_tpu_flags(path: str) -> DumpFile | None:
    """Return the flags of the TPU compiler for the module that a dump file belongs to, by name."""
    return _find_of_module(path, [_TPU_FLAGS], Role.DEBUG_OPTIONS)


def _find_of_module(path: str, endings: list[str], role: Role) -> DumpFile | None:
    """Return the first file that is called like another of its module, but for the ending."""
    directory, filename = os.path.split(path)
    name = split_file_name(filename)
    if not name.suffix or not name.stem.endswith(name.suffix):
        return None
    stem = name.stem.removesuffix(name.suffix)
    paths = [os.path.join(directory, f"{stem}{ending}") for ending in endings]
    return _first_file(role, paths)


def find_build(path: str) -> int | None:
    """Return the number of the TPU compiler's build, N of `cl_N` in a file's name."""
    return split_file_name(os.path.basename(path)).build


def find_text_beside(path: str) -> str | None:
    """Return the module text of the same module nearest to a file that is none, or None."""
    return next(iter(list_beside(path, (Role.MODULE,))), None)


def list_beside(path: str, roles: tuple[Role, ...]) -> list[str]:
    """Return the files of the same module that stand beside one, in some roles, the nearest first.

    First the file itself, compressed or in another form, then a text of the same stage, then a
    text after optimizations, then any.
    """
    directory, filename = os.path.split(path)
    own = split_file_name(filename)
    found = []
    for other in _list_files(directory):
        name = split_file_name(other)
        if other == filename or name.role not in roles:
            continue
        is_twin = name.stem == own.stem
        if is_twin or _is_of_module(name, own):
            not_after = name.stage is not Stage.AFTER
            nearness = (not is_twin, name.role is Role.PROTO, name.suffix != own.suffix)
            rank = (*nearness, not_after, name.after_rank, other)
            found.append((rank, os.path.join(directory, other)))
    return [each for _, each in sorted(found)]


def list_twins(path: str) -> tuple[DumpFile, ...]:
    """Return the same text in other files beside one: compressed, or as a proto."""
    stem = split_file_name(os.path.basename(path)).stem
    roles = (Role.MODULE, Role.PROTO) if is_proto_readable() else (Role.MODULE,)
    return tuple(
        DumpFile(each, KINDS_OF_ROLE[Role.MODULE], find_store(each).find_size(each) or 0)
        for each in list_beside(path, roles)
        if split_file_name(os.path.basename(each)).stem == stem
    )


def _is_of_module(name: DumpFileName, own: DumpFileName) -> bool:
    """Whether two files that XLA named are of one module; the first is a text of a stage."""
    if own.number is None or name.stage is None or name.number != own.number:
        return False
    if not f"{own.name}.".startswith(f"{name.name}."):
        return False  # the name of a kernel's file goes on after the module's
    return name.prefix == own.prefix or own.role is Role.DEBUG_OPTIONS


def _list_endings() -> tuple[str, ...]:
    """Return how the files of modules end, the one to be preferred first."""
    text = _ENDING[Role.MODULE]
    return (text, _PROTO) if is_proto_readable() else (text,)


def _list_files(directory: str) -> list[str]:
    """Return the names in a directory, none if it cannot be read."""
    try:
        return [each.name for each in find_store(directory).list_directory(directory)]
    except OSError:
        return []


def _first_file(role: Role, paths: list[str]) -> DumpFile | None:
    """Return the first of some paths that is a file, plain or compressed."""
    for path in (each + ending for each in paths for ending in ("", *COMPRESSIONS)):
        size = find_store(path).find_size(path)
        if size is not None:
            return DumpFile(path, KINDS_OF_ROLE[role], size)
    return None


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
