"""How rows come together: added up in a TOTAL or a group, and folded into one row `×48`.

A figure may be unknown in a row, or a row might not happen: sums are then bounds. Some figures are
no sums at all (the peak falls by less than two savings), and some rows must not be added, as bytes
of two memory spaces are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from hlotool.table.document import Fold, Range, RowList, Sum, Various
from hlotool.table.field import Field, Unit
from hlotool.table.words import ANY, fold_name, fold_numbers, share_path, split_name

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


def group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return items by what they have in common, groups and items in the order they come."""
    return group_pairs((key(one), one) for one in items)


def group_pairs(pairs: Iterable[tuple[_Key, _Item]]) -> dict[_Key, list[_Item]]:
    """Return what stands behind each key, in the same order."""
    groups: dict[_Key, list[_Item]] = {}
    for key, one in pairs:
        groups.setdefault(key, []).append(one)
    return groups


def sum_fields(
    row_list: RowList, rows: Sequence[object], fields: Sequence[Field]
) -> tuple[Sum, ...]:
    """Add fields up over the same rows.

    A row where a field is null adds its `total_from` instead, or nothing, and makes the sum a
    lower bound; so does a row with a flag of `lower_if`, the field's own or else the list's, and
    one of `upper_if` makes it an upper bound. Neither applies to a field that `is_exact`.
    """
    # Each flag is looked for once: most fields share those of the list.
    lower = {name for field in fields for name in row_list.lower_flags(field)}
    upper = {name for field in fields for name in row_list.upper_flags(field)}
    reads = {name: row_list.field(name).getter() for name in lower | upper}
    true = {name for name, read in reads.items() if any(read(row) is True for row in rows)}
    sums = []
    for field in fields:
        total, has_unknown = _add_up(row_list, rows, field)
        is_lower = not (field.is_exact or true.isdisjoint(row_list.lower_flags(field)))
        is_upper = not (field.is_exact or true.isdisjoint(row_list.upper_flags(field)))
        sums.append(Sum(total, has_unknown or is_lower, is_upper))
    return tuple(sums)


def _add_up(
    row_list: RowList, rows: Sequence[object], field: Field
) -> tuple[int | float | None, bool]:
    """Return the sum of what is known, and whether something was not."""
    if field.joint is not None:
        return join_rows(rows, field)
    read = field.getter()
    values = [read(row) for row in rows]
    known = [value for value in values if isinstance(value, int | float)]
    if len(known) == len(values):
        return sum(known), False
    if field.total_from:
        read = row_list.field(field.total_from).getter()
        instead = (read(row) for row, value in zip(rows, values, strict=True) if value is None)
        known += [value for value in instead if isinstance(value, int | float)]
    return sum(known) if known else None, True


def join_rows(rows: Sequence[object], field: Field) -> tuple[float | None, bool]:
    """Return what rows come to together in a field that does not add up, and if any is unknown."""
    found = [field.joint(row) for row in rows] if field.joint else []
    known = [one for one in found if one is not None]
    if not rows:
        return 0, False
    return known[0].together(known) if known else None, len(known) < len(found)


def find_divider(row_list: RowList, rows: Sequence[object]) -> Field | None:
    """Return the field in which rows differ that must not be added; None where all add up."""
    if not row_list.no_total_across:
        return None
    field = row_list.field(row_list.no_total_across)
    return field if len(set(map(field.getter(), rows))) > 1 else None


def divide_rows(
    row_list: RowList, rows: Sequence[object]
) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield the parts of rows that add up, in order, each with what it is: `space 1`."""
    if (field := find_divider(row_list, rows)) is None:
        yield "", rows
        return
    parts = group_by(rows, field.getter())
    # Values may be of several types, numbers and None say, which cannot be compared.
    for value in sorted(parts, key=lambda one: (str(type(one)), one)):
        yield f"{field.title} {value}", parts[value]


def fold_rows(
    row_list: RowList, fold: Fold, rows: Sequence[object], *, keeps_numbers: bool = False
) -> list[object]:
    """Merge rows that agree in the keys of `fold`, keeping the place of the first.

    Summable fields are added up, or say what they come to together; one that is unknown in any
    row is unknown in the sum. A merged row's name is what the names have in common, with `.*`
    after it, and its paths are what theirs share; lists that are joined are put together, each item
    once; another number in which the rows differ is a Range, all else Various. `keeps_numbers`:
    paths must be equal, numbers and all.
    """
    fields = [row_list.field(name) for name in fold.keys.split(",")]
    readers = [field.getter() if keeps_numbers else read_folded(field) for field in fields]
    known = [row_list.field(name).getter() for name in fold.known]
    read_name = row_list.field(fold.name).getter() if fold.name else None

    def find_key(row: object) -> tuple[object, ...]:
        key = tuple(read(row) for read in readers)
        key += tuple(read(row) is None for read in known)
        name = read_name(row) if read_name else None
        return key if name is None else (*key, *split_name(str(name)))

    return [_merge(row_list, fold, group) for group in group_by(rows, find_key).values()]


def read_folded(field: Field) -> Callable[[object], object]:
    """Return the function that reads a field as it is compared: a path without its numbers."""
    read = field.getter()

    def read_path(row: object) -> object:
        path = read(row)
        return fold_numbers(path) if isinstance(path, str) else path

    return read_path if field.is_path else read


def share_values(field: Field, values: Sequence[object]) -> object:
    """Return what rows have in common in a field: a number's range, Various if it is nothing.

    There is no range where one is unknown, and not merely without.
    """
    if all(value == values[0] for value in values):
        return values[0]
    if field.is_numeric and field.unit is not Unit.MEASURE:
        known = [value for value in values if isinstance(value, int | float)]
        has_unknown = len(known) < len(values) and bool(field.null_text)
        return Range(min(known), max(known)) if known and not has_unknown else None
    paths = [value for value in values if isinstance(value, str)]
    is_path = field.is_path or all("/" in path for path in paths)
    shared = share_path(paths) if is_path and len(paths) == len(values) else ANY
    return Various(len(set(map(str, values)))) if shared == ANY else shared


def _merge(row_list: RowList, fold: Fold, rows: list[object]) -> object:
    """Make one record of several equal ones."""
    first: Any = rows[0]
    if len(rows) == 1:
        return first
    changes: dict[str, Any] = {}
    for field in row_list.fields:
        values = [field.getter()(row) for row in rows]
        if field.joint is not None or field.is_summable:
            total, has_unknown = _add_up(row_list, rows, field)
            changes[field.attribute] = None if has_unknown else total
        elif field.name in fold.joined:
            lists = [value for value in values if isinstance(value, tuple)]
            changes[field.attribute] = tuple(dict.fromkeys(one for each in lists for one in each))
        elif any(value != values[0] for value in values):
            is_name = field.name == fold.name
            shared = fold_name(str(values[0])) if is_name else share_values(field, values)
            changes[field.attribute] = shared
    return replace(first, **changes)
