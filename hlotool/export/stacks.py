"""Which stack is a row of a list, and what does it weigh? Its scope is the stack.

How are weighted stacks written for flame graphs? `outer;inner;leaf 42`, a line each.

Where do the classes of messages come from that other tools read? From tables of their fields.

Names, numbers and types are those that the tools publish; what is not written here is left out.

How are weighted stacks written for pprof? As profile.proto of github.com/google/pprof, gzipped.

Scopes and instructions are functions; the place of an instruction's function is its line in the
user's program.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from hlotool.errors import UsageError
from hlotool.table import Field, Selection, Unit
from hlotool.text import escape

_NO_SCOPE: Final = "(no scope)"
_WEIGHTS: Final = frozenset({Unit.BYTES, Unit.FLOPS, Unit.COUNT, Unit.TIMES})
_NANOSECONDS: Final = 1e9


class Weight(Struct, frozen=True):
    """What stacks are weighed by: a field, and the unit in which other tools know it."""

    field: Field
    unit: str


class Frame(Struct, frozen=True):
    """One level of a stack; the last one may have a place in the user's program."""

    name: str
    file: str = ""
    line: int = 0


class Stack(Struct, frozen=True):
    """Frames from the outermost to the row itself, and a number for each weight."""

    frames: tuple[Frame, ...]
    values: tuple[int, ...]


def find_weights(selection: Selection, option: str) -> tuple[Weight, ...]:
    """Return what the rows of a selection can be weighed by, the most telling first.

    That is the field by which the list says how large a row is; then the other columns that add
    up. Raises UsageError where rows are groups, or have no path or nothing that adds up.
    """
    row_list = selection.row_list
    if selection.grouping is not None:
        raise UsageError(f"{option}: groups are no stacks; leave out --by.")
    if not any(each.is_path for each in row_list.fields):
        raise UsageError(f"{option}: rows of {row_list.name!r} have no path into the program.")
    columns = [
        each
        for each in selection.columns
        if each.is_summable and (each.unit in _WEIGHTS or each.unit is Unit.SECONDS)
    ]
    first = [row_list.field(row_list.size)] if row_list.size else []
    weights = list(dict.fromkeys((*first, *columns)))
    if not weights:
        raise UsageError(f"{option}: rows of {row_list.name!r} have nothing that adds up.")
    return tuple(Weight(each, _name_unit(each)) for each in weights)


def make_stacks(selection: Selection, weights: Sequence[Weight]) -> Iterator[Stack]:
    """Yield a stack for each row; an unknown weight is 0, and seconds are nanoseconds."""
    row_list = selection.row_list
    paths = [each.getter() for each in row_list.fields if each.is_path]
    names = [*_getters(row_list.fields, "value", "name"), row_list.key_field.getter()]
    files = _getters(row_list.fields, "source_file")
    lines = _getters(row_list.fields, "source_line")
    for row in selection.rows:
        path = _first_text(paths, row) or _NO_SCOPE
        scopes = tuple(Frame(escape(each)) for each in path.split("/"))
        line = next((found for get in lines if isinstance(found := get(row), int)), 0)
        leaf = Frame(escape(_first_text(names, row)), escape(_first_text(files, row)), line)
        yield Stack((*scopes, leaf), tuple(_weigh(each.field, row) for each in weights))


def _getters(fields: Sequence[Field], *names: str) -> list[Callable[[object], object]]:
    """Return what reads the fields of these names, as far as there are such."""
    known = {each.name: each for each in fields}
    return [known[name].getter() for name in names if name in known]


def _first_text(getters: Sequence[Callable[[object], object]], row: object) -> str:
    """Return the first text that is not empty; '' where there is none."""
    return next((found for get in getters if isinstance(found := get(row), str) and found), "")


def _weigh(field: Field, row: object) -> int:
    value = field.getter()(row)
    if not isinstance(value, int | float):
        return 0
    return round(value * _NANOSECONDS) if field.unit is Unit.SECONDS else int(value)


def _name_unit(field: Field) -> str:
    if field.unit is Unit.SECONDS:
        return "nanoseconds"
    return "bytes" if field.unit is Unit.BYTES else "count"


def render_folded(stacks: Iterable[Stack]) -> Iterator[str]:
    """Yield a line for each stack that weighs anything, by its first weight."""
    for stack in stacks:
        if stack.values[0] > 0:
            frames = ";".join(frame.name.replace(";", ",") for frame in stack.frames)
            yield f"{frames} {stack.values[0]}\n"


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


_OPTION: Final = "--format pprof"
_TABLES: Final[Tables] = {
    "Profile": {
        "sample_type": (1, "*ValueType"),
        "sample": (2, "*Sample"),
        "location": (4, "*Location"),
        "function": (5, "*Function"),
        "string_table": (6, "*string"),
        "comment": (13, "*int64"),
        "default_sample_type": (14, "int64"),
    },
    "ValueType": {"type": (1, "int64"), "unit": (2, "int64")},
    "Sample": {"location_id": (1, "*uint64"), "value": (2, "*int64")},
    "Location": {"id": (1, "uint64"), "line": (4, "*Line")},
    "Line": {"function_id": (1, "uint64"), "line": (2, "int64")},
    "Function": {"id": (1, "uint64"), "name": (2, "int64"), "filename": (4, "int64")},
}
_MOST: Final = (1 << 63) - 1


def expect_pprof() -> None:
    """Raise UsageError where what pprof needs is not installed."""
    make_messages("hlotool.pprof", _TABLES, _OPTION)


def render_pprof(stacks: Iterable[Stack], weights: Sequence[Weight], made_by: str) -> bytes:
    """Return a profile with a sample for each stack, and a sample type for each weight."""
    messages = make_messages("hlotool.pprof", _TABLES, _OPTION)
    profile = messages["Profile"]()
    writer = _Writer(profile)
    for weight in weights:
        profile.sample_type.add(type=writer.text(weight.field.name), unit=writer.text(weight.unit))
    profile.default_sample_type = writer.text(weights[0].field.name)
    profile.comment.append(writer.text(made_by))
    for stack in stacks:
        sample = profile.sample.add()
        sample.location_id.extend(writer.location(frame) for frame in reversed(stack.frames))
        sample.value.extend(min(value, _MOST) for value in stack.values)
    profile.string_table.extend(writer.texts)
    return gzip.compress(profile.SerializeToString(), mtime=0)


class _Writer:
    """Gives numbers to texts and to places, each once."""

    def __init__(self, profile: Any) -> None:
        self.texts: dict[str, int] = {"": 0}
        self._profile = profile
        self._locations: dict[Frame, int] = {}

    def text(self, text: str) -> int:
        """Return the number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def location(self, frame: Frame) -> int:
        """Return the number of a frame's place, from 1."""
        number = self._locations.get(frame)
        if number is None:
            number = self._locations[frame] = len(self._locations) + 1
            self._profile.function.add(
                id=number, name=self.text(frame.name), filename=self.text(frame.file)
            )
            self._profile.location.add(id=number).line.add(function_id=number, line=frame.line)
        return number
