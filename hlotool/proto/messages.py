"""Where do the classes of the messages in hlo.proto come from? Made when first asked for.

Importing this needs the package protobuf. `messages.pyi` says what each class holds. The
descriptors have a pool of their own: other packages may have XLA's messages in the common one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from msgspec import Struct

_PACKAGE: Final = "hlotool.xla"


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    """Return the pool with all messages of hlo.proto."""
    pool = descriptor_pool.DescriptorPool()
    data = resources.files(__package__).joinpath("hlo.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@cache
def find_message(name: str) -> type:
    """Return the class of a message by its name: `HloModuleProto`, `HloInstructionProto.X`."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


class FieldForm(Struct, frozen=True):
    """How a field is declared."""

    number: int
    type: int  # as protobuf numbers types
    is_repeated: bool
    message: str | None  # the name of the message that it holds


@cache
def list_forms(name: str) -> Sequence[FieldForm]:
    """Return how the fields of a message are declared."""
    declared = descriptor_pb2.DescriptorProto()
    _pool().FindMessageTypeByName(f"{_PACKAGE}.{name}").CopyToProto(declared)
    return [
        FieldForm(
            field.number,
            field.type,
            field.label == field.LABEL_REPEATED,
            field.type_name.removeprefix(f".{_PACKAGE}.")
            if field.type == field.TYPE_MESSAGE
            else None,
        )
        for field in declared.field
    ]


@cache
def list_submessages(name: str) -> Mapping[int, str]:
    """Return the fields of a message that hold messages: by number, the name of the message."""
    return {form.number: form.message for form in list_forms(name) if form.message is not None}


@cache
def enum_names(name: str) -> Mapping[int, str]:
    """Return the names of an enum's values by number."""
    values = _pool().FindEnumTypeByName(f"{_PACKAGE}.{name}").values
    return {value.number: value.name for value in values}


def __getattr__(name: str) -> type:
    """Return the class of a message, as an attribute of this module."""
    try:
        return find_message(name)
    except KeyError as error:
        raise AttributeError(name) from error
