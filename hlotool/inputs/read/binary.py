"""Which binary file is this, when it is not text? Told from its first bytes."""

from __future__ import annotations

import codecs
from typing import Final

from hlotool.inputs.profile.kind import is_profile
from hlotool.inputs.proto.kind import find_proto_head
from hlotool.inputs.read.refusals import HOW_TO_DUMP
from hlotool.inputs.read.usage_proto import is_usage_proto

UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNPACK: Final = "; unpack it and give the directory"
_ONCE: Final = "compressed twice; unpack it once"
_OTHERWISE: Final = "; unpack it, or compress it with gzip, bzip2, xz or zstd"
_NO_TEXT: Final = "; hlotool reads text"
_MAGIC: Final = (
    (b"PK\x03\x04", f"a zip archive{_UNPACK}"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7z archive{_UNPACK}"),
    (b"BZh", _ONCE),
    (b"\x04\x22\x4d\x18", f"compressed with lz4{_OTHERWISE}"),
    (b"\x1f\x8b", _ONCE),
    (b"\xfd7zXZ\x00", _ONCE),
    (b"\x28\xb5\x2f\xfd", _ONCE),
    (b"\x7fELF", f"machine code (ELF){_NO_TEXT}"),
    (b"BC\xc0\xde", f"LLVM bitcode{_NO_TEXT}"),
    (b"ML\xefR", f"MLIR bytecode{_NO_TEXT}"),
    (b"\x80\x04\x95", f"a Python pickle{_NO_TEXT}"),
    (b"\x80\x05\x95", f"a Python pickle{_NO_TEXT}"),
    (b"SQLite format 3\x00", f"an SQLite database{_NO_TEXT}"),
    (b"\x89PNG", f"a picture{_NO_TEXT}"),
    (b"%PDF", f"a PDF document{_NO_TEXT}"),
)
_TAR: Final = (257, b"ustar")


def describe_binary(data: bytes) -> tuple[str, ...]:
    """Say what binary content this is, in lines; none if it may be text."""
    what = find_binary_kind(data)
    if what is None:
        return ()
    return (f"this is {what}.", *([HOW_TO_DUMP] if what.endswith(_NO_TEXT) else []))


def is_worth_reading(beginning: bytes) -> bool:
    """Whether what begins so is read to its end: what may be text, a proto, or a profile."""
    return find_binary_kind(beginning) is None or is_profile(beginning)


def find_binary_kind(data: bytes) -> str | None:
    """Say what binary content this is, as the end of "this is …."; None if it may be text.

    None as well if it is a proto of which a text can be made. A NUL byte is what makes
    anything else binary: no text dump holds one, but UTF-16 with its mark.
    """
    if data.startswith(UTF16_MARKS):
        return None
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return what
    if data[_TAR[0] : _TAR[0] + len(_TAR[1])] == _TAR[1]:
        return f"a tar archive{_UNPACK}"
    if is_profile(data):
        return "a profile of runs, which is no part of a dump; give it alone"
    if b"\x00" not in data or find_proto_head(data) is not None or is_usage_proto(data):
        return None
    return f"a binary file{_NO_TEXT}"
