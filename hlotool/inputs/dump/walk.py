"""Which files lie in a directory and below it? Names only; nothing is opened."""

from __future__ import annotations

import os
from typing import Final

from msgspec import Struct

from hlotool.errors import InputError
from hlotool.inputs.read.text import display_name
from hlotool.inputs.stores.find import find_store

# XLA nests two levels (`--xla_dump_hlo_to_subfolder`: NAME/HOST_PID), users a few more.
MAX_DEPTH: Final = 16
MAX_FILES: Final = 200_000


class FoundFile(Struct, frozen=True):
    """A regular file, or a link to one."""

    directory: str
    name: str
    size_bytes: int

    @property
    def path(self) -> str:
        """The path to open."""
        return os.path.join(self.directory, self.name)


def walk_directory(path: str) -> tuple[tuple[FoundFile, ...], tuple[str, ...]]:
    """Return the files of a directory and its subdirectories, sorted, and notes.

    Left out: what is no regular file, hidden files and directories, links to directories
    (they can lead round in circles), and what lies deeper than MAX_DEPTH. A subdirectory
    that cannot be read is a note; if `path` itself cannot, InputError is raised, as it is
    for more than MAX_FILES files.
    """
    found: list[FoundFile] = []
    notes: list[str] = []
    pending = [(path, 0)]
    while pending:
        directory, depth = pending.pop()
        try:
            subdirectories = _list_directory(directory, found)
        except OSError as error:
            why = error.strerror or error
            message = f"{display_name(directory)}: the directory cannot be read ({why})."
            if depth == 0:
                raise InputError(message) from error
            notes.append(message)
            continue
        if len(found) > MAX_FILES:
            raise InputError(
                f"{display_name(path)}: there are more than {MAX_FILES:,} files below this "
                "directory; give the one that holds the dump."
            )
        if depth < MAX_DEPTH:
            pending += [(each, depth + 1) for each in subdirectories]
    found.sort(key=lambda file: (file.directory, file.name))
    return tuple(found), tuple(notes)


def _list_directory(directory: str, found: list[FoundFile]) -> list[str]:
    """Add the files of one directory to `found`; return its subdirectories."""
    subdirectories = []
    for entry in find_store(directory).list_directory(directory):
        if entry.name.startswith("."):
            continue
        if entry.is_directory:
            subdirectories.append(os.path.join(directory, entry.name))
        else:
            found.append(FoundFile(directory, entry.name, entry.size_bytes))
    return subdirectories
