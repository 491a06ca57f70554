"""Find the files that stand beside one file of a dump, by their names.

Stems and endings are those of `names`; any of the files may be compressed.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.names import (
    COMPANIONS,
    COMPRESSIONS,
    Role,
    Stage,
    find_dump_file_name,
    strip_compression,
)
from hlotool.inputs.read.kinds import Kind

KINDS: Final = {
    Role.MODULE: (Kind.MODULE,),
    Role.BUFFERS: (Kind.ALLOCATIONS, Kind.BUFFERS),
    Role.VALUES: (Kind.VALUES,),
    Role.LIVE_RANGE: (Kind.LIVE_RANGE,),
    Role.MEMORY_REPORT: (Kind.MEMORY_REPORT,),
    Role.DEBUG_OPTIONS: (Kind.DEBUG_OPTIONS,),
}
_ENDING: Final = {role: ending for ending, role in COMPANIONS} | {Role.MODULE: ".txt"}
_TEXT_ENDINGS: Final = (".txt", ".hlo")
# TPU prints one module as after_optimizations and again, unchanged, under this name.
_SAME_TEXT: Final = "after_optimizations_after_buffer_assignment"


def split_ending(path: str) -> tuple[str, Role | None]:
    """Return a path without its ending, and what the ending says the file is.

    A text without one of the companions' endings counts as a module text; a path with no
    known ending has the role None and is its own stem.
    """
    plain = strip_compression(path)
    for ending, role in COMPANIONS:
        if plain.endswith(ending):
            return plain.removesuffix(ending), role
    for ending in _TEXT_ENDINGS:
        if plain.endswith(ending):
            return plain.removesuffix(ending), Role.MODULE
    return plain, None


def find_sibling(path: str, role: Role) -> DumpFile | None:
    """Return the file that stands beside `path` in a role, if there is one.

    The plain file wins over a compressed one. No file is its own sibling, compressed or not:
    an assignment called `x.txt` has the name its module's text would have.
    """
    stem, _ = split_ending(path)
    stems = [stem]
    if role is not Role.MODULE and stem.endswith(_SAME_TEXT):
        stems.append(stem.removesuffix("_after_buffer_assignment"))
    found = _first_file(role, [each + _ENDING[role] for each in stems])
    is_itself = found and strip_compression(found.location) == strip_compression(path)
    return None if is_itself else found


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
    endings = [os.path.join(directory, f"{base}.debug_options") for base in bases]
    return _first_file(Role.DEBUG_OPTIONS, endings)


def find_text_beside(path: str) -> str | None:
    """Return the module text of the same module nearest to a file that is none, or None.

    First the text of the same stage, then a text after optimizations, then any.
    """
    directory, filename = os.path.split(path)
    own = find_dump_file_name(filename)
    if own is None:
        return None
    found = []
    for other in _list_files(directory):
        name = find_dump_file_name(other)
        if name is None or name.role is not Role.MODULE or name.stage is None:
            continue
        if name.number != own.number or not f"{own.name}.".startswith(f"{name.name}."):
            continue  # the name of a kernel's file goes on after the module's
        if name.prefix == own.prefix or own.role is Role.DEBUG_OPTIONS:
            not_after = name.stage is not Stage.AFTER
            rank = (name.suffix != own.suffix, not_after, name.after_rank, other)
            found.append((rank, os.path.join(directory, other)))
    return min(found)[1] if found else None


def _list_files(directory: str) -> list[str]:
    """Return the names in a directory, none if it cannot be read."""
    try:
        return os.listdir(directory or ".")
    except OSError:
        return []


def _first_file(role: Role, paths: list[str]) -> DumpFile | None:
    """Return the first of some paths that is a file, plain or compressed."""
    for path in (each + ending for each in paths for ending in ("", *COMPRESSIONS)):
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode):
            return DumpFile(path, KINDS[role], status.st_size)
    return None
