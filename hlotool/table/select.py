"""What the row options make of a list of records: filtered, folded, sorted or grouped, cut, summed.

`--where` keeps rows, `--sort a,-b` orders them, `--by a,b` divides them by a, then each part by b,
`-n` cuts what is shown. TOTALs and shares are of all rows that the filter kept, whatever is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import QueryError, UsageError
from hlotool.table.document import (
    Group,
    Grouping,
    Range,
    Rest,
    RowList,
    Selection,
    Sum,
    Total,
    Various,
)
from hlotool.table.expression.compile import compile_where
from hlotool.table.field import Field, Unit
from hlotool.table.sums import (
    divide_rows,
    find_divider,
    fold_rows,
    group_by,
    read_folded,
    share_values,
    sum_fields,
)
from hlotool.table.words import parse_names
from hlotool.text import Source


class Query(Struct, frozen=True):
    """The row options as the user typed them; '' where absent."""

    where: str = ""
    sort: str = ""
    by: str = ""
    columns: str = ""
    limit: int | None = None  # rows kept; None: `default_limit`; 0: all
    default_limit: int = 0
    is_wide: bool = False
    width: int | None = None  # of the terminal; None: there is none
    is_folded: bool = False
    keeps_below: bool = False  # what a table prints below its rows stays, whatever the columns
    keeps_numbers: bool = False  # layer_0 and layer_1 stay apart

    @property
    def most(self) -> int:
        """How many rows, or groups of a level, are kept; 0: all."""
        return self.default_limit if self.limit is None else self.limit


def select_rows(row_list: RowList, rows: Sequence[object], query: Query) -> Selection:
    """Apply row options to records and return what there is to print.

    The order is: filter, fold, group or sort, cut. Totals cover all rows the filter kept.
    Raises QueryError for an expression or a name that does not fit `row_list`.
    """
    if query.where:
        holds = compile_where(query.where, row_list.fields)
        rows = [row for row in rows if holds(row)]
    folded = rows
    if query.is_folded and row_list.fold is not None and not query.by:
        folded = fold_rows(row_list, row_list.fold, rows, keeps_numbers=query.keeps_numbers)
    columns = _choose_columns(row_list, query)
    if query.columns and len(folded) < len(rows) and "-count" not in query.columns:
        columns = tuple(dict.fromkeys((*columns, row_list.field("count"))))
    selection = Selection(
        row_list,
        columns,
        rows,
        len(rows),
        is_limited=query.limit is not None,
        has_chosen_columns=bool(query.columns),
    )
    if query.by:
        return replace(selection, grouping=_group(selection, query))
    # Before rows are folded: a folded row may be unknown where some of its rows are known.
    totals = _sum_columns(selection) if row_list.has_total else ()
    rows = sort_rows(row_list, folded, query.sort)
    kept = rows[: query.most] if query.most else rows
    rest = _describe_rest(row_list, rows[len(kept) :], query.sort, adds_up=len(totals) == 1)
    return replace(selection, rows=kept, rows_total=len(rows), rest=rest, totals=totals)


def _choose_columns(row_list: RowList, query: Query) -> tuple[Field, ...]:
    """Return the columns to show: those asked for, else all or the table's own.

    columns = column { "," column }
    column = ["+" | "-"] name      if all have a sign, they change the default columns

    What a table prints below its rows is no column there, and stays.
    """
    default = [*(row_list.fields if query.is_wide else row_list.list_columns(query.width))]
    if not query.columns:
        return tuple(default)
    named = parse_names(query.columns, "--columns", row_list.fields, signs="+-")
    chosen = default if all(sign for sign, _ in named) else []
    chosen += [field for _, field in named]
    if query.keeps_below:
        chosen += [field for field in row_list.fields if field.is_below and field.in_table]
    removed = {field.name for sign, field in named if sign == "-"}
    return tuple({field.name: field for field in chosen if field.name not in removed}.values())


def _sum_columns(selection: Selection) -> tuple[Total, ...]:
    """Add up the columns that add up, apart where rows do not add up together."""
    totals = []
    summed = [field for field in selection.columns if field.is_summable]
    for of, part in divide_rows(selection.row_list, selection.rows):
        sums = dict(zip(summed, sum_fields(selection.row_list, part, summed), strict=True))
        totals.append(Total(tuple(map(sums.get, selection.columns)), of))
    return tuple(totals)


def _describe_rest(
    row_list: RowList, rows: Sequence[object], sort: str, *, adds_up: bool
) -> Rest | None:
    """Describe the rows a limit left out; with their size where they add up."""
    if not rows:
        return None
    size, keys = row_list.size, sort_keys(row_list, sort)
    measured = row_list.field(size) if size else None
    summed = None
    if measured is not None and adds_up and measured.is_summable:
        summed = sum_fields(row_list, rows, (measured,))[0]
    is_known = summed is None or not summed.is_lower_bound  # an unknown one may be larger
    is_by_size = False
    if measured is not None and keys:
        sign, field = keys[0]
        is_by_size = sign == "-" and field.name in {size, measured.total_from}
    return Rest(len(rows), summed, is_known and is_by_size)


def sort_rows(row_list: RowList, rows: Sequence[object], sort: str) -> Sequence[object]:
    """Sort records by what the user asked for, else by the list's own order.

    Unknown values come last in either direction, but where the field names another that
    counts in its place, `total_from`, that one decides. Equal rows are ordered by the key field.
    """
    if not (keys := sort_keys(row_list, sort)):
        return rows
    ordered = list(rows)
    # Stable sorts, the last key first: each key may rise or fall.
    for sign, field in reversed((*keys, ("", row_list.key_field))):
        ordered = _sort_once(row_list, field, ordered, is_falling=sign == "-")
    return ordered


def sort_keys(row_list: RowList, sort: str) -> tuple[tuple[str, Field], ...]:
    """Return the signs and fields to sort by; none where the analysis decides."""
    text, option = (sort, "--sort") if sort else (row_list.sort, f"sort of {row_list.name}")
    return parse_names(text, option, row_list.fields, signs="+-") if text else ()


def _sort_once(
    row_list: RowList, field: Field, rows: list[object], *, is_falling: bool
) -> list[object]:
    """Sort stably by one field, what cannot be compared last; a range by the end that is first."""
    read = field.getter()
    read_instead = row_list.field(field.total_from).getter() if field.total_from else None
    kinds = (int, float) if field.unit is Unit.MEASURE else (object,)
    known: list[tuple[object, object]] = []
    unknown: list[object] = []
    for row in rows:
        if (value := read(row)) is None and read_instead is not None:
            value = read_instead(row)
        if value is None or isinstance(value, Various) or not isinstance(value, kinds):
            unknown.append(row)
        elif isinstance(value, Range):
            known.append((value.most if is_falling else value.least, row))
        else:
            known.append((value, row))
    known.sort(key=lambda pair: pair[0], reverse=is_falling)  # type: ignore[arg-type,return-value]  # one field, one type
    return [row for _, row in known] + unknown


COUNT: Final = Field("count", Unit.COUNT, "rows in the group, counted before folding")
SHARE: Final = Field(
    "share", Unit.PERCENT, "the group's part of the whole, as a fraction", is_nullable=True
)


def _group(selection: Selection, query: Query) -> Grouping:
    """Divide rows by each field of `--by` in turn, and add up the columns in every group.

    Sums are of the columns that add up, and of those to sort by. Groups come largest first unless
    `--sort` says otherwise, equal ones by label; the limit cuts every level. Numbered siblings
    among paths are one group, `layer_*`, unless numbers are kept. Rows that do not add up together
    are divided by what keeps them apart first, and have no common total. Raises UsageError for a
    field that cannot stand in `--by`.
    """
    row_list, rows = selection.row_list, selection.rows
    by = tuple(field for _, field in parse_names(query.by, "--by", row_list.fields))
    if (divider := find_divider(row_list, rows)) is not None:
        by = (divider, *(field for field in by if field.name != divider.name))
    names = {field.name for field in by}
    summed = _choose_summed(selection, query, names)
    for field in by:
        if field.name in {COUNT.name, SHARE.name}:
            raise UsageError(f"--by {field.name}: every group has a {field.name} of its own.")
    if len(names) < len(by):
        raise UsageError("--by names a field twice.")
    size = row_list.field(row_list.size) if row_list.size else None
    size = size if size is not None and size.is_summable else None
    measured = _find_asked(query, summed) or (size if row_list.has_total else None)
    divided = _Divided(
        row_list,
        by,
        tuple(field for field in summed if field.name != COUNT.name),
        measured,
        _measure(row_list, rows, measured),
        _parse_group_keys(row_list, (*by, *summed), query.sort, size),
        query,
        divider is not None,
    )
    groups, rest = divided.divide(rows, 0)
    total = None if divider else divided.summarise(None, rows)
    return Grouping(by, divided.summed, groups, total, rest, measured)


def _find_asked(query: Query, summed: Sequence[Field]) -> Field | None:
    """Return the figure that is sorted by, else the first of the columns asked for, if any is."""
    asked = (part.strip().lstrip("+-") for part in f"{query.sort},{query.columns}".split(","))
    figures = {field.name: field for field in summed if field.name != COUNT.name}
    return next((figures[name] for name in asked if name in figures), None)


def _choose_summed(selection: Selection, query: Query, names: set[str]) -> list[Field]:
    """Return the figures that groups show; raise QueryError for a column that has no sum."""
    for field in selection.columns if query.columns else ():
        if not field.is_summable and field.name not in names and field.name in query.columns:
            message = f"{field.name!r} cannot be summed, so groups lack this column"
            raise _point_at(field.name, message, Source(query.columns, "--columns"))
    sorted_by = {part.strip().lstrip("+-") for part in query.sort.split(",")}
    more = [field for field in selection.row_list.fields if field.name in sorted_by]
    wanted = {field.name: field for field in (*selection.columns, *more) if field.is_summable}
    return [field for field in wanted.values() if field.name not in names]


def _point_at(name: str, message: str, source: Source, hint: str = "") -> QueryError:
    start = source.text.index(name)
    return QueryError(message, source, start, start + len(name), hint)


def _parse_group_keys(
    row_list: RowList, shown: Sequence[Field], sort: str, size: Field | None
) -> tuple[tuple[str, str], ...]:
    """Return the signs and names to sort groups by."""
    if not sort:
        return (("-", size.name if size else COUNT.name),)
    allowed = {field.name: field for field in (*shown, COUNT, SHARE)}
    foreign = {field.name for field in row_list.fields} - allowed.keys()
    for part in sort.split(","):
        name = part.strip().lstrip("+-")
        if name in foreign:
            message = f"groups have no {name!r}: it cannot be summed"
            hint = f"there are {', '.join(allowed)}"
            raise _point_at(name, message, Source(sort, "--sort"), hint)
    found = parse_names(sort, "--sort", allowed.values(), signs="+-")
    return tuple((sign, field.name) for sign, field in found)


def _measure(row_list: RowList, rows: Sequence[object], measured: Field | None) -> Sum:
    """Return what a share is a share of: a size, else how many rows there are."""
    return sum_fields(row_list, rows, (measured,))[0] if measured else Sum(_count(row_list, rows))


def _count(row_list: RowList, rows: Sequence[object]) -> int:
    """Count rows; one that stands for several counts as many."""
    for field in row_list.fields:
        if field.name == COUNT.name and field.is_summable:
            return int(sum_fields(row_list, rows, (field,))[0].value or 0)
    return len(rows)


class _Divided(Struct, frozen=True):
    """What stays the same at every level of the grouping."""

    row_list: RowList
    by: tuple[Field, ...]
    summed: tuple[Field, ...]  # what is shown
    measured: Field | None  # what shares speak of: the list's size, or None: the count
    whole: Sum  # of `measured` over all rows
    keys: tuple[tuple[str, str], ...]  # signs and names to sort by
    query: Query
    is_apart: bool  # whether the outermost groups do not add up together

    def divide(self, rows: Sequence[object], depth: int) -> tuple[tuple[Group, ...], Rest | None]:
        """Divide rows by the field of this depth, and each part by the ones below."""
        if depth == len(self.by):
            return (), None
        field = self.by[depth]
        read = field.getter()
        read_key = read if self.query.keeps_numbers else read_folded(field)
        whole = []
        for part in group_by(rows, read_key).values():
            label = share_values(field, [read(row) for row in part])
            whole.append((self._narrow(part, depth).summarise(label, part), part))
        ordered = self._sort(whole, depth)
        kept = ordered[: self.query.most] if self.query.most else ordered
        groups = []
        for group, part in kept:
            below, rest = self._narrow(part, depth).divide(part, depth + 1)
            groups.append(replace(group, groups=below, rest=rest))
        return tuple(groups), self._describe_rest([part for _, part in ordered[len(kept) :]])

    def summarise(self, label: object, rows: Sequence[object]) -> Group:
        """Count and add up the rows of one group."""
        measure = _measure(self.row_list, rows, self.measured)
        share = (measure.value or 0) / self.whole.value if self.whole.value else None
        sums = sum_fields(self.row_list, rows, self.summed)
        return Group(label, _count(self.row_list, rows), sums, share)

    def _narrow(self, part: Sequence[object], depth: int) -> _Divided:
        """Let shares speak of one outermost group where these do not add up together."""
        if depth or not self.is_apart:
            return self
        return replace(self, whole=_measure(self.row_list, part, self.measured), is_apart=False)

    def _sort(
        self, groups: list[tuple[Group, list[object]]], depth: int
    ) -> list[tuple[Group, list[object]]]:
        """Order the groups of one level; a key that is another level's field is left aside."""
        # By label first: the sorts that follow are stable, and leave equal ones in this order.
        groups = sorted(groups, key=lambda pair: (pair[0].label is None, str(pair[0].label)))
        for sign, name in reversed(self.keys):
            if name == self.by[depth].name:
                # None cannot be compared; it stays last in either direction
                groups.sort(key=lambda pair: _compare(pair[0].label), reverse=sign == "-")
                groups.sort(key=lambda pair: pair[0].label is None)
            elif (read := self._reader(name)) is not None:
                groups.sort(key=lambda pair, read=read: read(*pair), reverse=sign == "-")  # type: ignore[misc]
        return groups

    def _reader(self, name: str) -> Callable[[Group, list[object]], float] | None:
        """Return the function that reads a sort key from a group, if it is a figure."""
        if name == COUNT.name:
            return lambda group, _: group.count
        if name == SHARE.name or (self.measured is not None and name == self.measured.name):
            return lambda _, rows: _measure(self.row_list, rows, self.measured).value or 0
        places = [place for place, field in enumerate(self.summed) if field.name == name]
        return (lambda group, _: group.sums[places[0]].value or 0) if places else None

    def _describe_rest(self, parts: list[list[object]]) -> Rest | None:
        """Describe the groups a limit left out."""
        if not parts:
            return None
        size = None
        name = self.measured.name if self.measured is not None else ""
        if name and name == self.row_list.size and not self.is_apart:
            rows = [row for part in parts for row in part]
            size = _measure(self.row_list, rows, self.measured)
        sign, key = self.keys[0]
        is_known = size is None or not size.is_lower_bound  # an unknown one may be larger
        is_by_size = bool(name) and sign == "-" and key in {SHARE.name, name}
        return Rest(len(parts), size, is_known and is_by_size)


def _compare(label: object) -> tuple[int, float, str]:
    """Make labels of one field comparable: numbers as numbers, all else as text."""
    return (0, label, "") if isinstance(label, int | float) else (1, 0.0, str(label))
