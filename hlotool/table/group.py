"""Which rows of a list do not add up together: those that differ in its field `apart`.

How rows add up when some of their figures are unknown or may not happen.

Which rows of a table are one row ×48: equal but for the number XLA put on the name.

How rows are grouped: `--by a,b` divides them by a, then each part by b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import QueryError, UsageError
from hlotool.table.field import Field, Joint, Unit
from hlotool.table.names import fold_name, fold_numbers, parse_names, share_path, split_name
from hlotool.table.rows import (
    VARIOUS,
    Fold,
    Group,
    Grouping,
    Range,
    Rest,
    RowList,
    Sum,
    lower_flags,
    upper_flags,
)
from hlotool.text import Source


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


COUNT = Field("count", Unit.COUNT, "rows in the group, folded ones counted singly")
SHARE = Field(
    "share", Unit.PERCENT, "the group's part of the whole, as a fraction", is_nullable=True
)


class _Plan(Struct, frozen=True):
    """What stays the same at every level of the grouping."""

    row_list: RowList
    by: tuple[Field, ...]
    summed: tuple[Field, ...]  # what is shown
    measured: Field | None  # what shares speak of: the list's size, or None: the count
    whole: Sum  # of `measured` over all rows
    keys: tuple[tuple[str, str], ...]  # signs and names to sort by
    limit: int
    keeps_numbers: bool
    is_apart: bool  # whether the outermost groups do not add up together


def group_rows(
    row_list: RowList,
    rows: Sequence[object],
    by: tuple[Field, ...],
    summed: tuple[Field, ...],
    *,
    sort: str = "",
    limit: int = 0,
    keeps_numbers: bool = False,
) -> Grouping:
    """Divide rows by each field of `by` in turn, and add up `summed` in every group.

    Groups come largest first unless `sort` says otherwise, equal ones by label; `limit` cuts
    every level. Numbered siblings among paths are one group, `layer_*`, unless
    `keeps_numbers`. Raises UsageError for a field that cannot stand in `--by`.
    """
    for field in by:
        if field.name in {COUNT.name, SHARE.name}:
            raise UsageError(f"--by {field.name}: every group has a {field.name} of its own.")
    if len({field.name for field in by}) < len(by):
        raise UsageError("--by names a field twice.")
    measured = None
    if row_list.size and row_list.has_total and row_list.field(row_list.size).is_summable:
        measured = row_list.field(row_list.size)
    plan = _Plan(
        row_list,
        by,
        tuple(field for field in summed if field.name != COUNT.name),
        measured,
        _measure(row_list, rows, measured),
        _keys(row_list, by, summed, sort, measured),
        limit,
        keeps_numbers,
        find_apart(row_list, rows) is not None,
    )
    groups, rest = _divide(plan, rows, 0)
    total = None if plan.is_apart else _summarise(plan, None, rows)
    return Grouping(by, plan.summed, groups, total, rest, measured)


def _keys(
    row_list: RowList,
    by: tuple[Field, ...],
    summed: tuple[Field, ...],
    sort: str,
    measured: Field | None,
) -> tuple[tuple[str, str], ...]:
    """Return the signs and names to sort groups by."""
    if not sort:
        return (("-", measured.name if measured else COUNT.name),)
    allowed = {field.name: field for field in (*by, *summed, COUNT, SHARE)}
    foreign = {field.name for field in row_list.fields} - allowed.keys()
    for part in sort.split(","):
        name = part.strip().lstrip("+-")
        if name in foreign:
            start = sort.index(name)
            raise QueryError(
                f"groups have no {name!r}: it cannot be summed",
                Source(sort, "--sort"),
                start,
                start + len(name),
                f"there are {', '.join(allowed)}",
            )
    return tuple(
        (sign, field.name)
        for sign, field in parse_names(sort, "--sort", allowed.values(), signs="+-")
    )


def _divide(
    plan: _Plan, rows: Sequence[object], depth: int
) -> tuple[tuple[Group, ...], Rest | None]:
    """Divide rows by the field of this depth, and each part by the ones below."""
    if depth == len(plan.by):
        return (), None
    field = plan.by[depth]
    read = field.getter()
    read_key = read if plan.keeps_numbers else read_folded(field)
    parts: dict[object, list[object]] = {}
    for row in rows:
        parts.setdefault(read_key(row), []).append(row)
    whole = []
    for part in parts.values():
        label = share_values(field, [read(row) for row in part])
        whole.append((_summarise(_narrow(plan, part, depth), label, part), part))
    ordered = _sort_groups(plan, whole, depth)
    kept = ordered[: plan.limit] if plan.limit else ordered
    groups = []
    for group, part in kept:
        below, rest = _divide(_narrow(plan, part, depth), part, depth + 1)
        groups.append(Group(group.label, group.count, group.sums, group.share, below, rest))
    return tuple(groups), _rest(plan, [part for _, part in ordered[len(kept) :]])


def _narrow(plan: _Plan, part: Sequence[object], depth: int) -> _Plan:
    """Let shares speak of one outermost group where these do not add up together."""
    if depth or not plan.is_apart:
        return plan
    return replace(plan, whole=_measure(plan.row_list, part, plan.measured), is_apart=False)


def _summarise(plan: _Plan, label: object, rows: Sequence[object]) -> Group:
    """Count and add up the rows of one group."""
    measure = _measure(plan.row_list, rows, plan.measured)
    share = (measure.value or 0) / plan.whole.value if plan.whole.value else None
    return Group(
        label, _count(plan.row_list, rows), sum_fields(plan.row_list, rows, plan.summed), share
    )


def _sort_groups(
    plan: _Plan, groups: list[tuple[Group, list[object]]], depth: int
) -> list[tuple[Group, list[object]]]:
    """Order the groups of one level; a key that is another level's field is left aside."""
    groups = sorted(groups, key=lambda pair: (pair[0].label is None, str(pair[0].label)))
    for sign, name in reversed(plan.keys):
        if name == plan.by[depth].name:
            # None cannot be compared; it stays last in either direction
            groups.sort(key=lambda pair: _comparable(pair[0].label), reverse=sign == "-")
            groups.sort(key=lambda pair: pair[0].label is None)
            continue
        read = _reader(plan, name)
        if read is not None:
            groups.sort(key=lambda pair, read=read: read(*pair), reverse=sign == "-")  # type: ignore[misc]
    return groups


