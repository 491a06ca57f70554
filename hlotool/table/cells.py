"""How text should look: units, width, colour; the same for every table of a document.

The one place that knows how a terminal is told of colours.

Which cells of a table stand out? Verdicts, and the sizes that make the larger part of all.

Which words stand in the cells of a table: rows, groups, what was left out, totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.table.curve import draw_sparkline
from hlotool.table.field import Field, Unit
from hlotool.table.rows import (
    Group,
    Grouping,
    Rest,
    RowList,
    Selection,
    Sum,
    lower_flags,
    upper_flags,
)
from hlotool.table.units import (
    UNKNOWN,
    format_bounds,
    format_column,
    format_field,
    format_sum,
    format_value,
)
from hlotool.text import escape

STRONG: Final = "strong"
# What is said of a cell or a line, and its colour: verdicts, severities, sides of a diff.
_CODES: Final[Mapping[str, str]] = {
    STRONG: "1",
    "dim": "2",
    "pass": "32",
    "added": "32",
    "warning": "33",
    "no-match": "33",
    "fail": "31",
    "error": "31",
    "removed": "31",
    "changed": "7",
    **{f"group {number}": str(code) for number, code in enumerate((34, 33, 32, 35, 36, 31, 90))},
}


class Look(Struct, frozen=True):
    """What the terminal and the options ask of a table."""

    units: str = "auto"  # auto, B, KiB, MiB, GiB, kB, MB, GB
    width: int | None = None  # columns of the terminal; None: cut nothing but long lists
    list_width: int | None = None  # where there is no width, of a scope or a list; None: all of it
    has_color: bool = False

    def paint(self, text: str, *tones: str) -> str:
        """Return text in the colours of what is said of it, if there is colour."""
        codes = [_CODES[tone] for tone in tones if tone in _CODES]
        if not (self.has_color and text and codes):
            return text
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"

    def bold(self, text: str) -> str:
        """Return text in bold, if there is colour."""
        return self.paint(text, STRONG)

    def dim(self, text: str) -> str:
        """Return text in grey, if there is colour."""
        return self.paint(text, "dim")


def find_tones(selection: Selection, columns: Sequence[Field]) -> Iterator[tuple[str, ...]]:
    """Yield what colours the cells of each row: a verdict its word, a size that is large."""
    large = _count_large(selection)
    verdicts = [field.getter() if field.is_verdict else None for field in columns]
    if not large and not any(verdicts):
        return
    size = selection.row_list.size
    for number, row in enumerate(selection.rows):
        yield tuple(
            str(read(row)) if read else STRONG if number < large and field.name == size else ""
            for field, read in zip(columns, verdicts, strict=True)
        )


def _count_large(selection: Selection) -> int:
    """Return how many rows, the first ones, make more than half of the TOTAL; 0 where none do."""
    row_list, totals = selection.row_list, selection.totals
    names = [field.name for field in selection.columns]
    if len(totals) != 1 or row_list.size not in names or len(selection.rows) <= 1:
        return 0
    whole = totals[0].sums[names.index(row_list.size)]
    if whole is None or not whole.value:
        return 0
    read, so_far, least = row_list.field(row_list.size).getter(), 0.0, float("inf")
    for count, row in enumerate(selection.rows, start=1):
        value = read(row)
        if not isinstance(value, int | float) or value > least:
            return 0  # they are in another order
        so_far, least = so_far + value, value
        if so_far * 2 > whole.value:
            return count
    return 0


_INDENT = "  "
NO_LABEL = "(none)"  # of a group whose rows have no value
TOTAL, COUNT_TITLE, SHARE_TITLE, COUNT_SHARE_TITLE = "TOTAL", "count", "share", "of count"


class Column(Struct, frozen=True):
    """One column of a finished table."""

    title: str
    is_number: bool
    is_cuttable: bool  # text that may be cut in the middle
    is_list: bool = False  # a scope or a list, which is cut in a pipe, too
    is_key: bool = False  # what rows are told apart by
    give_way: int = 0  # where there is no room for all, the highest leave first
    wants: int = 0  # so many characters are shown before others have left
    leaves_alike: bool = False  # where there is no room for all, and every row has the same
    is_curve: bool = False  # of which the end tells most


class Below(Struct, frozen=True):
    """A line below a row; an item of a list stays on it, a sentence goes on in the next."""

    text: str
    is_item: bool


class TotalCells(Struct, frozen=True):
    """A TOTAL: its cells, and the word in one of them that is no figure."""

    cells: tuple[str, ...]
    word: str = TOTAL


class Cells(Struct, frozen=True):
    """A finished table: nothing is left to format, only to lay out."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: str  # `… and 312 smaller (1.2 GiB)`, or ''
    totals: tuple[TotalCells, ...]  # several where rows do not all add up together
    tones: tuple[tuple[str, ...], ...] = ()  # what colours each cell, '' for none; empty for all
    below: tuple[
        tuple[Below, ...], ...
    ] = ()  # the lines below each row; empty where there are none


