"""What can be asked of a place where files are, and the plain case: the files of this machine."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Hashable
from typing import BinaryIO, Protocol

from msgspec import Struct


class Entry(Struct, frozen=True):
    """What stands in a directory: a regular file, or a directory."""

    name: str
    is_directory: bool
    size_bytes: int = 0  # 0 where unknown
    is_link: bool = False  # to a directory, which may be met without it


class Store(Protocol):
    """Files by their paths. What fails raises OSError, whose text is a sentence."""

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""

    def find_size(self, path: str) -> int | None:
        """Return the size of a regular file, 0 where it is unknown, None where there is none."""

    def list_directory(self, path: str) -> list[Entry]:
        """Return what stands in a directory, in any order."""

    def identify(self, path: str) -> Hashable:
        """Return what tells a directory from every other, by whichever path it is met."""

    def open(self, path: str) -> BinaryIO:
        """Open a file for who may not read it to its end."""

    def read(self, path: str) -> bytes:
        """Return a whole file, or the beginning of one that is no text."""


class LocalStore:
    """What can be read to an end: regular files, pipes (`<(zcat x)`), and /dev/null."""

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there."""
        return os.path.isdir(path)

    def find_size(self, path: str) -> int | None:
        """Return the size of a regular file, or of what a link leads to."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def list_directory(self, path: str) -> list[Entry]:
        """Return its regular files and directories, and links to either."""
        found = []
        with os.scandir(path or os.curdir) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    found.append(Entry(entry.name, True))
                    continue
                try:
                    if entry.is_dir():
                        found.append(Entry(entry.name, True, is_link=True))
                    elif entry.is_file():
                        found.append(Entry(entry.name, False, entry.stat().st_size))
                except OSError:
                    continue  # it went away, or its link leads round in a circle
        return found

    def identify(self, path: str) -> Hashable:
        """Return its number and that of its device."""
        status = os.stat(path or os.curdir)
        return status.st_dev, status.st_ino

    def open(self, path: str) -> BinaryIO:
        """Open a file; sockets and devices may never end, and are refused."""
        mode = _stat(path).st_mode
        if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
            raise OSError("this is a device or a socket, not a file")
        if stat.S_ISCHR(mode) and os.path.realpath(path) != os.devnull:
            raise OSError("this is a device, not a file; give - to read standard input")
        return open(path, "rb")

    def read(self, path: str) -> bytes:
        """Return a whole file."""
        with self.open(path) as file:
            return file.read()


def is_pipe(path: str) -> bool:
    """Whether what a path leads to can be read once only."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _stat(path: str) -> os.stat_result:
    """Return what the system says of a path; a NUL in it counts as a missing file."""
    try:
        return os.stat(path)
    except ValueError as error:
        raise FileNotFoundError(errno.ENOENT, "no such file") from error
