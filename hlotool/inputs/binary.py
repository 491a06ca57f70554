"""Which binary file is this, when it is not text? Told from its first bytes."""

from __future__ import annotations

import re
from typing import Final

_MAGIC: Final = (
    (b"PK\x03\x04", "a zip archive; unpack it and give the directory"),
    (b"BZh", "compressed with bzip2; unpack it, or use gzip, xz or zstd"),
    (b"\x04\x22\x4d\x18", "compressed with lz4; unpack it, or use gzip, xz or zstd"),
    (b"\x1f\x8b", "compressed twice; unpack it once"),
    (b"\xfd7zXZ\x00", "compressed twice; unpack it once"),
    (b"\x28\xb5\x2f\xfd", "compressed twice; unpack it once"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it and give the directory"),
    (b"\x7fELF", "machine code (ELF)"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"ML\xefR", "MLIR bytecode"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF document"),
)
_TAR: Final = (257, b"ustar")
_MODULE_NAME: Final = re.compile(rb"[\w.\-<>()\[\] ]{1,1024}")


def find_binary_kind(data: bytes) -> str | None:
    """Say what binary content this is, as the end of "this is …"; None if it may be text.

    A NUL byte is what makes anything else binary: no text dump holds one.
    """
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return what
    if data[_TAR[0] : _TAR[0] + len(_TAR[1])] == _TAR[1]:
        return "a tar archive; unpack it and give the directory"
    name = find_proto_module(data)
    if name is not None:
        return f"a serialized protobuf of the HLO module {name!r} (.hlo.pb)"
    return "a binary file" if b"\x00" in data else None


def find_proto_module(data: bytes) -> str | None:
    """Return the module's name if this is an HloProto, HloSnapshot or HloModuleProto.

    message := 0x0A length inner      field 1 of HloSnapshot (hlo) and of HloProto (hlo_module)
    inner   := message | module
    module  := 0x0A length name 0x12  fields 1 and 2 of HloModuleProto
    """
    position = 0
    for _ in range(3):
        if data[position : position + 1] != b"\x0a":
            return None
        length, position = _read_varint(data, position + 1)
        after = position + length
        name = data[position : min(after, position + 1024)]
        if data[after : after + 1] == b"\x12" and _MODULE_NAME.fullmatch(name):
            return name.decode("utf-8", "replace")
    return None


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read a base-128 number; return it and the offset after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position] if position < len(data) else 0
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the continuation bit)
            break
    return value, position
