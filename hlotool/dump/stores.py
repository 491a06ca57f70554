"""The place of a path: this machine, an archive, or an address.

A path is a string in all of them: `DIR/FILE`, `ARCHIVE!/MEMBER`, `gs://BUCKET/FILE`. Archives are
told by their first bytes, never by their names, and opened once.
"""

from __future__ import annotations

import io
import mmap
import os
import zlib
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from hlotool.dump.compression import describe_error, find_compression, read_decompressed
from hlotool.dump.local import LocalStore, Store
from hlotool.dump.remote import RemoteStore, is_address
from hlotool.errors import InputError

if TYPE_CHECKING:
    from hlotool.dump.archives import ArchiveStore

_MARK: Final = "!"  # between an archive and its members: `dump.zip!/module_0001.txt`
_BELOW: Final = f"{_MARK}/"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_TAR: Final = (257, b"ustar")
_HEAD_BYTES: Final = 1 << 9
_KEPT: Final = 8  # archives that are open at once
_LOCAL: Final = LocalStore()
_REMOTE: Final = RemoteStore()
# Archives from standard input or a pipe, by what their paths begin with: nobody can read them
# again, this process or another.
_READ_ONCE: Final[dict[str, ArchiveStore]] = {}


def find_store(path: str) -> Store:
    """Return the store of a path; one that exists here as it stands is local."""
    if _MARK in path and not os.path.lexists(path):
        archive = _find_archive(f"{path}/")
        if archive is not None:
            return archive
    return _REMOTE if _is_remote(path) else _LOCAL


def find_root(path: str) -> str | None:
    """Return what the paths below a directory or an archive begin with, None for a file.

    Raises InputError for an archive that is damaged, or too large.
    """
    store = find_store(path)
    try:
        if store.is_directory(path):
            return path.rstrip("/") if _is_remote(path) else path
    except (OSError, ValueError):
        return None  # who reads it says what is wrong
    return f"{path}{_MARK}" if _open_archive_at(path) else None


def find_root_in(data: bytes, name: str) -> str | None:
    """Return what the paths of an archive that was read begin with, None if it is none."""
    root = f"{name}{_MARK}"
    archive = _open_archive(name, data) if _may_be_archive(data[:_HEAD_BYTES]) else None
    if archive is None:
        return None
    _READ_ONCE[root] = archive
    return root


def may_share() -> bool:
    """Whether what is read can be read by other processes as well."""
    return not _REMOTE.is_used and not _READ_ONCE


def relative_path(path: str, directory: str) -> str:
    """Return where a path lies below a directory, an archive, or an address."""
    for below in (f"{directory}{_BELOW}", f"{directory.rstrip('/')}/"):
        if (is_address(directory) or _MARK in below) and path.startswith(below):
            return path.removeprefix(below)
    return os.path.relpath(path, directory)


def _is_remote(path: str) -> bool:
    return is_address(path) and not os.path.lexists(path)


def _find_archive(path: str) -> ArchiveStore | None:
    """Return the archive that a path lies in."""
    position = path.find(_BELOW)
    while position >= 0:
        archive = _READ_ONCE.get(path[: position + len(_MARK)]) or _open_archive_at(path[:position])
        if archive is not None:
            return archive
        position = path.find(_BELOW, position + 1)
    return None


def _open_archive_at(path: str) -> ArchiveStore | None:
    """Return the archive at a path, None if there is none."""
    if find_store(path).find_size(path) is None and not _is_remote(path):
        return None  # a directory, a pipe, or nothing
    return _open_known_archive(path, _sign(path))


def _sign(path: str) -> tuple[int, int] | None:
    """Return what tells whether a file is the one that was opened: its time and size."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=_KEPT)
def _open_known_archive(path: str, _signature: tuple[int, int] | None) -> ArchiveStore | None:
    """Open what may be an archive; the same file again is the same archive."""
    try:
        with find_store(path).open(path) as file:
            if not _may_be_archive(file.read(_HEAD_BYTES)):
                return None
    except (OSError, ValueError):
        return None  # who reads it says what is wrong
    return _open_archive(path)


def _open_archive(name: str, data: bytes | None = None) -> ArchiveStore | None:
    """Return the archive at a path, or in what was read, None if it is none."""
    from hlotool.dump.archives import ArchiveStore, list_packed_tar, list_tar, list_zip  # noqa: PLC0415  start-up time

    try:
        file = _map(name) if data is None else io.BytesIO(data)
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        if _is_zip(head):
            members = list_zip(file)
        elif _is_tar(head):
            members = list_tar(file)
        elif _is_tar(_unpack_head(file, name)):
            file.seek(0)
            members = list_packed_tar(file.read(), name)
        else:
            return None
        return ArchiveStore(f"{name}{_MARK}", members)
    except (OSError, EOFError) as error:
        raise InputError(f"{name}: {describe_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the archive does not fit into memory.") from error


def _may_be_archive(head: bytes) -> bool:
    """Whether the first bytes are those of an archive, or of what is compressed."""
    return _is_zip(head) or _is_tar(head) or find_compression(head) is not None


def _is_zip(head: bytes) -> bool:
    return head.startswith(_ZIP)


def _is_tar(head: bytes) -> bool:
    return head[_TAR[0] : _TAR[0] + len(_TAR[1])] == _TAR[1]


def _unpack_head(file: BinaryIO, name: str) -> bytes:
    """Return the beginning of what is compressed, b"" if it is damaged: its reader says so."""
    try:
        return read_decompressed(file, _HEAD_BYTES, name)
    except (OSError, EOFError, zlib.error):
        return b""


class _Mapped(mmap.mmap):
    """A file whose place is its own in each process that comes of this one."""

    def seekable(self) -> bool:
        """Say what zipfile asks, and Python 3.12 and older do not."""
        return True


def _map(path: str) -> BinaryIO:
    """Return a file of which only what is read comes into memory."""
    store = find_store(path)
    if store is not _LOCAL and store is not _REMOTE:
        return io.BytesIO(store.read(path))
    copy = _REMOTE.fetch(path) if store is _REMOTE else path
    with _LOCAL.open(copy) as file, suppress(ValueError):  # an empty file has no map
        return cast("BinaryIO", _Mapped(file.fileno(), 0, access=mmap.ACCESS_READ))
    return io.BytesIO(_LOCAL.read(copy))
