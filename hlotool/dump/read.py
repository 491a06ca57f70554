"""From the PATH a user typed to text: open, decompress, decode, each failure a sentence.

Files are where `stores` finds them. Compression is told by the first bytes.
"""

from __future__ import annotations

import sys
import zlib
from typing import Final

from hlotool.dump.compression import (
    HOW_TO_DUMP,
    UTF16_MARKS,
    decompress,
    describe_binary,
    describe_error,
    find_binary_kind,
    read_decompressed,
)
from hlotool.dump.local import is_pipe
from hlotool.dump.protos import (
    is_usage_proto,
    print_proto,
    print_proto_assignment,
    print_proto_head,
    print_usage_proto,
)
from hlotool.dump.stores import find_store
from hlotool.errors import InputError
from hlotool.proto.kind import find_assignment, find_proto_head
from hlotool.text import Source

STDIN: Final = "-"


def display_name(path: str) -> str:
    """Return what a path is called in answers and messages: `<stdin>` for `-`, else itself."""
    return "<stdin>" if path == STDIN else path


def is_read_once(path: str) -> bool:
    """Whether a path can be read once only: standard input, and pipes."""
    return path == STDIN or is_pipe(path)


def read_source(path: str) -> Source:
    """Read a whole file, or standard input for `-`, as text; raise InputError if it is none.

    The text of an HLO proto is what XLA prints of it.
    """
    name = display_name(path)
    return make_source(decompress(read_bytes(path), name), name)


def make_source(data: bytes, name: str) -> Source:
    """Return the text that some bytes are, unpacked; raise InputError if they are none."""
    head = find_proto_head(data)
    if head is not None:
        return print_proto(data, head, name)
    if is_usage_proto(data):
        return print_usage_proto(data, name)
    return Source(decode_text(data, name), name)


def make_assignment(data: bytes, name: str) -> Source:
    """Return the text of the buffer assignment in a proto; raise InputError if it has none."""
    head = find_proto_head(data)
    if head is None:
        raise InputError(f"{name}: expected an HLO protobuf with a buffer assignment.")
    return print_proto_assignment(data, head, name)


def holds_assignment(path: str) -> bool:
    """Whether a file is a proto that holds a buffer assignment; no where it cannot be read."""
    try:
        data = decompress(read_bytes(path), path)
    except InputError:
        return False
    head = find_proto_head(data)
    return head is not None and find_assignment(data, head)


def read_bytes(path: str) -> bytes:
    """Read a file, a pipe, or standard input to its end, once."""
    name = display_name(path)
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise InputError(f"{name}: standard input is closed.")
            return sys.stdin.buffer.read()
        return find_store(path).read(path)
    except OSError as error:
        raise InputError(f"{name}: {describe_error(error)}") from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory.") from error


def read_head(path: str, limit_bytes: int) -> str:
    """Read the first part of a file as text, whatever follows; '' if it is not text.

    For looking at many files of a directory. Decompresses no more than it needs, opens
    regular files only, and raises InputError where nothing can be read. Of an HLO proto, which
    has to be read whole, the header line comes back.
    """
    name = display_name(path)
    try:
        with find_store(path).open(path) as file:
            data = read_decompressed(file, limit_bytes, name)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: {describe_error(error)}") from error
    if data.startswith(UTF16_MARKS):
        return data.decode("utf-16", "replace")
    if (head := find_proto_head(data)) is not None:
        return print_proto_head(decompress(read_bytes(path), name), head, name)
    if find_binary_kind(data) is not None:
        return ""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def decode_text(data: bytes, name: str) -> str:
    """Decode UTF-8 (or UTF-16 with its mark), without byte-order mark and CRs before LFs."""
    if not data:
        raise InputError(f"{name}: the file is empty.", HOW_TO_DUMP)
    if data.startswith(UTF16_MARKS):
        text = data.decode("utf-16", "replace")
    else:
        refusal = describe_binary(data)
        if refusal:
            raise InputError(f"{name}: {refusal[0]}", *refusal[1:])
        text = _decode_utf8(data, name).removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if "\r" in text else text


def _decode_utf8(data: bytes, name: str) -> str:
    """Decode, or say at which byte and line the text stops being UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = f"{name}:{line}:{column}"
        if error.end == len(data) and "end of data" in error.reason:
            raise InputError(
                f"{place}: the text is cut off in the middle of a character; "
                "was it copied to its end?"
            ) from error
        raise InputError(
            f"{place}: this is not UTF-8 text: byte 0x{data[error.start]:02x} stands at offset "
            f"{error.start}; the file is damaged, or it is no text dump.",
            HOW_TO_DUMP,
        ) from error
    except MemoryError as error:
        raise InputError(f"{name}: the file does not fit into memory.") from error