def make_cells(selection: Selection, units: str, *, is_flat: bool = False) -> Cells:
    """Write every cell of a selection; if it is flat, what stands below rows is a column too."""
    if selection.grouping is not None:
        return _make_group_cells(selection.row_list, selection.grouping, units)
    below = [each for each in selection.columns if each.is_below and not is_flat]
    columns = [each for each in selection.columns if each not in below]
    return Cells(
        tuple(_make_column(selection.row_list, each) for each in columns),
        _write_rows(selection, columns, units),
        _say_rest(selection.row_list, selection.rest, units),
        tuple(_total_rows(selection, columns, units)),
        tuple(find_tones(selection, columns)),
        tuple(tuple(_lines(below, row, units)) for row in selection.rows) if below else (),
    )


def _lines(fields: Sequence[Field], row: object, units: str) -> Iterator[Below]:
    """Write what stands below a row: a list an item a line, a text behind its heading.

    Foreign text of several lines is escaped line by line.
    """
    for field in fields:
        value = field.getter()(row)
        if isinstance(value, tuple):
            for item in value:
                yield Below(format_value(item, field.items, units), is_item=True)
        elif value is not None:
            label = f"{field.heading}: " if field.heading else ""
            texts = [format_field(field, row, units)]
            if field.has_lines:
                texts = list(map(escape, str(value).strip("\n").split("\n")))
            yield from (Below(text, is_item=False) for text in (label + texts[0], *texts[1:]))


def _write_rows(
    selection: Selection, columns: Sequence[Field], units: str
) -> tuple[tuple[str, ...], ...]:
    """Write rows column by column; there may be none, where all stands below the rows."""
    texts = [_column(selection.row_list, each, selection.rows, units) for each in columns]
    return tuple(zip(*texts, strict=True)) if texts else ((),) * len(selection.rows)


def _column(row_list: RowList, field: Field, rows: Sequence[object], units: str) -> list[str]:
    """Write a column; a name that stands inside another is indented, a bound is marked."""
    values = list(map(field.getter(), rows))
    texts = format_column(field, values, rows, units)
    if field.is_curve:
        texts = [
            draw_sparkline(value) if isinstance(value, tuple) else text
            for value, text in zip(values, texts, strict=True)
        ]
    if field.estimate_if:
        marks = [getattr(row, field.estimate_if) for row in rows]
        texts = [
            f"~ {text}" if mark and value is not None else text
            for text, mark, value in zip(texts, marks, values, strict=True)
        ]
    may_be_bound = row_list.is_sum and field.is_summable and not field.is_exact
    if field.lower_if or may_be_bound:
        lower, upper = lower_flags(row_list, field), upper_flags(row_list, field)
        for place, row in enumerate(rows):
            if values[place] is not None:
                is_lower = any(getattr(row, name) for name in lower)
                is_upper = any(getattr(row, name) for name in upper)
                texts[place] = format_bounds(texts[place], is_lower=is_lower, is_upper=is_upper)
    if field.indent_by:
        depths = [getattr(row, field.indent_by) for row in rows]
        return [_INDENT * depth + text for depth, text in zip(depths, texts, strict=True)]
    return texts


def _make_column(row_list: RowList, field: Field) -> Column:
    """Say how a column is laid out: a name or a list may lose its middle."""
    return Column(
        escape(field.title),
        field.is_numeric,
        is_cuttable=field.unit in {Unit.TEXT, Unit.LIST} and not field.is_whole,
        is_list=_is_list(field),
        is_key=field.name == row_list.key_field.name,
        give_way=field.give_way,
        wants=field.wants,
        leaves_alike=field.leaves_alike,
        is_curve=field.is_curve,
    )


def _is_list(field: Field) -> bool:
    """Say whether it may be of any length: a list, a scope, the shape of a tuple."""
    return field.unit is Unit.LIST or field.is_path or field.is_shape


def _total_rows(selection: Selection, columns: Sequence[Field], units: str) -> Iterator[TotalCells]:
    """Write each TOTAL that says something."""
    for total in selection.totals:
        if any(total.sums) and selection.rows_total > 1:
            pairs = zip(selection.columns, total.sums, strict=True)
            word = f"{TOTAL} {total.of}" if total.of else TOTAL
            shown = [pair for pair in pairs if pair[0] in columns]
            yield TotalCells(_total_row(shown, word, units), word)


