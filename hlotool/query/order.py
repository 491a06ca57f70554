"""In which order rows are shown: `--sort a,-b`, nulls last, ties by the row's key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlotool.fields import VARIOUS, Field, RowList, Unit
from hlotool.query.names import parse_names


def sort_rows(row_list: RowList, rows: Sequence[object], sort: str) -> Sequence[object]:
    """Sort records by what the user asked for, else by the list's own order.

    Unknown values come last in either direction; equal rows are ordered by the key field.
    """
    keys = sort_keys(row_list, sort)
    if not keys:
        return rows
    return sort_by((*keys, ("", row_list.key_field)), rows)


def sort_keys(row_list: RowList, sort: str) -> tuple[tuple[str, Field], ...]:
    """Return the signs and fields to sort by; none where the analysis decides."""
    text, option = (sort, "--sort") if sort else (row_list.sort, f"sort of {row_list.name}")
    return parse_names(text, option, row_list.fields, signs="+-") if text else ()


def sort_by(keys: Iterable[tuple[str, Field]], rows: Sequence[object]) -> list[object]:
    """Sort by several keys; `-` before one means falling."""
    ordered = list(rows)
    for sign, field in reversed(tuple(keys)):
        ordered = _sort_once(field, ordered, is_falling=sign == "-")
    return ordered


def is_sorted_by_size(row_list: RowList, sort: str) -> bool:
    """Whether the rows a limit cuts off are the smaller ones."""
    keys = sort_keys(row_list, sort)
    return bool(keys) and keys[0][0] == "-" and keys[0][1].name == row_list.size


def _sort_once(field: Field, rows: list[object], *, is_falling: bool) -> list[object]:
    """Sort stably by one field, what cannot be compared last."""
    read = field.getter()
    kinds = (int, float) if field.unit is Unit.MEASURE else (object,)
    known: list[object] = []
    unknown: list[object] = []
    for row in rows:
        value = read(row)
        is_known = value is not None and value is not VARIOUS and isinstance(value, kinds)
        (known if is_known else unknown).append(row)
    known.sort(key=read, reverse=is_falling)  # type: ignore[arg-type]  # one field, one type
    return known + unknown
