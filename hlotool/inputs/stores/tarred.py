"""Which members has a tar archive, compressed or not?

A plain tar is read where its members lie. A compressed one has to be unpacked from its beginning:
it is, once, and what may be text of it is kept in memory.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final, cast

from hlotool.inputs.read.compression import describe_error, unpack_blocks
from hlotool.inputs.stores.archive import Member, read_telling

MAX_KEPT_BYTES: Final = 4 << 30
MAX_UNPACKED_BYTES: Final = 16 << 30
_MAX_HEADER_BYTES: Final = 4 << 20  # of what describes one member
_BLOCK_BYTES: Final = 1 << 20
_ERRORS: Final = (tarfile.TarError, EOFError, zlib.error, ValueError, OverflowError)


def list_tar(file: BinaryIO) -> Iterator[Member]:
    """Yield the regular files of a plain tar; raise OSError for one that is damaged."""
    try:
        archive = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115  stays
        while (info := archive.next()) is not None:
            if info.isreg() and not info.issparse():
                yield Member(info.name, info.size, partial(_open, archive, info))
    except _ERRORS as error:
        raise OSError(_describe(error)) from error


def list_packed_tar(data: bytes, name: str) -> Iterator[Member]:
    """Yield the regular files of a compressed tar; raise OSError for one that is damaged."""
    stream = _Stream(unpack_blocks(data, name))
    kept = 0
    try:
        archive = tarfile.open(fileobj=cast("BinaryIO", stream), mode="r|")  # noqa: SIM115
        while True:
            stream.left_bytes = _MAX_HEADER_BYTES
            info = archive.next()
            if info is None:
                break
            stream.left_bytes = MAX_UNPACKED_BYTES
            if not info.isreg() or info.issparse():
                continue
            opened = archive.extractfile(info)
            if opened is None:
                continue
            content = read_telling(cast("BinaryIO", opened))
            while opened.read(_BLOCK_BYTES):
                pass
            kept += len(content)
            if kept > MAX_KEPT_BYTES:
                raise OSError(_too_much(MAX_KEPT_BYTES))
            yield Member(info.name, info.size, partial(io.BytesIO, content))
    except _ERRORS as error:
        raise OSError(_describe(error)) from error


def _open(archive: tarfile.TarFile, info: tarfile.TarInfo) -> BinaryIO:
    opened = archive.extractfile(info)
    if opened is None:
        raise OSError("the member cannot be read")
    return cast("BinaryIO", opened)


def _describe(error: Exception) -> str:
    if isinstance(error, (EOFError, zlib.error)):
        return describe_error(error).removesuffix(".")
    return "the tar archive is damaged or cut off"


def _too_much(limit_bytes: int) -> str:
    return f"the archive holds more than {limit_bytes >> 30} GiB; unpack it and give the directory"


class _Stream:
    """What blocks hold, read in pieces; no more than it may be."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.left_bytes = _MAX_HEADER_BYTES  # that may be read until this is set anew
        self._blocks = blocks
        self._buffer = b""
        self._position = 0
        self._total = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer only at the end."""
        parts: list[bytes] = []
        missing = size
        while missing > 0:
            if self._position == len(self._buffer):
                self._buffer, self._position = next(self._blocks, b""), 0
                if not self._buffer and not self._has_more():
                    break
            part = self._buffer[self._position : self._position + missing]
            self._position += len(part)
            missing -= len(part)
            parts.append(part)
        data = b"".join(parts)
        self._count(len(data))
        return data

    def _has_more(self) -> bool:
        """Whether blocks follow one that is empty; the next is then at hand."""
        for block in self._blocks:
            if block:
                self._buffer = block
                return True
        return False

    def _count(self, size: int) -> None:
        self.left_bytes -= size
        self._total += size
        if self.left_bytes < 0:
            raise OSError("the tar archive is damaged: what describes a member is too long")
        if self._total > MAX_UNPACKED_BYTES:
            raise OSError(_too_much(MAX_UNPACKED_BYTES))
