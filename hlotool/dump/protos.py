"""How does an HLO proto come to be text, where the package for that is there?

How is a memory-usage report that is a proto printed? As its text form, with exact sizes.

MemoryUsageReportProto of xla/service/memory_usage_report.proto: spaces, and in them allocations,
each with the table of the text form. No package is needed to read so little.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from hlotool.errors import InputError, MissingPackageError
from hlotool.proto.kind import VARINT, BrokenFieldError, Field, ProtoHead, list_fields, read_varint
from hlotool.text import Source


def is_proto_readable() -> bool:
    """Whether the package protobuf is installed."""
    try:
        return find_spec("google.protobuf") is not None
    except ModuleNotFoundError:  # nothing of google's is
        return False


def print_proto(data: bytes, head: ProtoHead, name: str) -> Source:
    """Return the text of the module in a proto; raise InputError if it is broken.

    With it, on how many devices the proto proves that it runs.
    """
    _expect_package(name, head)
    from hlotool.proto.decode import decode_module, print_module  # noqa: PLC0415  optional
    from hlotool.proto.module import prove_counts  # noqa: PLC0415  optional

    decoded = decode_module(data, head, name)
    counts = prove_counts(decoded.module, decoded.config)
    proto = data if decoded.assignment is not None else None
    return Source(print_module(decoded, name), name, counts=counts, proto=proto)


def print_proto_assignment(data: bytes, head: ProtoHead, name: str) -> Source:
    """Return the text of the buffer assignment in a proto; raise InputError if it has none."""
    _expect_package(name, head)
    from hlotool.proto.decode import decode_module, print_assignment  # noqa: PLC0415  optional

    text = print_assignment(decode_module(data, head, name), name)
    if text is None:
        raise InputError(f"{name}: this protobuf holds a module, and no buffer assignment.")
    return Source(text, name)


def print_proto_head(data: bytes, head: ProtoHead, name: str) -> str:
    """Return the header line of the module in a proto; raise InputError if it is broken."""
    _expect_package(name, head)
    from hlotool.proto.decode import decode_module, print_head  # noqa: PLC0415  optional

    return f"{print_head(decode_module(data, head, name))}\n"


def _expect_package(name: str, head: ProtoHead) -> None:
    if not is_proto_readable():
        raise MissingPackageError(
            f"{name}: this is the HLO module {head.module_name!r} as a protobuf, which needs one "
            "more package: pip install 'hlotool[pb]'."
        )


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
