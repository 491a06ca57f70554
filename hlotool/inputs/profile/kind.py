"""Is this file a profile? Told from its first bytes; nothing is decoded."""

from __future__ import annotations

import re
from typing import Final

from hlotool.inputs.proto.wire import LENGTH_DELIMITED, VARINT, BrokenFieldError, read_varint

ENDING: Final = ".xplane.pb"
PROTO_ENDING: Final = ".hlo_proto.pb"  # of a program beside it
_COMPRESSED: Final = re.compile(r"\.(?:gz|xz|zst)\Z")
_PLANES: Final = 1 << 3 | LENGTH_DELIMITED
_ID: Final = 1 << 3 | VARINT
_NAME: Final = 2 << 3 | LENGTH_DELIMITED
_PLANE_NAME: Final = re.compile(rb"(?:/(?:host|device):|Task Environment|#Chip)[ -~]{0,200}")


def is_profile(data: bytes, path: str) -> bool:
    """Whether bytes begin as an XSpace does, or are some in a file that is called like one.

    file  := 0x0A length plane …
    plane := [ 0x08 id ] 0x12 length name …       "/host:…", "/device:…", "Task Environment"
    """
    return begins_profile(data) or (bool(data) and _COMPRESSED.sub("", path).endswith(ENDING))


def begins_profile(data: bytes) -> bool:
    """Whether bytes begin with a plane."""
    if data[:1] != bytes([_PLANES]):
        return False
    end = len(data)
    try:
        _, position = read_varint(data, 1, end)
        if data[position : position + 1] == bytes([_ID]):
            _, position = read_varint(data, position + 1, end)
        if data[position : position + 1] != bytes([_NAME]):
            return False
        length, position = read_varint(data, position + 1, end)
    except BrokenFieldError:
        return False
    return _PLANE_NAME.fullmatch(data[position : position + min(length, 256)]) is not None
