"""Where do the classes of the messages in hlo.proto come from? Made when first asked for.

`messages.pyi` says what each class holds. The
descriptors have a pool of their own: other packages may have XLA's messages in the common one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE: Final = "hlotool.xla"
# The messages that `HloInstructionProto` has as bytes, by field.
INSTRUCTION_PARTS: Final[Mapping[str, str]] = {
    "shape": "ShapeProto",
    "metadata": "OpMetadata",
    "frontend_attributes": "FrontendAttributes",
    "statistics_viz": "StatisticsViz",
}


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    """Return the pool with all messages of hlo.proto."""
    pool = descriptor_pool.DescriptorPool()
    # importlib.resources takes longer to import than all that follows.
    with open(os.path.join(os.path.dirname(__file__), "hlo.binpb"), "rb") as data:
        files = descriptor_pb2.FileDescriptorSet.FromString(data.read()).file
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@cache
def message_class(name: str) -> type:
    """Return the class of a message by its name: `HloModuleProto`, `HloInstructionProto.X`."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def list_submessages(name: str) -> Mapping[int, str]:
    """Return the fields of a message that hold messages: by number, the name of the message.

    Those that an instruction has as bytes are among them.
    """
    parts = INSTRUCTION_PARTS if name == "HloInstructionProto" else {}
    declared = descriptor_pb2.DescriptorProto()
    _pool().FindMessageTypeByName(f"{_PACKAGE}.{name}").CopyToProto(declared)
    return {
        field.number: parts.get(field.name) or field.type_name.removeprefix(f".{_PACKAGE}.")
        for field in declared.field
        if field.type == field.TYPE_MESSAGE or field.name in parts
    }


@cache
def enum_names(name: str) -> Mapping[int, str]:
    """Return the names of an enum's values by number."""
    values = _pool().FindEnumTypeByName(f"{_PACKAGE}.{name}").values
    return {value.number: value.name for value in values}


def __getattr__(name: str) -> type:
    """Return the class of a message, as an attribute of this module."""
    try:
        return message_class(name)
    except KeyError as error:
        raise AttributeError(name) from error
