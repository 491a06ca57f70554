"""Compile hlo.proto: into hlo.binpb, which hlotool loads, and messages.pyi, which mypy reads.

    python testdata/protos/make_messages.py        (needs grpcio-tools)

Nothing that protoc generates is kept: such code asks for the very version of protobuf it was
generated for. A descriptor is read by all of them.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

FOLDER = Path(__file__).parent.parent.parent / "hlotool" / "proto"
_HEAD = '''"""What the messages of hlo.proto hold; testdata/protos/make_messages.py wrote this."""

from abc import ABCMeta
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self, TypeVar

_Value = TypeVar("_Value")

class Message:
    @classmethod
    def FromString(cls, data: bytes, /) -> Self: ...
    def SerializeToString(self) -> bytes: ...
    def ClearField(self, name: str) -> None: ...
    def CopyFrom(self, other: Self) -> None: ...

class Repeated(Sequence[_Value], metaclass=ABCMeta):
    def add(self, **fields: object) -> _Value: ...
    def append(self, value: _Value) -> None: ...
    def extend(self, values: Iterable[_Value]) -> None: ...

INSTRUCTION_PARTS: Mapping[str, str]

def enum_names(name: str) -> Mapping[int, str]: ...
def message_class(name: str) -> type[Message]: ...
def list_submessages(name: str) -> Mapping[int, str]: ...
'''


def compile_descriptor() -> bytes:
    """Return hlo.proto as a descriptor set."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hlo.binpb"
        code = protoc.main(
            ["protoc", f"-I{FOLDER}", f"--descriptor_set_out={path}", str(FOLDER / "hlo.proto")]
        )
        if code:
            sys.exit(code)
        return path.read_bytes()


def make_stub(data: bytes) -> str:
    """Return the stub: a class for each message, an attribute for each field."""
    file = FileDescriptorSet.FromString(data).file[0]
    lines = [line for message in file.message_type for line in _message_lines(message, "")]
    return "\n".join([_HEAD, *lines]).rstrip() + "\n"


def _message_lines(message: DescriptorProto, indent: str) -> Iterator[str]:
    """Yield the lines of a message's class; an entry of a map has none."""
    entries = {each.name: each for each in message.nested_type if each.options.map_entry}
    yield f"{indent}class {message.name}(Message):"
    for nested in message.nested_type:
        if nested.name not in entries:
            yield from _message_lines(nested, f"{indent}    ")
    optional = []
    for field in message.field:
        entry = entries.get(field.type_name.rpartition(".")[2])
        yield f"{indent}    {field.name}: {_type_of(field, entry)}"
        is_single = field.label != field.LABEL_REPEATED
        if is_single and (field.type == field.TYPE_MESSAGE or field.HasField("oneof_index")):
            optional.append(f'"{field.name}"')
    if optional:
        yield f"{indent}    def HasField(self, name: Literal[{', '.join(optional)}]) -> bool: ..."
    if not indent:
        yield ""


def _type_of(field: FieldDescriptorProto, entry: DescriptorProto | None) -> str:
    if entry is not None:
        key, value = entry.field
        return f"Mapping[{_plain_type(key)}, {_plain_type(value)}]"
    plain = _plain_type(field)
    return f"Repeated[{plain}]" if field.label == field.LABEL_REPEATED else plain


def _plain_type(field: FieldDescriptorProto) -> str:
    """Return the type of one value; an enum's is its number."""
    plain = {
        field.TYPE_STRING: "str",
        field.TYPE_BYTES: "bytes",
        field.TYPE_BOOL: "bool",
        field.TYPE_DOUBLE: "float",
        field.TYPE_FLOAT: "float",
        field.TYPE_MESSAGE: field.type_name.removeprefix(".hlotool.xla."),
    }
    return str(plain.get(field.type, "int"))


def main() -> None:
    """Write both files."""
    data = compile_descriptor()
    (FOLDER / "hlo.binpb").write_bytes(data)
    (FOLDER / "messages.pyi").write_text(make_stub(data), encoding="utf-8")


if __name__ == "__main__":
    main()
