"""Bytes that are no text: compression is undone, other binary files are told apart by kind.

Told by the first bytes and not by the name, as downloads and pipes lose their names. gzip, bzip2,
xz and zstd are read: `decompress` unpacks a whole file, `read_decompressed` its beginning, and
`unpack_blocks` a compressed tar piece by piece. `find_binary_kind` says what anything else is.

A few compressed bytes can stand for any amount, so what begins as nothing that hlotool reads is not
unpacked to its end, and anything else only as far as its `budget.Allowance`. A new format needs a
`_Format`, its mark in `_COMPRESSIONS`, and a decompressor that takes and gives a file in pieces, so
that either can be seen early.
"""

from __future__ import annotations

import codecs
import importlib
import re
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from msgspec import Struct

from hlotool.dump.budget import Allowance
from hlotool.dump.text_kind import HOW_TO_DUMP
from hlotool.errors import InputError, MissingPackageError
from hlotool.proto.kind import find_proto_head, is_profile, is_usage_report

if TYPE_CHECKING:
    from bz2 import BZ2Decompressor
    from lzma import LZMADecompressor

UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNPACK: Final = "; unpack it and give the directory"
_OTHERWISE: Final = "; unpack it, or compress it with gzip, bzip2, xz or zstd"
_NO_TEXT: Final = "; hlotool reads text"
_GZIP: Final = b"\x1f\x8b"
_XZ: Final = b"\xfd7zXZ\x00"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_BZIP2: Final = b"BZh"
_COMPRESSIONS: Final = (_GZIP, _XZ, _ZSTD, _BZIP2)
_BINARY: Final = {
    b"PK\x03\x04": f"a zip archive{_UNPACK}",
    b"7z\xbc\xaf\x27\x1c": f"a 7z archive{_UNPACK}",
    b"\x04\x22\x4d\x18": f"compressed with lz4{_OTHERWISE}",
    **dict.fromkeys(_COMPRESSIONS, "compressed twice; unpack it once"),  # asked of unpacked bytes
    b"\x7fELF": f"machine code (ELF){_NO_TEXT}",
    b"BC\xc0\xde": f"LLVM bitcode{_NO_TEXT}",
    b"ML\xefR": f"MLIR bytecode{_NO_TEXT}",
    b"\x80\x04\x95": f"a Python pickle{_NO_TEXT}",
    b"\x80\x05\x95": f"a Python pickle{_NO_TEXT}",
    b"SQLite format 3\x00": f"an SQLite database{_NO_TEXT}",
    b"\x89PNG": f"a picture{_NO_TEXT}",
    b"%PDF": f"a PDF document{_NO_TEXT}",
}
_FIRST_BLOCK_BYTES: Final = 1 << 10
_LAST_BLOCK_BYTES: Final = 1 << 20
_ZSTD_BLOCK_BYTES: Final = 1 << 8  # of which 8 MiB come at most: 128 KiB of 4 bytes
_XZ_MEMORY_BYTES: Final = 128 << 20  # `xz -9` needs 65 MiB; a file may ask for 4 GiB
_PIECE_BYTES: Final = 1 << 20  # the most that another decompressor gives at once
TELLING_BYTES: Final = 1 << 11  # what a binary file is recognized by
_ZEROS: Final = re.compile(rb"\x00*+")


