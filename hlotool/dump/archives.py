"""The members of a zip or tar, compressed or not, as if it were unpacked; nothing is written.

Names are only names: `/etc/passwd`, `../x` and `x` are members in the archive and lead nowhere
else. Links are left out. Of a zip and a plain tar a member is read where it lies, when it is asked
for. A compressed tar has to be unpacked from its beginning: it is, once, and what may be text of
it is kept in memory.

An archive may come from anybody, and a few bytes of it stand for any amount. What is unpacked of
it, and of what is packed in it, counts against one allowance; the limits below are on what else it
can make this process do.
"""

from __future__ import annotations

import errno
import io
import math
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from lzma import LZMAError
from typing import BinaryIO, Final, Self, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from msgspec import Struct

from hlotool.dump.budget import Allowance
from hlotool.dump.compression import (
    TELLING_BYTES,
    describe_error,
    find_compression,
    is_worth_reading,
    unpack_blocks,
)
from hlotool.dump.stores import Entry, Store

MAX_MEMBERS: Final = 200_000
_MAX_HEADER_BYTES: Final = 4 << 20  # of what describes one member of a compressed tar
_BLOCK_BYTES: Final = 1 << 20
_ENCRYPTED: Final = 0x1
_LINK: Final = 0xA000  # of the mode that Unix gives a file
_KIND: Final = 0xF000
_STRANGE: Final = "the member's compression is not supported"
_ZIP_ERRORS: Final = (BadZipFile, zlib.error, LZMAError, EOFError, ValueError, RuntimeError)
_TAR_ERRORS: Final = (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError)


class Member(Struct, frozen=True):
    """A regular file of an archive."""

    name: str
    size_bytes: int
    open: Callable[[], BinaryIO]


class ArchiveStore(Store):
    """The members of one archive; `prefix` is what their paths begin with: `dump.zip!`."""

    def __init__(self, prefix: str, members: Iterable[Member], allowance: Allowance) -> None:
        """Raise OSError for more members than a directory may hold."""
        self._allowance = allowance
        self._prefix = prefix
        self._members: dict[str, Member] = {}
        self._directories: dict[str, dict[str, Entry]] = {"": {}}
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
        if (entries := self._directories.get(self._inside(path))) is None:
            raise FileNotFoundError(errno.ENOENT, "no such directory")
        return list(entries.values())

    def open(self, path: str) -> BinaryIO:
        """Open a member."""
        inside = self._inside(path)
        if (member := self._members.get(inside)) is None:
            if inside in self._directories:
                raise IsADirectoryError(errno.EISDIR, "a directory")
            raise FileNotFoundError(errno.ENOENT, "no such member")
        return member.open()

    def read(self, path: str) -> bytes:
        """Return a whole member; of one that is no text, the beginning."""
        with self.open(path) as file:
            return read_telling(file)

    def allow(self, path: str, packed_bytes: int) -> Allowance:  # noqa: ARG002  the store's
        """Return what is left of the archive: what is packed in it twice counts with the rest."""
        return self._allowance

    def _inside(self, path: str) -> str:
        """Return the name of a member, as it is kept, from a path."""
        return "/".join(_split(path.removeprefix(self._prefix)))

    def _add(self, member: Member) -> None:
        """Keep a member; of two of one name the last counts, as when they are unpacked."""
        *folders, name = _split(member.name) or [""]
        folder = ""
        for each in folders:
            if (inner := _join(folder, each)) in self._members:
                return  # a file stands where its directory should be
            self._directories[folder][each] = Entry(each, True)
            self._directories.setdefault(inner, {})
            folder = inner
        path = _join(folder, name)
        if name and path not in self._directories:
            self._directories[folder][name] = Entry(name, False, member.size_bytes)
            self._members[path] = member


def read_telling(file: BinaryIO) -> bytes:
    """Return what a file holds, or its beginning where that is no text and not compressed.

    What is left may be a thousand times as much as its archive.
    """
    beginning = file.read(TELLING_BYTES)
    if find_compression(beginning) is None and not is_worth_reading(beginning):
        return beginning
    return beginning + file.read()


def _split(name: str) -> list[str]:
    """Return the parts of a member's name that are names."""
    return [part for part in name.replace("\\", "/").split("/") if part not in {"", ".", ".."}]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def list_zip(file: BinaryIO, allowance: Allowance) -> Iterator[Member]:
    """Yield the regular files of a zip; raise OSError for one that is damaged."""
    try:
        archive = ZipFile(file)
    except _ZIP_ERRORS as error:
        raise OSError("the zip archive is damaged or cut off") from error
    for info in archive.infolist():
        # Who packed on Unix has put the mode there, in the upper half; others 0, which is no link.
        if not info.is_dir() and (info.external_attr >> 16) & _KIND != _LINK:
            yield Member(
                info.filename, info.file_size, partial(_open_zipped, archive, info, allowance)
            )


