"""A figure is declared where its record stands: unit, meaning and column beside its type.

    class OpcodeRow(Struct, frozen=True):
        opcode: Annotated[str, column("the opcode; async sugar is undone")]
        count: Annotated[int, figure("instructions in the text", COUNT)]
        executions: Annotated[int | None, column("how often they run", COUNT, heading="runs")]

The type says the rest: `| None` may be unknown, a `Literal` is a closed vocabulary, text, flags
and lists are what they are; `words` are a vocabulary to which newer dumps may add. A record's
`fields_of` are its figures in the order of the class; JSON, columns, `--where`, `hlotool fields`,
schemas and docs/fields.md are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypedDict, Union, Unpack, get_args, get_origin

from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from hlotool.fields.field import Field, Unit

_FIGURE: Final = "figure"  # where a Meta keeps what `Field` wants to know


class Options(TypedDict, total=False):
    """What a declaration may add; `Field` says what each means."""

    heading: str
    null_text: str
    is_summed: bool
    is_signed: bool
    is_fine: bool
    is_path: bool
    give_way: int
    wants: int
    leaves_alike: bool
    is_whole: bool
    is_shape: bool
    is_below: bool
    has_lines: bool
    is_curve: bool
    is_exact: bool
    joint_from: str
    once: str
    lower_if: str
    upper_if: str
    is_verdict: bool
    estimate_if: str
    indent_by: str
    range_from: str
    unit_from: str
    apart_from: str
    digits_from: str
    names_from: str
    words: frozenset[str]
    word_meanings: Mapping[str, str]


def figure(meaning: str, unit: Unit | None = None, **options: Unpack[Options]) -> Meta:
    """Declare a figure that a table shows only on request; `unit` is for numbers."""
    return _declare(meaning, unit, in_table=False, **options)


def column(meaning: str, unit: Unit | None = None, **options: Unpack[Options]) -> Meta:
    """Declare a figure that a table shows."""
    return _declare(meaning, unit, in_table=True, **options)


def _declare(meaning: str, unit: Unit | None, **options: Any) -> Meta:
    return Meta(
        description=meaning,
        extra_json_schema={"unit": unit.value} if unit else None,
        extra={_FIGURE: {"unit": unit, **options}},
    )


@cache
def fields_of(record: type[Struct]) -> tuple[Field, ...]:
    """Return the figures that a record declares; parts of it that are no figures are left out.

    Raises TypeError for a number without a unit, and for a unit of anything else: a mistake in
    a declaration.
    """
    found = []
    for each in fields(record):
        meta = _find_meta(each.type)
        if meta is not None:
            found.append(_read(each, meta))
    return tuple(found)


def _find_meta(declared: Any) -> Meta | None:
    """Return what `figure` or `column` made, None where there is no such annotation."""
    if get_origin(declared) is not Annotated:
        return None
    return next((one for one in get_args(declared)[1:] if _FIGURE in (one.extra or {})), None)


def _read(declared: FieldInfo, meta: Meta) -> Field:
    options = dict((meta.extra or {})[_FIGURE])
    parts = _alternatives(get_args(declared.type)[0])
    is_nullable = NoneType in parts
    known = [part for part in parts if part is not NoneType]
    given, implied = options.pop("unit"), _unit_of(known)
    unit = given or implied
    if unit is None or (given and implied):
        raise TypeError(f"{declared.name}: numbers have a unit, and nothing else has one")
    values = [word for part in known for word in _words_of(part)]
    word_meanings: Mapping[str, str] = options.pop("word_meanings", {})
    return Field(
        declared.encode_name,
        unit,
        meta.description or "",
        is_nullable=is_nullable,
        values=tuple(values),
        items=_items_of(known[0]) if unit is Unit.LIST else Unit.TEXT,
        attribute=declared.name,
        word_meanings=tuple(word_meanings.items()),
        **options,
    )


def _alternatives(declared: Any) -> tuple[Any, ...]:
    return get_args(declared) if get_origin(declared) in {UnionType, Union} else (declared,)


def _unit_of(known: list[Any]) -> Unit | None:
    """Return the unit that a type implies, None for numbers."""
    kinds = {get_origin(part) or part for part in known}
    if kinds <= {str, Literal}:
        return Unit.TEXT
    if kinds == {bool}:
        return Unit.FLAG
    return Unit.LIST if kinds == {tuple} else None


def _words_of(declared: Any) -> tuple[str, ...]:
    """Return all that a text, or an item of a list of texts, may be; nothing if that is open."""
    if get_origin(declared) is tuple:
        declared = get_args(declared)[0]
    return get_args(declared) if get_origin(declared) is Literal else ()


def _items_of(declared: Any) -> Unit:
    """Return what a tuple holds: texts, numbers, or tuples of numbers."""
    item = get_args(declared)[0]
    if get_origin(item) is tuple:
        return Unit.LIST
    return Unit.NUMBER if item is int else Unit.TEXT
