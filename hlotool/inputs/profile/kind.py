"""Is this file a profile? Told from its first bytes; nothing is decoded."""

from __future__ import annotations

import re
from typing import Final

from hlotool.inputs.proto.wire import LENGTH_DELIMITED, VARINT, BrokenFieldError, read_varint

ENDING: Final = ".xplane.pb"
PROTO_ENDING: Final = ".hlo_proto.pb"  # of a program beside it
_PLANES: Final = 1 << 3 | LENGTH_DELIMITED
_ID: Final = 1 << 3 | VARINT
_NAME: Final = 2 << 3 | LENGTH_DELIMITED
_PLANE_NAME: Final = re.compile(rb"(?:/(?:host|device):|Task Environment|#Chip)[ -~]{0,200}")


def is_profile(data: bytes) -> bool:
    """Whether bytes begin as an XSpace does: with a plane that has a name of the profiler's.

    file  := 0x0A length plane …
    plane := [ 0x08 id ] 0x12 length name …       "/host:…", "/device:…", "Task Environment"
    """
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
