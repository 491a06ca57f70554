"""The members of an archive, as if it were unpacked; nothing is written.

Names are only names: `/etc/passwd`, `../x` and `x` are members in the archive and lead nowhere
else. Links are left out.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Hashable, Iterable
from typing import BinaryIO, Final

from msgspec import Struct

from hlotool.inputs.read.binary import is_worth_reading
from hlotool.inputs.read.compression import find_compression
from hlotool.inputs.stores.store import Entry

MARK: Final = "!"  # between an archive and its members: `dump.zip!/module_0001.txt`
MAX_MEMBERS: Final = 200_000
MAX_MEMBER_BYTES: Final = 4 << 30
_TELLING_BYTES: Final = 1 << 11  # what a binary file is recognized by


class Member(Struct, frozen=True):
    """A regular file of an archive."""

    name: str
    size_bytes: int
    open: Callable[[], BinaryIO]


class ArchiveStore:
    """The members of one archive; `prefix` is what their paths begin with: `dump.zip!`."""

    def __init__(self, prefix: str, members: Iterable[Member]) -> None:
        """Raise OSError for more members than a directory may hold."""
        self._prefix = prefix
        self._members: dict[str, Member] = {}
        self._directories: dict[str, dict[str, bool]] = {"": {}}  # names, and which are directories
        for count, member in enumerate(members, 1):
            if count > MAX_MEMBERS:
                raise OSError(f"the archive has more than {MAX_MEMBERS:,} members")
            self._add(member)

    def is_directory(self, path: str) -> bool:
        """Whether members stand below a path."""
        return self._inside(path) in self._directories

    def find_size(self, path: str) -> int | None:
        """Return the size of a member."""
        member = self._members.get(self._inside(path))
        return member.size_bytes if member else None

    def list_directory(self, path: str) -> list[Entry]:
        """Return the members and directories directly below a path."""
        inside = self._inside(path)
        names = self._directories.get(inside)
        if names is None:
            raise FileNotFoundError(errno.ENOENT, "no such directory")
        return [
            Entry(name, True)
            if is_directory
            else Entry(name, False, self._members[_join(inside, name)].size_bytes)
            for name, is_directory in names.items()
        ]

    def identify(self, path: str) -> Hashable:
        """Return the path: there are no links."""
        return path

    def open(self, path: str) -> BinaryIO:
        """Open a member."""
        inside = self._inside(path)
        member = self._members.get(inside)
        if member is None:
            if inside in self._directories:
                raise IsADirectoryError(errno.EISDIR, "a directory")
            raise FileNotFoundError(errno.ENOENT, "no such member")
        if member.size_bytes > MAX_MEMBER_BYTES:
            raise OSError(f"the member holds more than {MAX_MEMBER_BYTES >> 30} GiB")
        return member.open()

    def read(self, path: str) -> bytes:
        """Return a whole member; of one that is no text, the beginning."""
        with self.open(path) as file:
            return read_telling(file)

    def _inside(self, path: str) -> str:
        """Return the name of a member, as it is kept, from a path."""
        return "/".join(_split(path.removeprefix(self._prefix)))

    def _add(self, member: Member) -> None:
        """Keep a member; of two of one name the last counts, as when they are unpacked."""
        *folders, name = _split(member.name) or [""]
        folder = ""
        for each in folders:
            if _join(folder, each) in self._members:
                return  # a file stands where its directory should be
            self._directories[folder][each] = True
            folder = _join(folder, each)
            self._directories.setdefault(folder, {})
        if name and not self._directories[folder].get(name):
            self._directories[folder][name] = False
            self._members[_join(folder, name)] = member


def read_telling(file: BinaryIO) -> bytes:
    """Return what a file holds, or its beginning where that is no text and not compressed.

    What is left may be a thousand times as much as its archive.
    """
    beginning = file.read(_TELLING_BYTES)
    is_packed = find_compression(beginning) is not None
    if not is_packed and not is_worth_reading(beginning):
        return beginning
    return beginning + file.read()


def _split(name: str) -> list[str]:
    """Return the parts of a member's name that are names."""
    return [part for part in name.replace("\\", "/").split("/") if part not in {"", ".", ".."}]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
