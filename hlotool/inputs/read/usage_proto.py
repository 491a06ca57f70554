"""How is a memory-usage report that is a proto printed? As its text form, with exact sizes.

MemoryUsageReportProto of xla/service/memory_usage_report.proto: spaces, and in them allocations,
each with the table of the text form. No package is needed to read so little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.errors import InputError
from hlotool.inputs.proto.wire import VARINT, BrokenFieldError, Field, list_fields, read_varint
from hlotool.source import Source

_SPACE, _ENTRY, _TABLE = 1, 3, 6  # the fields that hold messages, and the text of a table
_TOTAL, _COLOR = 1, 2
_NUMBER, _SIZE = 1, 2
_FIRST: Final = b"\x0a"  # the tag of a space
_TOTAL_TAG: Final = b"\x08"
_COLOR_TAG: Final = b"\x10"
_ENTRY_TAG: Final = b"\x1a"


def is_usage_proto(data: bytes) -> bool:
    """Whether bytes begin as a report does: a space with its total, color and an allocation."""
    if not data.startswith(_FIRST):
        return False
    try:
        length, begin = read_varint(data, 1, len(data))
        if not length or data[begin : begin + 1] != _TOTAL_TAG:
            return False
        _, begin = read_varint(data, begin + 1, len(data))
        if data[begin : begin + 1] == _COLOR_TAG:
            _, begin = read_varint(data, begin + 1, len(data))
        if data[begin : begin + 1] != _ENTRY_TAG:
            return False
        _, begin = read_varint(data, begin + 1, len(data))
    except BrokenFieldError:
        return False
    return data[begin : begin + 1] in {_TOTAL_TAG, _COLOR_TAG}


def print_usage_proto(data: bytes, name: str) -> Source:
    """Return the text of a report; raise InputError if it is broken."""
    try:
        return Source("".join(_print(data)), name)
    except BrokenFieldError as error:
        raise InputError(
            f"{name}: the memory-usage report is damaged at byte {error.offset:,}: {error.why}."
        ) from error


def _print(data: bytes) -> Iterator[str]:
    for space in list_fields(data, 0, len(data)):
        if space.number != _SPACE:
            continue
        fields = list(list_fields(data, space.begin, space.end))
        total, color = _find(data, fields, _TOTAL), _find(data, fields, _COLOR)
        yield f"Memory Space: (color={color})\nTotal bytes: {total}\n"
        for entry in fields:
            if entry.number == _ENTRY:
                inner = list(list_fields(data, entry.begin, entry.end))
                number, size = _find(data, inner, _NUMBER), _find(data, inner, _SIZE)
                yield f"allocation {number}: size {size}:\n"
                for table in inner:
                    if table.number == _TABLE:
                        yield data[table.begin : table.end].decode("utf-8", "replace")
        yield "\n"


def _find(data: bytes, fields: list[Field], number: int) -> int:
    """Return the number that a field holds, 0 where it is left out."""
    for field in fields:
        if field.number == number and field.wire_type == VARINT:
            return read_varint(data, field.begin, field.end)[0]
    return 0