def _open_zipped(archive: ZipFile, info: ZipInfo, allowance: Allowance) -> BinaryIO:
    if info.flag_bits & _ENCRYPTED:
        raise OSError("the member is encrypted")
    # Of bzip2 and LZMA the standard library unpacks a part at once, whatever comes of it.
    if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise OSError(_STRANGE)
    try:
        return cast("BinaryIO", _GuardedMember(archive.open(info), info, allowance))
    except NotImplementedError as error:
        raise OSError(_STRANGE) from error
    except _ZIP_ERRORS as error:
        raise OSError(f"the member is damaged ({error})") from error


class _GuardedMember:
    """A member that is open, whose errors are OSErrors; what is read of it is counted."""

    def __init__(self, file: object, info: ZipInfo, allowance: Allowance) -> None:
        self._file = cast("BinaryIO", file)
        self._size_bytes = info.file_size  # and no byte more comes, whatever the archive holds
        self._count = partial(allowance.count, f"member {info.header_offset}")

    def read(self, size: int = -1) -> bytes:
        """Read the next part, or all that is left."""
        try:
            if size >= 0:
                return self._file.read(size)
            self._count(self._size_bytes)
            # In pieces: otherwise all would be unpacked first, and then cut to that size.
            return b"".join(iter(partial(self._file.read, _BLOCK_BYTES), b""))
        except _ZIP_ERRORS as error:
            raise OSError(f"the member is damaged ({error})") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def list_tar(file: BinaryIO) -> Iterator[Member]:
    """Yield the regular files of a plain tar; raise OSError for one that is damaged."""
    try:
        # `r:`, as `r` would look for compression, and undo it without a limit.
        archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115  stays
        while (info := archive.next()) is not None:
            # Of a sparse member a few bytes stand for any number of zeros.
            if info.isreg() and not info.issparse():
                yield Member(info.name, info.size, partial(_open_tarred, archive, info))
    except _TAR_ERRORS as error:
        raise OSError(_describe(error)) from error


def list_packed_tar(data: bytes, name: str, allowance: Allowance) -> Iterator[Member]:
    """Yield the regular files of a compressed tar; raise OSError for one that is damaged."""
    stream = _Stream(unpack_blocks(data, name), partial(allowance.count, f"{name} unpacked"))
    try:
        archive = tarfile.open(fileobj=cast("BinaryIO", stream), mode="r|")  # noqa: SIM115
        while True:
            # tarfile reads a long name, or a table of pax, whole, however long it says that it is.
            stream.bytes_left = _MAX_HEADER_BYTES
            if (info := archive.next()) is None:
                break
            stream.bytes_left = math.inf
            opened = archive.extractfile(info) if info.isreg() and not info.issparse() else None
            if opened is None:
                continue
            content = read_telling(cast("BinaryIO", opened))
            while opened.read(_BLOCK_BYTES):  # passed over here, where the limit is the member's
                pass
            yield Member(info.name, info.size, partial(io.BytesIO, content))
    except _TAR_ERRORS as error:
        raise OSError(_describe(error)) from error


def _open_tarred(archive: tarfile.TarFile, info: tarfile.TarInfo) -> BinaryIO:
    if (opened := archive.extractfile(info)) is None:
        raise OSError("the member cannot be read")
    return cast("BinaryIO", opened)


def _describe(error: Exception) -> str:
    if isinstance(error, (EOFError, zlib.error)):
        return describe_error(error).removesuffix(".")
    return "the tar archive is damaged or cut off"


class _Stream:
    """What blocks hold, read in pieces as tarfile does; no more than it may be."""

    def __init__(self, blocks: Iterator[bytes], count: Callable[[int], None]) -> None:
        self.bytes_left: float = _MAX_HEADER_BYTES  # that may be read until this is set anew
        self._blocks = blocks
        self._count = count
        self._rest = bytearray()
        self._total = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer only at the end."""
        while len(self._rest) < size and (block := next(self._blocks, None)) is not None:
            self._total += len(block)
            self._count(self._total)
            self._rest += block
        data = bytes(self._rest[:size])
        del self._rest[:size]  # moves nothing: a bytearray remembers where it begins
        self.bytes_left -= len(data)
        if self.bytes_left < 0:
            raise OSError("the tar archive is damaged: a member's header is too long")
        return data