def _total_row(pairs: Sequence[tuple[Field, Sum | None]], word: str, units: str) -> tuple[str, ...]:
    """Write a TOTAL; its word stands in the first column that has no sum."""
    cells = [
        ""
        if total is None
        else format_sum(total, _sum_unit(field), units, is_signed=field.is_signed)
        for field, total in pairs
    ]
    free = next((index for index, (_, total) in enumerate(pairs) if total is None), None)
    if free is None:
        cells[0] = f"{word} {cells[0]}"
    else:
        cells[free] = word
    return tuple(cells)


def _sum_unit(field: Field) -> Unit:
    """Return the unit of a sum: that of folded rows is a count, ×48 and ×2 make 50."""
    return Unit.COUNT if field.unit is Unit.TIMES else field.unit


def _say_rest(row_list: RowList, rest: Rest | None, units: str) -> str:
    """Say what a limit left out."""
    if rest is None:
        return ""
    word = "smaller" if rest.is_smaller else "more"
    size = ""
    unit = row_list.field(row_list.size).unit if rest.size is not None else None
    if rest.size is not None and unit is not None and unit is not Unit.PERCENT:
        size = f" ({format_sum(rest.size, unit, units)})"
    return f"… and {rest.count:,} {word}{size}"


def _make_group_cells(row_list: RowList, grouping: Grouping, units: str) -> Cells:
    """Write groups as a hierarchy: one column of labels, indented by level."""
    title = " / ".join(field.title for field in grouping.by)
    is_number = len(grouping.by) == 1 and grouping.by[0].is_numeric
    columns = (
        Column(
            title,
            is_number,
            is_cuttable=True,
            is_list=any(map(_is_list, grouping.by)),
            is_key=True,
        ),
        Column(COUNT_TITLE, is_number=True, is_cuttable=False),
        *(
            Column(each.title, is_number=True, is_cuttable=False, give_way=each.give_way)
            for each in grouping.summed
        ),
        *_share_column(grouping),
    )
    has_total = row_list.has_total and (len(grouping.groups) > 1 or grouping.rest)
    total = grouping.total if has_total else None
    return Cells(
        columns,
        tuple(_walk(row_list, grouping, units, grouping.groups, 0)),
        _say_rest(row_list, grouping.rest, units),
        (TotalCells(_group_row(grouping, total, TOTAL, units)),) if total else (),
    )


def _share_column(grouping: Grouping) -> tuple[Column, ...]:
    """Return the column of shares; none where one of the sums is a share already."""
    measured = grouping.measured
    if measured is not None and measured.unit is Unit.PERCENT and measured in grouping.summed:
        return ()
    title = SHARE_TITLE if measured else COUNT_SHARE_TITLE
    return (Column(title, is_number=True, is_cuttable=False),)


def _walk(
    row_list: RowList, grouping: Grouping, units: str, groups: tuple[Group, ...], depth: int
) -> Iterator[tuple[str, ...]]:
    """Write groups and, below each, the groups it consists of; as deep as --by is long."""
    for group in groups:
        field = grouping.by[depth]
        label = field.null_text or NO_LABEL
        if group.label is not None:
            label = format_value(group.label, field.unit, units)
        yield _group_row(grouping, group, _INDENT * depth + label, units)
        yield from _walk(row_list, grouping, units, group.groups, depth + 1)
        if group.rest is not None:
            yield _rest_row(row_list, grouping, group.rest, _INDENT * (depth + 1), units)


def _rest_row(
    row_list: RowList, grouping: Grouping, rest: Rest, indent: str, units: str
) -> tuple[str, ...]:
    """Write what a limit left out inside a group, its size in the column of sizes."""
    sizes = ["" for _ in grouping.summed]
    for index, field in enumerate(grouping.summed):
        if field.name == row_list.size and rest.size is not None:
            sizes[index] = format_sum(rest.size, field.unit, units)
    said = _say_rest(row_list, replace(rest, size=None) if any(sizes) else rest, units)
    return (indent + said, "", *sizes, *("" for _ in _share_column(grouping)))


def _group_row(grouping: Grouping, group: Group, label: str, units: str) -> tuple[str, ...]:
    """Write one group's figures."""
    share = UNKNOWN if group.share is None else format_value(group.share, Unit.PERCENT)
    return (
        label,
        f"{group.count:,}",
        *(
            format_sum(total, _sum_unit(field), units, is_signed=field.is_signed)
            for field, total in zip(grouping.summed, group.sums, strict=True)
        ),
        *(share for _ in _share_column(grouping)),
    )