def decompress(data: bytes, name: str, allowance: Allowance) -> bytes:
    """Undo gzip, bzip2, xz or zstd, told by the first bytes; other data is returned as it is.

    Several compressed members in a row are read as one, as the command-line tools do. Where the
    beginning is nothing that is read, that is all that comes back: the rest may be a thousand
    times as much. Raises InputError for more than is allowed.
    """
    if (magic := find_compression(data)) is None:
        return data
    blocks: list[bytes] = []
    size, is_known = 0, False
    try:
        for block in _unpack(data, _choose_format(magic, name)):
            size += len(block)
            allowance.count(f"{name} unpacked", size)
            blocks.append(block)
            if not is_known and size >= TELLING_BYTES:
                beginning = b"".join(blocks)
                if not is_worth_reading(beginning):
                    return beginning
                is_known = True
        return b"".join(blocks)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: {describe_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory once unpacked.") from error


def read_decompressed(file: BinaryIO, limit_bytes: int, name: str) -> bytes:
    """Return the first bytes of a file, unpacked, at most `limit_bytes`.

    A compressed file is read in small steps and no further than needed. If it ends too
    early, what there is comes back: who reads it whole gets the error.
    """
    data = file.read(min(limit_bytes, _FIRST_BLOCK_BYTES))
    if (magic := find_compression(data)) is None:
        return data + file.read(limit_bytes - len(data))
    form = _choose_format(magic, name)
    member = form.open()
    blocks: list[bytes] = []
    size = 0
    while data and size < limit_bytes and not member.eof:
        for block in form.feed(member, memoryview(data)):
            blocks.append(block)
            size += len(block)
            if size >= limit_bytes:
                break
        data = file.read(_FIRST_BLOCK_BYTES)
    return b"".join(blocks)[:limit_bytes]


def unpack_blocks(data: bytes, name: str) -> Iterator[bytes]:
    """Yield what compressed data holds, in blocks; other data is one block.

    Raises the errors that `describe_error` makes sentences of.
    """
    magic = find_compression(data)
    return _unpack(data, _choose_format(magic, name)) if magic else iter((data,))


def find_compression(data: bytes) -> bytes | None:
    """Return the first bytes that tell how data is compressed, None if it is not."""
    return next((each for each in _COMPRESSIONS if data.startswith(each)), None)


def refuse_binary(data: bytes, name: str) -> None:
    """Raise InputError for binary content, with what it is."""
    if (what := find_binary_kind(data)) is not None:
        raise InputError(f"{name}: this is {what}.", *[HOW_TO_DUMP] * what.endswith(_NO_TEXT))


def is_tar(data: bytes) -> bool:
    """Whether bytes begin as a tar archive does: with its mark behind the first name."""
    return data.startswith(b"ustar", 257)


def is_worth_reading(beginning: bytes) -> bool:
    """Whether what begins so is read to its end: what may be text, a proto, or a profile.

    A profile is binary to whoever wants a text of it, and read by `profile` all the same.
    """
    return find_binary_kind(beginning) is None or is_profile(beginning)


def find_binary_kind(data: bytes) -> str | None:
    """Say what binary content this is, as the end of "this is …."; None if it may be text.

    None as well if it is a proto of which a text can be made. A NUL byte is what makes
    anything else binary: no text dump holds one, but UTF-16 with its mark.
    """
    if data.startswith(UTF16_MARKS):
        return None
    for magic, what in _BINARY.items():
        if data.startswith(magic):
            return what
    if is_tar(data):
        return f"a tar archive{_UNPACK}"
    if is_profile(data):
        return "a profile, which is not part of a dump; give it alone"
    if b"\x00" not in data or find_proto_head(data) is not None or is_usage_report(data):
        return None
    return f"a binary file{_NO_TEXT}"


def describe_error(error: Exception) -> str:
    """Turn an error of reading or unpacking into a sentence."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or directory."
    if isinstance(error, PermissionError):
        return "permission denied."
    if isinstance(error, IsADirectoryError):
        return "this is a directory."
    if isinstance(error, EOFError):
        return "the compressed file is cut off; it was not copied or written to its end."
    if isinstance(error, zlib.error):
        return f"the compressed data is damaged ({error})."
    return f"{getattr(error, 'strerror', None) or error}."


def _unpack(data: bytes, form: _Format) -> Iterator[bytes]:
    """Unpack all members of a file; zeros after a member are padding.

    Reads in blocks that start small and grow, so that a file of many members takes linear time,
    however small they are: a decompressor copies what it was given beyond its member's end
    (`unused_data`). bgzip and `cat a.gz b.gz` make such files.
    """
    view, position = memoryview(data), 0
    while data.startswith(form.magic, position):
        member, size = form.open(), _FIRST_BLOCK_BYTES
        while not member.eof:
            if position >= len(data):
                raise EOFError
            yield from form.feed(member, view[position : position + size])
            position += size
            size = min(2 * size, form.block_bytes)
        position = min(position, len(data)) - len(member.unused_data)
        padding = _ZEROS.match(data, position)
        position = padding.end() if padding else position
    if position < len(data):
        raise OSError(f"{len(data) - position} bytes of something else follow the compressed data")


class _Decompressor(Protocol):
    """What unpacks one member of a file: zlib's, lzma's and zstandard's have this form."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class _Format(Struct, frozen=True):
    """A way of compression: what unpacks one member of a file, and what that raises."""

    magic: bytes
    open: Callable[[], _Decompressor]
    unpack: Callable[..., Iterator[bytes]]  # of a decompressor and what it is given, in pieces
    error: type[Exception] = zlib.error
    block_bytes: int = _LAST_BLOCK_BYTES  # the most that a decompressor is given at once

    def feed(self, member: _Decompressor, data: memoryview) -> Iterator[bytes]:
        """Unpack the next part of a member; whatever the format, its error is a zlib.error."""
        try:
            yield from self.unpack(member, data)
        except self.error as error:
            raise zlib.error(str(error)) from error


def _choose_format(magic: bytes, name: str) -> _Format:
    if magic == _GZIP:
        return _Format(magic, lambda: zlib.decompressobj(wbits=31), _unpack_gzip)
    if magic == _XZ:
        import lzma  # noqa: PLC0415  start-up time

        return _Format(
            magic,
            lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY_BYTES),
            _unpack_limited,
            lzma.LZMAError,
        )
    if magic == _BZIP2:
        import bz2  # noqa: PLC0415  the same

        return _Format(magic, bz2.BZ2Decompressor, _unpack_limited, OSError)
    zstandard = _zstandard(name)
    return _Format(
        magic,
        lambda: zstandard.ZstdDecompressor().decompressobj(),
        lambda member, data: iter((member.decompress(data),)),
        zstandard.ZstdError,
        _ZSTD_BLOCK_BYTES,
    )


def _unpack_gzip(member: zlib._Decompress, data: memoryview) -> Iterator[bytes]:
    yield member.decompress(data, _PIECE_BYTES)
    while member.unconsumed_tail:
        yield member.decompress(member.unconsumed_tail, _PIECE_BYTES)


def _unpack_limited(
    member: BZ2Decompressor | LZMADecompressor, data: memoryview
) -> Iterator[bytes]:
    yield member.decompress(data, _PIECE_BYTES)
    while not (member.eof or member.needs_input):
        yield member.decompress(b"", _PIECE_BYTES)


def _zstandard(name: str) -> ModuleType:
    """Import the optional package for zstd, or say how to get it."""
    try:
        return importlib.import_module("zstandard")
    except ImportError as error:
        raise MissingPackageError(
            f"{name}: this file is compressed with zstd, which needs one more package: "
            "pip install 'hlotool[zst]'. Or unpack it with zstd -d."
        ) from error
