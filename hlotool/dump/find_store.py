"""In which store does a path lie? Local, but for addresses and what lies in an archive."""

from __future__ import annotations

import io
import mmap
import os
import zlib
from collections import OrderedDict
from contextlib import suppress
from typing import BinaryIO, Final, cast

from hlotool.dump.archives import MARK, ArchiveStore
from hlotool.dump.compression import describe_error, find_compression, read_decompressed
from hlotool.dump.remote import RemoteStore, is_address
from hlotool.dump.stores import LocalStore, Store
from hlotool.errors import InputError

_BELOW: Final = f"{MARK}/"
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_TAR: Final = (257, b"ustar")
_HEAD_BYTES: Final = 1 << 9
_KEPT: Final = 8  # archives that are open at once
_LOCAL: Final = LocalStore()
_REMOTE: Final = RemoteStore()
# By what their paths begin with, and which file that was: its time and size, if it is here.
_ARCHIVES: Final[OrderedDict[str, tuple[tuple[int, int] | None, ArchiveStore]]] = OrderedDict()
_NOT_SHARED: Final[set[str]] = set()  # archives that no other process can open


def find_store(path: str) -> Store:
    """Return the store of a path; one that exists here as it stands is local."""
    if MARK in path and not os.path.lexists(path):
        archive = _find_archive(f"{path}/")
        if archive is not None:
            return archive
    return _REMOTE if _is_remote(path) else _LOCAL


def find_root(path: str) -> str | None:
    """Return what the paths below a directory or an archive begin with, None for a file.

    Raises InputError for an archive that is damaged, or too large.
    """
    try:
        if find_store(path).is_directory(path):
            return path.rstrip("/") if _is_remote(path) else path
        if find_store(path).find_size(path) is None and not _is_remote(path):
            return None
        with find_store(path).open(path) as file:
            head = file.read(_HEAD_BYTES)
            if not _may_be_archive(head):
                return None
    except (OSError, ValueError):
        return None  # who reads it says what is wrong
    return _open_archive(path, None)


def find_root_in(data: bytes, name: str) -> str | None:
    """Return what the paths of an archive that was read begin with, None if it is none."""
    root = _open_archive(name, data) if _may_be_archive(data[:_HEAD_BYTES]) else None
    if root:
        _NOT_SHARED.add(root)
    return root


def may_share() -> bool:
    """Whether what is read can be read by other processes as well."""
    return not _REMOTE.is_used and not _NOT_SHARED


def relative_path(path: str, directory: str) -> str:
    """Return where a path lies below a directory, an archive, or an address."""
    for below in (f"{directory}{_BELOW}", f"{directory.rstrip('/')}/"):
        if (is_address(directory) or MARK in below) and path.startswith(below):
            return path.removeprefix(below)
    return os.path.relpath(path, directory)


def _is_remote(path: str) -> bool:
    return is_address(path) and not os.path.lexists(path)


def _find_archive(path: str) -> ArchiveStore | None:
    """Return the archive that a path lies in, opening it if that was not done yet."""
    position = path.find(_BELOW)
    while position >= 0:
        root = path[: position + len(MARK)]
        if root in _ARCHIVES and _ARCHIVES[root][0] in {None, _sign(path[:position])}:
            return _ARCHIVES[root][1]
        if find_root(path[:position]) == root:
            return _ARCHIVES[root][1]
        position = path.find(_BELOW, position + 1)
    return None


def _may_be_archive(head: bytes) -> bool:
    """Whether the first bytes are those of an archive, or of what is compressed."""
    return _is_zip(head) or _is_tar(head) or find_compression(head) is not None


def _is_zip(head: bytes) -> bool:
    return head.startswith(_ZIP)


def _is_tar(head: bytes) -> bool:
    return head[_TAR[0] : _TAR[0] + len(_TAR[1])] == _TAR[1]


def _open_archive(name: str, data: bytes | None) -> str | None:
    """Open an archive, at a path or read already; None if it is none."""
    from hlotool.dump.archives import (  # noqa: PLC0415  start-up
        list_packed_tar,
        list_tar,
        list_zip,
    )

    root = f"{name}{MARK}"
    try:
        if data is None and find_store(name) is not _LOCAL:
            data = find_store(name).read(name)
        file = io.BytesIO(data) if data is not None else _map(name)
        head = file.read(_HEAD_BYTES)
        file.seek(0)
        if _is_zip(head):
            archive = ArchiveStore(root, list_zip(file))
        elif _is_tar(head):
            archive = ArchiveStore(root, list_tar(file))
        else:
            if not _is_tar(_unpack_head(file, name)):
                return None
            file.seek(0)
            archive = ArchiveStore(root, list_packed_tar(file.read(), name))
    except (OSError, EOFError) as error:
        raise InputError(f"{name}: {describe_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the archive does not fit into memory.") from error
    _ARCHIVES.pop(root, None)
    _ARCHIVES[root] = (_sign(name) if data is None else None, archive)
    while len(_ARCHIVES) > _KEPT:
        _NOT_SHARED.discard(_ARCHIVES.popitem(last=False)[0])
    return root


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


def _sign(path: str) -> tuple[int, int] | None:
    """Return what tells whether a file is the one that was opened."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _map(path: str) -> BinaryIO:
    """Return a file of which only what is read comes into memory."""
    with _LOCAL.open(path) as file, suppress(ValueError):  # an empty file has no map
        return cast("BinaryIO", _Mapped(file.fileno(), 0, access=mmap.ACCESS_READ))
    return io.BytesIO(_LOCAL.read(path))
