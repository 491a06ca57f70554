"""How rows add up when some of their figures are unknown or may not happen."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from hlotool.fields import Field, RowList, Sum
from hlotool.fields.field import Joint
from hlotool.fields.rows import lower_flags, upper_flags


def sum_field(row_list: RowList, rows: Sequence[object], field: Field) -> Sum:
    """Add one field up over rows.

    A row where it is null adds its `once` field instead, or nothing, and makes the sum a
    lower bound; so does a row with a flag of `lower_if`, the field's own or else the list's, and
    one of `upper_if` makes it an upper bound. Neither applies to a field that `is_exact`.
    """
    return sum_fields(row_list, rows, (field,))[0]


def sum_fields(
    row_list: RowList, rows: Sequence[object], fields: Sequence[Field]
) -> tuple[Sum, ...]:
    """Add several fields up over the same rows, each as `sum_field` does."""
    flags = {
        name
        for field in fields
        for name in (*lower_flags(row_list, field), *upper_flags(row_list, field))
    }
    true = {name for name in flags if _is_true(row_list, rows, name)}
    sums = []
    for field in fields:
        total, has_unknown = _add_up(row_list, rows, field)
        is_lower = not (field.is_exact or true.isdisjoint(lower_flags(row_list, field)))
        is_upper = not (field.is_exact or true.isdisjoint(upper_flags(row_list, field)))
        sums.append(Sum(total, has_unknown or is_lower, is_upper))
    return tuple(sums)


def _add_up(
    row_list: RowList, rows: Sequence[object], field: Field
) -> tuple[int | float | None, bool]:
    """Return the sum of what is known, and whether something was not."""
    if field.joint_from:
        return join_rows(rows, field)
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


def join_rows(rows: Sequence[object], field: Field) -> tuple[float | None, bool]:
    """Return what rows come to together in a field that does not add up, and if any is unknown."""
    read = attrgetter(field.joint_from)
    found: list[Joint | None] = [read(row) for row in rows]
    known = [one for one in found if one is not None]
    if not rows:
        return 0, False
    return known[0].together(known) if known else None, len(known) < len(found)


def _is_true(row_list: RowList, rows: Sequence[object], name: str) -> bool:
    """Whether a flag holds in any row."""
    read = row_list.field(name).getter()
    return any(read(row) is True for row in rows)
