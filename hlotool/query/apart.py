"""Which rows of a list do not add up together: those that differ in its field `apart`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.fields import Field, RowList


def find_apart(row_list: RowList, rows: Sequence[object]) -> Field | None:
    """Return the field by which rows must be kept apart, None where all add up."""
    if not row_list.apart:
        return None
    field = row_list.field(row_list.apart)
    return field if len(set(map(field.getter(), rows))) > 1 else None


def divide_apart(
    row_list: RowList, rows: Sequence[object]
) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield the parts of rows that add up, in order, each with what it is: `space 1`."""
    field = find_apart(row_list, rows)
    if field is None:
        yield "", rows
        return
    parts: dict[object, list[object]] = {}
    read = field.getter()
    for row in rows:
        parts.setdefault(read(row), []).append(row)
    for value in sorted(parts, key=lambda one: (str(type(one)), one)):
        yield f"{field.title} {value}", parts[value]
