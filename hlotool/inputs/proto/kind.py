"""Which message of XLA is this file? Told from its bytes; nothing is decoded."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hlotool.inputs.proto.wire import (
    LENGTH_DELIMITED,
    BrokenFieldError,
    Field,
    list_fields,
    read_varint,
)

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
        found = _find_module(data, 0)
        if found is None:
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
    for field in _list_whole(data, head.begin, end):
        if field.number == _CONFIG_OR_PARTITIONS and field.wire_type == LENGTH_DELIMITED:
            inner = _list_whole(data, field.begin, field.end)
            is_config = any(each.number > _CONFIG_OR_PARTITIONS for each in inner)
            return "HloModuleProtoWithConfig" if is_config else "HloUnoptimizedSnapshot"
        if field.number == _BUFFERS_OR_VERSION and field.wire_type != LENGTH_DELIMITED:
            return "HloUnoptimizedSnapshot"
    return "HloProto"


def find_assignment(data: bytes, head: ProtoHead) -> bool:
    """Say whether a buffer assignment stands beside the module: field 3 of HloProto, not empty."""
    begin, end = head.begin, len(data) if head.end is None else min(head.end, len(data))
    if head.depth == 0 or choose_message(data, head) not in {"HloProto", "HloSnapshot"}:
        return False
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
