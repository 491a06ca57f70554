"""Which rows of a table are one row ×48: equal but for the number XLA put on the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from hlotool.fields import VARIOUS, Field, Fold, Range, RowList, Unit
from hlotool.fields.folded_names import fold_name, split_name
from hlotool.fields.paths import fold_numbers, share_path
from hlotool.query.sums import join_rows


def fold_rows(
    row_list: RowList, fold: Fold, rows: Sequence[object], *, keeps_numbers: bool = False
) -> list[object]:
    """Merge rows that agree in the keys of `fold`, keeping the place of the first.

    Summable fields are added up, or say what they come to together; one that is unknown in any
    row is unknown in the sum. A merged row's name is what the names have in common, with `.*`
    after it, and its paths are what theirs share; lists that are joined are put together, each item
    once; another number in which the rows differ is a Range, all else VARIOUS. `keeps_numbers`:
    paths must be equal, numbers and all.
    """
    fields = [row_list.field(name) for name in fold.keys]
    readers = [field.getter() if keeps_numbers else read_folded(field) for field in fields]
    known = [row_list.field(name).getter() for name in fold.known]
    read_name = row_list.field(fold.name).getter() if fold.name else None
    merged: dict[tuple[object, ...], list[object]] = {}
    for row in rows:
        key = tuple(read(row) for read in readers)
        key += tuple(read(row) is None for read in known)
        if read_name is not None:
            name = read_name(row)
            key += (None,) if name is None else split_name(str(name))
        merged.setdefault(key, []).append(row)
    return [_merge(row_list, fold, group) for group in merged.values()]


def read_folded(field: Field) -> Callable[[object], object]:
    """Return the function that reads a field as it is compared: a path without its numbers."""
    read = field.getter()
    if not field.is_path:
        return read

    def read_path(row: object) -> object:
        path = read(row)
        return fold_numbers(path) if isinstance(path, str) else path

    return read_path


def share_values(field: Field, values: Sequence[object]) -> object:
    """Return what rows have in common in a field: a number's range, VARIOUS if it is nothing."""
    if all(value == values[0] for value in values):
        return values[0]
    if field.is_numeric and field.unit is not Unit.MEASURE:
        return _find_range(field, values)
    paths = [value for value in values if isinstance(value, str)]
    return share_path(paths) if field.is_path and len(paths) == len(values) else VARIOUS


def _find_range(field: Field, values: Sequence[object]) -> Range | None:
    """Return the least and the most; None where one is unknown, and not merely without."""
    known = [value for value in values if isinstance(value, int | float)]
    has_unknown = len(known) < len(values) and bool(field.null_text)
    if has_unknown or not known:
        return None
    return Range(min(known), max(known))


def _merge(row_list: RowList, fold: Fold, rows: list[object]) -> object:
    """Make one record of several equal ones."""
    if len(rows) == 1:
        return rows[0]
    changes: dict[str, Any] = {}
    for field in row_list.fields:
        values = [field.getter()(row) for row in rows]
        if field.joint_from:
            joint, is_lower = join_rows(rows, field)
            changes[field.attribute] = None if is_lower else joint
        elif field.is_summable:
            known = [value for value in values if isinstance(value, int | float)]
            changes[field.attribute] = sum(known) if len(known) == len(values) else None
        elif field.name in fold.joined:
            lists = [value for value in values if isinstance(value, tuple)]
            changes[field.attribute] = tuple(dict.fromkeys(one for each in lists for one in each))
        elif any(value != values[0] for value in values):
            changes[field.attribute] = share_values(field, values)
    if fold.name:
        field = row_list.field(fold.name)
        if field.attribute in changes:
            changes[field.attribute] = fold_name(str(field.getter()(rows[0])))
    first: Any = rows[0]
    return replace(first, **changes)
