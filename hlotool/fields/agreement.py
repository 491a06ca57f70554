"""Whether a declaration and its records say the same; what the tests of declarations ask."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Sequence

from hlotool.fields.document import DocumentSpec
from hlotool.fields.field import Field, Unit
from hlotool.fields.rows import Block, RowList

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset({"and", "or", "not", "in", "true", "false", "null"})  # of expressions
_TAKEN = frozenset({"schema", "hlotool_version", "input", "columns", "grouped_by", "groups"})
_TYPES: dict[Unit, tuple[type, ...]] = {
    Unit.TEXT: (str,),
    Unit.FLAG: (bool,),
    Unit.LIST: (tuple, list),
    Unit.RATIO: (float, int),
    Unit.PERCENT: (float, int),
    Unit.SECONDS: (float, int),
    Unit.MEASURE: (float, int, bool, str),
}


def find_disagreements(spec: DocumentSpec) -> list[str]:
    """List every way in which a document's declaration contradicts itself or its records."""
    found = list(_check_document(spec))
    for block in (*spec.blocks, *([spec.scalars] if spec.scalars else [])):
        found += _check_block(block)
    for row_list in spec.row_lists:
        found += _check_row_list(row_list)
    return [f"{spec.name}: {each}" for each in found]


def _check_document(spec: DocumentSpec) -> Iterator[str]:
    """Check that every key of the document is there once."""
    keys = [block.name for block in spec.blocks]
    keys += [row_list.name for row_list in spec.row_lists]
    keys += [field.name for field in (spec.scalars.fields if spec.scalars else ())]
    for key in keys:
        if keys.count(key) > 1 or key in _TAKEN:
            yield f"the key {key} is there twice"


def _check_block(block: Block) -> Iterator[str]:
    """Check a record of scalars and what is inside it."""
    yield from _check_record(block.name, block.record, block.fields)
    inner = [each.name for each in block.blocks] + [rows.name for rows in block.row_lists]
    for name in inner:
        if name not in _annotations(block.record):
            yield f"{block.name}.{name} is no attribute of {block.record.__name__}"
    for each in block.blocks:
        yield from _check_block(each)
    for row_list in block.row_lists:
        yield from _check_row_list(row_list)


def _check_row_list(row_list: RowList) -> Iterator[str]:
    """Check a row list and the names it mentions."""
    record = row_list.record
    yield from _check_record(row_list.name, record, row_list.fields)
    declared = {each.attribute for each in row_list.fields}
    declared |= {each.unit_from for each in row_list.fields}
    own = set(getattr(record, "__struct_fields__", ()))
    for name in sorted(own - declared):
        yield f"{record.__name__}.{name} is not declared in {row_list.name}"
    names = [part.strip().lstrip("+-") for part in row_list.sort.split(",") if part.strip()]
    names += [row_list.size, row_list.key, *row_list.lower_if, *row_list.upper_if]
    names += [each.once for each in row_list.fields]
    names += [each.indent_by for each in row_list.fields]
    if row_list.fold is not None:
        names += [*row_list.fold.keys, row_list.fold.name]
    known = {each.name for each in row_list.fields}
    for name in names:
        if name and name not in known:
            yield f"{row_list.name} mentions {name}, which is no field of it"


def _check_record(where: str, record: type[object], fields: Sequence[Field]) -> Iterator[str]:
    """Compare declared fields with the annotations of their record."""
    hints = _annotations(record)
    names = [field.name for field in fields]
    for field in fields:
        if names.count(field.name) > 1:
            yield f"{where}.{field.name} is declared twice"
        if not _NAME.fullmatch(field.name) or field.name in _RESERVED:
            yield f"{where}.{field.name} cannot be named in an expression"
        if (field.unit is Unit.BYTES) != ("bytes" in field.name.split("_")):
            yield f"{where}.{field.name} and its unit do not agree about bytes"
        if not field.meaning or field.meaning.endswith("."):
            yield f"{where}.{field.name} needs a meaning, without a full stop"
        if field.attribute not in hints:
            yield f"{where}.{field.name} is no attribute of {record.__name__}"
        else:
            yield from _check_type(f"{where}.{field.name}", field, hints[field.attribute])


def _annotations(record: type[object]) -> dict[str, object]:
    """Return the types of a record's fields and properties."""
    hints: dict[str, object] = dict(typing.get_type_hints(record))
    for name in dir(record):
        member = getattr(record, name)
        if isinstance(member, property) and member.fget is not None:
            hints[name] = typing.get_type_hints(member.fget).get("return")
    return hints


def _check_type(where: str, field: Field, hint: object) -> Iterator[str]:
    """Compare a field's unit with the annotation of its attribute."""
    is_union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    parts = typing.get_args(hint) if is_union else (hint,)
    if (type(None) in parts) != field.is_nullable:
        yield f"{where} is {'not ' * (not field.is_nullable)}nullable, but its record says {hint}"
    allowed = _TYPES.get(field.unit, (int,))
    for part in parts:
        origin = typing.get_origin(part)
        if origin is typing.Literal:
            values = typing.get_args(part)
            if field.values and set(values) != set(field.values):
                yield f"{where} lists other values than its record"
            continue
        actual = origin or part
        if actual is type(None):
            continue
        is_flag = actual is bool and bool not in allowed
        if not isinstance(actual, type) or is_flag or not issubclass(actual, allowed):
            yield f"{where} is {field.unit.value}, but its record says {hint}"
