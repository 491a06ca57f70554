"""From the PATH a user typed to text: open, decompress, decode, each failure a sentence.

What counts as readable: regular files, pipes (`<(zcat x)`, `-`) and /dev/null; sockets and
other devices may never end and are refused. Compression is told by the first bytes.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import importlib
import lzma
import os
import stat
import sys
import zlib
from types import ModuleType
from typing import IO, BinaryIO, Final, cast

from hlotool.errors import InputError
from hlotool.inputs.binary import find_binary_kind
from hlotool.inputs.refusals import HOW_TO_DUMP
from hlotool.source import Source

STDIN: Final = "-"
_GZIP: Final = b"\x1f\x8b"
_XZ: Final = b"\xfd7zXZ\x00"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def display_name(path: str) -> str:
    """Return a path as it may be printed: `<stdin>` for `-`, no control characters."""
    if path == STDIN:
        return "<stdin>"
    clean = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "\ufffd" for char in clean)


def read_source(path: str) -> Source:
    """Read a whole file, or standard input for `-`, as text; raise InputError if it is none."""
    name = display_name(path)
    return Source(decode_text(decompress(read_bytes(path), name), name), name)


def read_bytes(path: str) -> bytes:
    """Read a file, a pipe, or standard input to its end, once."""
    name = display_name(path)
    try:
        if path == STDIN:
            return sys.stdin.buffer.read()
        with _open(path) as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{name}: {_describe_os_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory.") from error


def read_head(path: str, limit_bytes: int) -> str:
    """Read the first part of a file as text, whatever follows; '' if it is not text.

    For looking at many files of a directory. Decompresses no more than it needs, opens
    regular files only, and raises InputError where nothing can be read.
    """
    name = display_name(path)
    try:
        with _open(path) as file:
            start = file.read(len(_XZ))
            file.seek(0)
            data = _open_decompressed(file, start, name).read(limit_bytes)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{name}: {_describe_os_error(error)}") from error
    if data.startswith(_UTF16):
        return data.decode("utf-16", "replace")
    if find_binary_kind(data) is not None:
        return ""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def decompress(data: bytes, name: str) -> bytes:
    """Undo gzip, xz or zstd, told by the first bytes; other data is returned as it is.

    Several compressed members in a row are read as one, as the command-line tools do.
    """
    try:
        if data.startswith(_GZIP):
            return gzip.decompress(data)
        if data.startswith(_XZ):
            return lzma.decompress(data)
        return _unzstd(data, name) if data.startswith(_ZSTD) else data
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{name}: {_describe_os_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory once unpacked.") from error


def decode_text(data: bytes, name: str) -> str:
    """Decode UTF-8 (or UTF-16 with its mark), without byte-order mark and CRs before LFs."""
    if not data:
        raise InputError(f"{name}: the file is empty.\n{HOW_TO_DUMP}")
    if data.startswith(_UTF16):
        text = data.decode("utf-16", "replace")
    else:
        what = find_binary_kind(data)
        if what is not None:
            raise InputError(f"{name}: this is {what}; hlotool reads text.\n{HOW_TO_DUMP}")
        text = _decode_utf8(data, name).removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def _decode_utf8(data: bytes, name: str) -> str:
    """Decode, or say at which byte and line the text stops being UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        what = f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8"
        raise InputError(
            f"{name}:{line}:{column}: this is not text: {what}; the file is damaged, or it is "
            f"no text dump.\n{HOW_TO_DUMP}"
        ) from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory.") from error


def _open(path: str) -> BinaryIO:
    """Open what may be read to an end: a regular file, a pipe, /dev/null."""
    mode = _stat(path).st_mode
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        raise OSError("this is a device or a socket, not a file")
    if stat.S_ISCHR(mode) and os.path.realpath(path) != os.devnull:
        raise OSError("this is a device, not a file; give - to read standard input")
    return open(path, "rb")  # noqa: PTH123  (paths stay strings as typed)


def _stat(path: str) -> os.stat_result:
    """Return what the system says of a path; a NUL in it counts as a missing file."""
    try:
        return os.stat(path)  # noqa: PTH116
    except ValueError as error:
        raise FileNotFoundError(errno.ENOENT, "no such file") from error


def _open_decompressed(file: BinaryIO, start: bytes, name: str) -> IO[bytes]:
    """Wrap an open file so that reading it gives the unpacked bytes."""
    if start.startswith(_GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if start.startswith(_XZ):
        return lzma.LZMAFile(file)
    if start.startswith(_ZSTD):
        return cast("IO[bytes]", _zstandard(name).ZstdDecompressor().stream_reader(file))
    return file


def _unzstd(data: bytes, name: str) -> bytes:
    """Unpack all zstd frames of a file."""
    zstandard = _zstandard(name)
    blocks: list[bytes] = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            blocks.append(frame.decompress(data))
        except zstandard.ZstdError as error:
            raise OSError(f"the compressed data is damaged ({error})") from error
        if not frame.eof:
            raise EOFError
        data = frame.unused_data
    return b"".join(blocks)


def _zstandard(name: str) -> ModuleType:
    """Import the optional package for zstd, or say how to get it."""
    try:
        return importlib.import_module("zstandard")
    except ImportError as error:
        raise InputError(
            f"{name}: this file is compressed with zstd, which needs one more package: "
            "pip install 'hlotool[zst]'. Or unpack it with zstd -d."
        ) from error


def _describe_os_error(error: Exception) -> str:
    """Turn an error of reading or unpacking into a sentence."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or directory."
    if isinstance(error, PermissionError):
        return "the file may not be read (permission denied)."
    if isinstance(error, IsADirectoryError):
        return "this is a directory."
    if isinstance(error, EOFError) or "ended before" in str(error):
        return "the compressed file is cut off; it was not copied or written to its end."
    if isinstance(error, (gzip.BadGzipFile, lzma.LZMAError, zlib.error)):
        return f"the compressed data is damaged ({error})."
    return f"{getattr(error, 'strerror', None) or error}."
