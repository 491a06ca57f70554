"""In which order rows are shown: `--sort a,-b`, the unknown last, ties by the row's key.

What the row options make of a list of records: filtered, folded, sorted, cut, summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import QueryError
from hlotool.table.field import Field, Unit
from hlotool.table.group import (
    divide_apart,
    find_apart,
    fold_rows,
    group_rows,
    sum_field,
    sum_fields,
)
from hlotool.table.names import parse_names
from hlotool.table.rows import VARIOUS, Range, Rest, RowList, Selection, Total
from hlotool.text import Source


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


class Query(Struct, frozen=True):
    """The row options as the user typed them; '' where absent."""

    where: str = ""
    sort: str = ""
    by: str = ""
    columns: str = ""
    limit: int | None = None  # rows kept; None: `default_limit`; 0: all
    default_limit: int = 0
    is_wide: bool = False
    is_folded: bool = False
    keeps_below: bool = False  # what a table prints below its rows stays, whatever the columns
    keeps_numbers: bool = False  # layer_0 and layer_1 stay apart


def select_rows(row_list: RowList, rows: Sequence[object], query: Query) -> Selection:
    """Apply row options to records and return what there is to print.

    The order is: filter, fold, group or sort, cut. Totals cover all rows the filter kept.
    Raises QueryError for an expression or a name that does not fit `row_list`.
    """
    if query.where:
        from hlotool.table.expression.where import compile_where  # noqa: PLC0415  pyparsing is slow to import

        holds = compile_where(query.where, row_list.fields)
        rows = [row for row in rows if holds(row)]
    limit = query.default_limit if query.limit is None else query.limit
    columns = _choose_columns(row_list, query)
    if query.by:
        return _group(row_list, rows, columns, query, limit)
    totals = tuple(_totals(row_list, rows, columns)) if row_list.has_total else ()
    if query.is_folded and row_list.fold is not None:
        rows = fold_rows(row_list, row_list.fold, rows, keeps_numbers=query.keeps_numbers)
    rows = sort_rows(row_list, rows, query.sort)
    kept = rows[:limit] if limit else rows
    return Selection(
        row_list=row_list,
        columns=columns,
        rows=kept,
        rows_total=len(rows),
        rest=_rest(row_list, rows[len(kept) :], query.sort, adds_up=len(totals) == 1),
        totals=totals,
        is_limited=query.limit is not None,
        has_chosen_columns=bool(query.columns),
    )


def _choose_columns(row_list: RowList, query: Query) -> tuple[Field, ...]:
    """Return the columns to show: those asked for, else all or the table's own.

    columns = column { "," column }
    column = ["+" | "-"] name      if all have a sign, they change the default columns

    What a table prints below its rows is no column there, and stays.
    """
    default = [field for field in row_list.fields if field.in_table or query.is_wide]
    if not query.columns:
        return tuple(default)
    found = parse_names(query.columns, "--columns", row_list.fields, signs="+-")
    named = [(sign, replace(field, give_way=0)) for sign, field in found]  # they were asked for
    chosen = default if all(sign for sign, _ in named) else []
    chosen += [field for _, field in named]
    if query.keeps_below:
        chosen += [field for field in row_list.fields if field.is_below and field.in_table]
    removed = {field.name for sign, field in named if sign == "-"}
    by_name = {field.name: field for field in chosen if field.name not in removed}
    return tuple(by_name.values())


def _group(
    row_list: RowList,
    rows: Sequence[object],
    columns: tuple[Field, ...],
    query: Query,
    limit: int,
) -> Selection:
    """Group rows; the columns are then the figures that add up, and those to sort by."""
    by = tuple(field for _, field in parse_names(query.by, "--by", row_list.fields))
    apart = find_apart(row_list, rows)
    if apart is not None:
        by = (apart, *(field for field in by if field.name != apart.name))
    names = {field.name for field in by}
    for field in columns if query.columns else ():
        if not field.is_summable and field.name not in names and field.name in query.columns:
            start = query.columns.index(field.name)
            raise QueryError(
                f"{field.name!r} cannot be summed, so groups have no such column",
                Source(query.columns, "--columns"),
                start,
                start + len(field.name),
            )

    sorted_by = {part.strip().lstrip("+-") for part in query.sort.split(",")}
    more = [field for field in row_list.fields if field.name in sorted_by]
    summed = tuple(
        {
            field.name: field
            for field in (*columns, *more)
            if field.is_summable and field.name not in names
        }.values()
    )
    grouping = group_rows(
        row_list,
        rows,
        by,
        summed,
        sort=query.sort,
        limit=limit,
        keeps_numbers=query.keeps_numbers,
    )
    return Selection(
        row_list=row_list,
        columns=columns,
        rows=rows,
        rows_total=len(rows),
        grouping=grouping,
        is_limited=query.limit is not None,
        has_chosen_columns=bool(query.columns),
    )


def _totals(
    row_list: RowList, rows: Sequence[object], columns: tuple[Field, ...]
) -> Iterator[Total]:
    """Add up the columns that add up, apart where rows do not add up together."""
    summed = tuple(field for field in columns if field.is_summable)
    for of, part in divide_apart(row_list, rows):
        sums = iter(sum_fields(row_list, part, summed))
        yield Total(tuple(next(sums) if field.is_summable else None for field in columns), of)


def _rest(row_list: RowList, rows: Sequence[object], sort: str, *, adds_up: bool) -> Rest | None:
    """Describe the rows a limit left out; with their size where they add up."""
    if not rows:
        return None
    summed = None
    if row_list.size and adds_up and row_list.field(row_list.size).is_summable:
        summed = sum_field(row_list, rows, row_list.field(row_list.size))
    is_known = summed is None or not summed.is_lower_bound  # an unknown one may be larger
    return Rest(len(rows), summed, is_known and is_sorted_by_size(row_list, sort))
