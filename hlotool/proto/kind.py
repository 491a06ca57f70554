"""What is told of a proto from its bytes alone: its message, its fields, whether it is a profile.

The package protobuf, which takes long to import, is not needed here: only tags and lengths are
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct

VARINT: Final = 0
LENGTH_DELIMITED: Final = 2
FIXED_BYTES: Final = {1: 8, 5: 4}
_CONTINUED: Final = 0x80  # a digit after which the number goes on
_MOST_BITS: Final = 70  # ten digits of seven bits hold any number of 64


class Field(Struct, frozen=True):
    """A field: its number, how it is stored, and where its value lies."""

    number: int
    wire_type: int
    tag: int  # the offset of the field itself
    begin: int
    end: int


class BrokenFieldError(Exception):
    """The bytes at an offset are no field; the message says why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(why)
        self.offset = offset
        self.why = why


def list_fields(data: bytes, begin: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message at [begin, end); raise BrokenFieldError where one is broken.

    field := tag value         tag = number * 8 + wire type, a varint
    value := varint | 8 bytes | length bytes | 4 bytes      by wire type 0, 1, 2, 5
    """
    position = begin
    while position < end:
        tag, after = read_varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            _, stop = read_varint(data, after, end)
        elif wire_type == LENGTH_DELIMITED:
            length, after = read_varint(data, after, end)
            if length > end - after:
                why = f"a field says it is {length:,} bytes long; {end - after:,} are left"
                raise BrokenFieldError(position, why)
            stop = after + length
        elif wire_type in FIXED_BYTES:
            stop = after + FIXED_BYTES[wire_type]
        else:
            raise BrokenFieldError(position, f"wire type {wire_type} does not exist")
        if number == 0 or stop > end:
            why = "a field ends too early" if number else "field number 0 is not allowed"
            raise BrokenFieldError(position, why)
        yield Field(number, wire_type, position, after, stop)
        position = stop


def write_field(number: int, data: bytes) -> bytes:
    """Return a field that holds some bytes, such as a message."""
    return _write_varint(number << 3 | LENGTH_DELIMITED) + _write_varint(len(data)) + data


def _write_varint(value: int) -> bytes:
    digits = bytearray()
    while value >= _CONTINUED:
        digits.append(value & (_CONTINUED - 1) | _CONTINUED)
        value >>= 7
    return bytes([*digits, value])


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Read a number in base 128, the lowest digits first; return it and the offset behind it."""
    value, start = 0, position
    for shift in range(0, _MOST_BITS, 7):
        if position >= end:
            raise BrokenFieldError(start, "a number ends too early")
        byte = data[position]
        position += 1
        value |= (byte & (_CONTINUED - 1)) << shift
        if byte < _CONTINUED:
            return value, position
    raise BrokenFieldError(start, "a number has too many digits")


def _read_tagged(data: bytes, position: int, tag: bytes) -> tuple[int, int]:
    """Read the number behind a tag; raise BrokenFieldError where another field stands."""
    if data[position : position + 1] != tag:
        raise BrokenFieldError(position, "this is another field than expected")
    return read_varint(data, position + 1, len(data))


# No message says what it is. The first field of a module is its name, and the next one is there in
# every file of XLA: what looks so is a module, however deep it stands.
_MODULE_NAME: Final = re.compile(rb"[\w.\-<>()\[\] ]{1,1024}")
_FIRST: Final = b"\x0a"  # the tag of field 1, of some length
_AFTER_NAME: Final = (b"\x12", b"\x1a")  # fields 2 and 3 of HloModuleProto
_DEEPEST: Final = 2
_CONFIG_OR_PARTITIONS: Final = 2
_BUFFERS_OR_VERSION: Final = 3


class ProtoHead(Struct, frozen=True):
    """What the first bytes of a proto tell."""

    module_name: str
    depth: int  # how many messages the module stands in
    begin: int = 0  # where the message begins
    end: int | None = None  # where it ends, if it says so itself


def find_proto_head(data: bytes) -> ProtoHead | None:
    """Return what a proto is that holds a module; None for anything else.

    file    := message | length message raw     the second form is of unoptimized snapshots
    message := 0x0A length inner      field 1 of HloSnapshot (hlo) and of HloProto (hlo_module)
    inner   := message | module
    module  := 0x0A length name ( 0x12 | 0x1A )   fields 1, and 2 or 3, of HloModuleProto
    """
    try:
        if (found := _find_module(data, 0)) is None:
            length, begin = read_varint(data, 0, len(data))
            found = _find_module(data, begin) if length else None
            return found and ProtoHead(found.module_name, found.depth, begin, begin + length)
    except BrokenFieldError:
        return None
    return found


def _find_module(data: bytes, begin: int) -> ProtoHead | None:
    """Follow the first fields down to the name of a module."""
    position = begin
    for depth in range(_DEEPEST + 1):
        if data[position : position + 1] != _FIRST:
            return None
        length, position = read_varint(data, position + 1, len(data))
        after = position + length
        name = data[position : min(after, position + 1025)]
        if data[after : after + 1] in _AFTER_NAME and _MODULE_NAME.fullmatch(name):
            return ProtoHead(name.decode("utf-8", "replace"), depth, begin)
    return None


def choose_message(data: bytes, head: ProtoHead) -> str:
    """Return the name of the message that a file is.

    A module stands alone, or in a message of its own with other things, or in one inside another.
    """
    if head.depth == 0:
        return "HloModuleProto"
    if head.depth == _DEEPEST:
        return "HloSnapshot"
    end = len(data) if head.end is None else min(head.end, len(data))
    # Field 2 is a configuration, which has fields of many numbers, or the arguments of a partition,
    # which have field 1 alone. Field 3 is a buffer assignment; in a snapshot it is a number.
    for field in _list_whole(data, head.begin, end):
        if field.number == _CONFIG_OR_PARTITIONS and field.wire_type == LENGTH_DELIMITED:
            inner = _list_whole(data, field.begin, field.end)
            is_config = any(each.number > _CONFIG_OR_PARTITIONS for each in inner)
            return "HloModuleProtoWithConfig" if is_config else "HloUnoptimizedSnapshot"
        if field.number == _BUFFERS_OR_VERSION and field.wire_type != LENGTH_DELIMITED:
            return "HloUnoptimizedSnapshot"
    return "HloProto"


def holds_assignment(data: bytes) -> bool:
    """Whether a buffer assignment stands beside the module: field 3 of HloProto, not empty."""
    head = find_proto_head(data)
    if head is None or choose_message(data, head) not in {"HloProto", "HloSnapshot"}:
        return False
    begin, end = head.begin, len(data) if head.end is None else min(head.end, len(data))
    if head.depth == _DEEPEST:
        first = next(iter(_list_whole(data, begin, end)), None)
        begin, end = (first.begin, first.end) if first else (end, end)
    return any(
        field.number == _BUFFERS_OR_VERSION and field.end > field.begin
        for field in _list_whole(data, begin, end)
    )


def _list_whole(data: bytes, begin: int, end: int) -> list[Field]:
    """Return the fields before the first that is broken."""
    found: list[Field] = []
    with suppress(BrokenFieldError):
        found.extend(list_fields(data, begin, end))
    return found


PROFILE_ENDING: Final = ".xplane.pb"
PROTO_ENDING: Final = ".hlo_proto.pb"  # of a program beside it
_ID: Final = b"\x08"  # tags of an XPlane
_NAME: Final = b"\x12"
_PLANE_NAME: Final = re.compile(rb"(?:/(?:host|device):|Task Environment|#Chip)[ -~]{0,200}")


def is_profile(data: bytes) -> bool:
    """Whether bytes begin as an XSpace does: with a plane that has a name of the profiler's.

    file  := 0x0A length plane …
    plane := [ 0x08 id ] 0x12 length name …       "/host:…", "/device:…", "Task Environment"
    """
    try:
        _, position = _read_tagged(data, 0, _FIRST)
        if data[position : position + 1] == _ID:
            _, position = _read_tagged(data, position, _ID)
        length, position = _read_tagged(data, position, _NAME)
    except BrokenFieldError:
        return False
    return _PLANE_NAME.fullmatch(data[position : position + min(length, 256)]) is not None


_TOTAL_TAG: Final = b"\x08"
_COLOR_TAG: Final = b"\x10"
_ENTRY_TAG: Final = b"\x1a"


def is_usage_report(data: bytes) -> bool:
    """Whether bytes begin as a report does: a space with its total, color and an allocation."""
    try:
        length, begin = _read_tagged(data, 0, _FIRST)
        _, begin = _read_tagged(data, begin, _TOTAL_TAG)
        if data[begin : begin + 1] == _COLOR_TAG:
            _, begin = _read_tagged(data, begin, _COLOR_TAG)
        _, begin = _read_tagged(data, begin, _ENTRY_TAG)
    except BrokenFieldError:
        return False
    return length > 0 and data[begin : begin + 1] in {_TOTAL_TAG, _COLOR_TAG}
