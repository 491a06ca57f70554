"""What can be wrong with the declaration of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import FunctionType

from hlotool.table import Block, DocumentSpec, Field, RowList, Unit

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset({"and", "or", "not", "in", "true", "false", "null"})  # of expressions
_TAKEN = (
    *("schema", "hlotool_version", "input", "units", "next"),
    *("columns", "grouped_by", "groups", "lists", "left_out"),
)


def find_mistakes(spec: DocumentSpec) -> list[str]:
    """List what is wrong with a document's declaration."""
    blocks = [*spec.blocks, *([spec.scalars] if spec.scalars else [])]
    keys = [*_TAKEN, *_names(spec)]
    keys += [field.name for field in (spec.scalars.fields if spec.scalars else ())]
    found = [f"the key {key} is there twice" for key in _repeated(keys)]
    found += [mistake for block in blocks for mistake in _check_block(block)]
    found += [mistake for rows in spec.row_lists for mistake in _check_row_list(rows)]
    return [f"{spec.name}: {each}" for each in found]


def _check_block(block: Block) -> Iterator[str]:
    """Check a record of scalars and what is inside it."""
    yield from _check_fields(block.name, block.fields)
    inner = _names(block)
    for name in inner:
        if name not in block.record.__struct_fields__:
            yield f"{block.name}.{name} is no attribute of {block.record.__name__}"
    for key in _repeated([*inner, *(field.name for field in block.fields)]):
        yield f"{block.name}.{key} is there twice"
    for each in block.blocks:
        yield from _check_block(each)
    for row_list in block.row_lists:
        yield from _check_row_list(row_list)


def _check_row_list(rows: RowList) -> Iterator[str]:
    """Check a row list and the names it mentions."""
    yield from _check_fields(rows.name, rows.fields)
    known = [field.name for field in rows.fields]
    for key in _repeated(known):
        yield f"{rows.name}.{key} is there twice"
    used = {"unit", *(field.attribute for field in rows.fields)}
    used |= {name for field in rows.fields for name in _find_read(field)}
    for name in rows.record.__struct_fields__:
        if name not in used:
            yield f"{rows.record.__name__}.{name} is not declared in {rows.name}"
    names = [part.strip().lstrip("+-") for part in rows.sort.split(",")]
    names += [rows.size, rows.key, *rows.lower_if, *rows.upper_if]
    names += [*rows.screen.split(","), *rows.wide_screen.split(",")]
    names += [field.total_from for field in rows.fields]
    if rows.fold is not None:
        names += [*rows.fold.keys.split(","), rows.fold.name]
    for name in names:
        if name and name not in known:
            yield f"{rows.name} mentions {name}, which is no field of it"


def _find_read(field: Field) -> Iterator[str]:
    """Name what the functions of a figure read of a record."""
    for function in (field.shown, field.joint):
        if isinstance(function, FunctionType):
            yield from function.__code__.co_names


def _check_fields(where: str, fields: Iterable[Field]) -> Iterator[str]:
    """Check names, and what is said of them."""
    for field in fields:
        if not _NAME.fullmatch(field.name) or field.name in _RESERVED:
            yield f"{where}.{field.name} cannot be named in an expression"
        is_size = field.unit is Unit.BYTES
        if field.unit is not Unit.LIST and is_size != ("bytes" in field.name.split("_")):
            yield f"{where}.{field.name} and its unit do not agree about bytes"
        if not field.meaning or field.meaning.endswith("."):
            yield f"{where}.{field.name} needs a meaning, without a full stop"


def _names(holder: DocumentSpec | Block) -> list[str]:
    """Name the blocks and lists that a document or a block holds."""
    return [block.name for block in holder.blocks] + [rows.name for rows in holder.row_lists]


def _repeated(keys: list[str]) -> list[str]:
    return sorted({key for key in keys if keys.count(key) > 1})