def _comparable(label: object) -> tuple[int, float, str]:
    """Make labels of one field comparable: numbers as numbers, all else as text."""
    if isinstance(label, int | float):
        return (0, label, "")
    return (1, 0.0, str(label))


def _reader(plan: _Plan, name: str) -> Callable[[Group, list[object]], float] | None:
    """Return the function that reads a sort key from a group, if it is a figure."""
    if name == COUNT.name:
        return lambda group, _: group.count
    if name == SHARE.name or (plan.measured is not None and name == plan.measured.name):
        return lambda _, rows: _measure(plan.row_list, rows, plan.measured).value or 0
    for index, field in enumerate(plan.summed):
        if field.name == name:
            return lambda group, _: group.sums[index].value or 0
    return None


def _measure(row_list: RowList, rows: Sequence[object], measured: Field | None) -> Sum:
    """Return what a share is a share of."""
    if measured is None:
        return Sum(_count(row_list, rows))
    return sum_fields(row_list, rows, (measured,))[0]


def _count(row_list: RowList, rows: Sequence[object]) -> int:
    """Count rows; one that stands for several counts as many."""
    for field in row_list.fields:
        if field.name == COUNT.name and field.is_summable:
            return int(sum_fields(row_list, rows, (field,))[0].value or 0)
    return len(rows)


def _rest(plan: _Plan, parts: list[list[object]]) -> Rest | None:
    """Describe the groups a limit left out."""
    if not parts:
        return None
    rows = [row for part in parts for row in part]
    is_sum = plan.measured is not None and not plan.is_apart
    size = _measure(plan.row_list, rows, plan.measured) if is_sum else None
    names = {"-": {SHARE.name, plan.measured.name if plan.measured else COUNT.name}}
    is_smaller = plan.keys[0][1] in names.get(plan.keys[0][0], set())
    is_known = size is None or not size.is_lower_bound  # an unknown one may be larger
    return Rest(len(parts), size, is_known and is_smaller)
