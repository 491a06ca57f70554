"""Where do the classes of messages come from that other tools read? From tables of their fields.

Names, numbers and types are those that the tools publish; what is not written here is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from hlotool.errors import UsageError

# Of each message the fields by name: number and type, `*` before what is repeated.
Tables: TypeAlias = Mapping[str, Mapping[str, tuple[int, str]]]

_TYPES: Final = {
    "double": 1,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "bool": 8,
    "string": 9,
    "uint32": 13,
}
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11


def make_messages(package: str, tables: Tables, option: str) -> dict[str, Any]:
    """Return the class of each message; raise UsageError where protobuf is not installed."""
    try:
        from google.protobuf import (  # noqa: PLC0415  an extra
            descriptor_pb2,
            descriptor_pool,
            message_factory,
        )
    except ImportError:
        raise UsageError(f"{option} needs protobuf; install hlotool[pb].") from None
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto", package=package, syntax="proto2"
    )
    for name, fields in tables.items():
        message = file.message_type.add(name=name)
        for field_name, (number, kind) in fields.items():
            field = message.field.add(name=field_name, number=number)
            field.label = _REPEATED if kind.startswith("*") else _OPTIONAL
            bare = kind.removeprefix("*")
            field.type = _TYPES.get(bare, _MESSAGE)
            if bare not in _TYPES:
                field.type_name = f".{package}.{bare}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in tables
    }
