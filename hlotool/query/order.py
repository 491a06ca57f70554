"""In which order rows are shown: `--sort a,-b`, the unknown last, ties by the row's key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlotool.fields import VARIOUS, Field, Range, RowList, Unit
from hlotool.query.names import parse_names


def sort_rows(row_list: RowList, rows: Sequence[object], sort: str) -> Sequence[object]:
    """Sort records by what the user asked for, else by the list's own order.

    Unknown values come last in either direction, but where the field names another that
    counts `once` in its place, that one decides. Equal rows are ordered by the key field.
    """
    keys = sort_keys(row_list, sort)
    if not keys:
        return rows
    ordered = list(rows)
    for sign, field in reversed((*keys, ("", row_list.key_field))):
        ordered = _sort_once(row_list, field, ordered, is_falling=sign == "-")
    return ordered


def sort_keys(row_list: RowList, sort: str) -> tuple[tuple[str, Field], ...]:
    """Return the signs and fields to sort by; none where the analysis decides."""
    text, option = (sort, "--sort") if sort else (row_list.sort, f"sort of {row_list.name}")
    return parse_names(text, option, row_list.fields, signs="+-") if text else ()


def is_sorted_by_size(row_list: RowList, sort: str) -> bool:
    """Whether the rows a limit cuts off are the smaller ones."""
    keys = sort_keys(row_list, sort)
    if not keys or not row_list.size or keys[0][0] != "-":
        return False
    return keys[0][1].name in {row_list.size, row_list.field(row_list.size).once}


def _sort_once(
    row_list: RowList, field: Field, rows: list[object], *, is_falling: bool
) -> list[object]:
    """Sort stably by one field, what cannot be compared last."""
    read = _reader(row_list, field)
    kinds = (int, float) if field.unit is Unit.MEASURE else (object,)
    known: list[object] = []
    unknown: list[object] = []
    for row in rows:
        value = read(row)
        is_known = value is not None and value is not VARIOUS and isinstance(value, kinds)
        (known if is_known else unknown).append(row)

    def find_end(row: object) -> object:
        """Return the value, of a range the end that comes first."""
        value = read(row)
        if isinstance(value, Range):
            return value.most if is_falling else value.least
        return value

    known.sort(key=find_end, reverse=is_falling)  # type: ignore[arg-type]  # one field, one type
    return known + unknown


def _reader(row_list: RowList, field: Field) -> Callable[[object], object]:
    """Return the function that reads what a row is sorted by."""
    read = field.getter()
    if not field.once:
        return read
    read_once = row_list.field(field.once).getter()
    return lambda row: read_once(row) if (value := read(row)) is None else value
