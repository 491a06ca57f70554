"""Which stack is a row of a list, and what does it weigh? Its scope is the stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from hlotool.errors import UsageError
from hlotool.escape import escape
from hlotool.fields import Field, Selection, Unit

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
