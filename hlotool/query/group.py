"""How rows are grouped: `--by a,b` divides them by a, then each part by b."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import QueryError, UsageError
from hlotool.fields import Field, Group, Grouping, Rest, RowList, Sum, Unit
from hlotool.query.apart import find_apart
from hlotool.query.fold import read_folded, share_values
from hlotool.query.names import parse_names
from hlotool.query.sums import sum_fields
from hlotool.source import Source

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
