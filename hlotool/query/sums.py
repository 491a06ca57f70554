"""How rows add up when some of their figures are unknown or may not happen."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.fields import Field, RowList, Sum


def sum_field(row_list: RowList, rows: Sequence[object], field: Field) -> Sum:
    """Add one field up over rows.

    A row where it is null adds its `once` field instead, or nothing, and makes the sum a
    lower bound; so does a row with a flag of `lower_if`, and one of `upper_if` makes it an
    upper bound. Neither applies to a field that `is_exact`.
    """
    return sum_fields(row_list, rows, (field,))[0]


def sum_fields(
    row_list: RowList, rows: Sequence[object], fields: Sequence[Field]
) -> tuple[Sum, ...]:
    """Add several fields up over the same rows, each as `sum_field` does."""
    is_lower = _any_true(row_list, rows, row_list.lower_if)
    is_upper = _any_true(row_list, rows, row_list.upper_if)
    sums = []
    for field in fields:
        total, has_unknown = _add_up(row_list, rows, field)
        is_sure = field.is_exact
        sums.append(Sum(total, has_unknown or (is_lower and not is_sure), is_upper and not is_sure))
    return tuple(sums)


def _add_up(
    row_list: RowList, rows: Sequence[object], field: Field
) -> tuple[int | float | None, bool]:
    """Return the sum of what is known, and whether something was not."""
    read = field.getter()
    values = [read(row) for row in rows]
    known = [value for value in values if isinstance(value, int | float)]
    if len(known) == len(values):
        return sum(known), False
    if field.once:
        read_once = row_list.field(field.once).getter()
        once = (read_once(row) for row, value in zip(rows, values, strict=True) if value is None)
        known += [value for value in once if isinstance(value, int | float)]
    return sum(known) if known else None, True


def _any_true(row_list: RowList, rows: Sequence[object], names: tuple[str, ...]) -> bool:
    """Whether any of the named flags holds in any row."""
    readers = [row_list.field(name).getter() for name in names]
    return any(read(row) is True for read in readers for row in rows)
