"""A table as finished cells: every text is written, and nothing is left to do but to lay it out.

What a terminal, markdown and the page of `hlotool report` have in common: rows, or groups as a
hierarchy of labels, what a limit left out, TOTALs, and what stands below a row. A `Look` is what
the terminal and the options ask of all tables; it alone knows how a terminal is told of colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hlotool.table.curve import draw_sparkline
from hlotool.table.document import Group, Grouping, Rest, RowList, Selection, Sum, Various
from hlotool.table.field import Field, Shown, Unit
from hlotool.table.units import (
    UNKNOWN,
    format_bounds,
    format_column,
    format_field,
    format_sum,
    format_value,
)
from hlotool.table.words import ANY
from hlotool.text import escape

_INDENT: Final = "  "
NO_LABEL: Final = "(none)"  # of a group whose rows have no value
_Cell = TypeVar("_Cell")
TOTAL, COUNT_TITLE, SHARE_TITLE, COUNT_SHARE_TITLE = "TOTAL", "count", "share", "of count"
STRONG: Final = "strong"
# What is said of a cell or a line, and its colour: verdicts, severities, sides of a diff.
_CODES: Final[Mapping[str, str]] = {
    STRONG: "1",
    "dim": "2",
    "pass": "32",
    "added": "32",
    "warning": "33",
    "not-measured": "33",
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


class Column(Struct, frozen=True):
    """One column of a finished table; what is no remark here is as in `Field`."""

    title: str
    is_number: bool
    is_key: bool = False  # what rows are told apart by
    is_path: bool = False
    is_list: bool = False  # a scope or a list, which is cut in a pipe


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
    below: tuple[tuple[Below, ...], ...] = ()  # the lines below each row; empty for none


def make_cells(selection: Selection, units: str, *, is_flat: bool = False) -> Cells:
    """Write every cell of a selection; if it is flat, what stands below rows is a column too."""
    if selection.grouping is not None:
        return _GroupTable(selection.row_list, selection.grouping, units).write()
    below = [each for each in selection.columns if each.is_below and not is_flat]
    columns = [each for each in selection.columns if each not in below]
    texts = [_write_column(selection, each, units) for each in columns]
    # There may be no column at all, where everything stands below the rows.
    rows = tuple(zip(*texts, strict=True)) if texts else ((),) * len(selection.rows)
    return Cells(
        tuple(_make_column(selection.row_list, each) for each in columns),
        rows,
        _say_rest(selection.row_list, selection.rest, units),
        tuple(_write_totals(selection, columns, units)),
        tuple(_find_tones(selection, columns)),
        tuple(tuple(_write_below(below, row, units)) for row in selection.rows) if below else (),
    )


def _make_column(row_list: RowList, field: Field) -> Column:
    return Column(
        escape(field.title),
        field.is_numeric,
        is_key=field.name in {row_list.key_field.name, row_list.screen.partition(",")[0]},
        is_path=field.is_path,
        is_list=_is_list(field),
    )


def _is_list(field: Field) -> bool:
    """Say whether it may be of any length: a list, a scope, the shape of a tuple."""
    return field.unit is Unit.LIST or field.is_path or field.is_shape


def _write_column(selection: Selection, field: Field, units: str) -> list[str]:
    """Write a column; column by column, as texts of equal values are made once, and marks rarely.

    A row's bounds are marked where the column has flags of its own, or each row is a sum.
    """
    row_list, rows = selection.row_list, selection.rows
    values = list(map(field.getter(), rows))
    if field.is_curve:
        return [draw_sparkline(one) if isinstance(one, tuple) else UNKNOWN for one in values]
    texts = format_column(field, values, rows, units)
    if field.lower_if or (row_list.is_sum and field.is_summable and not field.is_exact):
        lower, upper = row_list.lower_flags(field), row_list.upper_flags(field)
        for place, row in enumerate(rows):
            if values[place] is not None:
                is_lower = any(getattr(row, name) for name in lower)
                is_upper = any(getattr(row, name) for name in upper)
                texts[place] = format_bounds(texts[place], is_lower=is_lower, is_upper=is_upper)
    return texts


def _write_below(fields: Sequence[Field], row: object, units: str) -> Iterator[Below]:
    """Write what stands below a row: a list an item a line, a text behind its heading.

    Foreign text of several lines is escaped line by line.
    """
    for field in fields:
        value = field.getter()(row)
        if isinstance(value, tuple):
            for item in value:
                yield Below(format_value(item, field.items, units), is_item=True)
        elif value not in {None, "", ANY} and not isinstance(value, Various):
            shown = field.shown(row) if field.shown else value
            texts = [format_field(field, row, units)]
            if isinstance(shown, Shown) and shown.has_lines:
                texts = list(map(escape, str(value).strip("\n").split("\n")))
            label = f"{field.heading}: " if field.heading else ""
            yield from (Below(text, is_item=False) for text in (label + texts[0], *texts[1:]))


def _find_tones(selection: Selection, columns: Sequence[Field]) -> Iterator[tuple[str, ...]]:
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


def _write_totals(
    selection: Selection, columns: Sequence[Field], units: str
) -> Iterator[TotalCells]:
    """Write each TOTAL that says something; its word stands in the first text without a sum."""
    for total in selection.totals:
        if not any(total.sums) or selection.rows_total <= 1:
            continue
        word = f"{TOTAL} {total.of}" if total.of else TOTAL
        sums = dict(zip(selection.columns, total.sums, strict=True))
        cells = [_write_sum(sums[field], field, units) for field in columns]
        free = [place for place, field in enumerate(columns) if sums[field] is None]
        free.sort(key=lambda place: columns[place].is_numeric)
        if free:
            cells[free[0]] = word
        else:
            cells[0] = f"{word} {cells[0]}"
        yield TotalCells(tuple(cells), word)


def _write_sum(total: Sum | None, field: Field, units: str) -> str:
    """Write a sum; that of folded rows is a count, ×48 and ×2 make 50."""
    unit = Unit.COUNT if field.unit is Unit.TIMES else field.unit
    return "" if total is None else format_sum(total, unit, units, is_signed=field.is_signed)


def _say_rest(row_list: RowList, rest: Rest | None, units: str) -> str:
    """Say what a limit left out."""
    if rest is None:
        return ""
    word, size = "smaller" if rest.is_smaller else "more", ""
    if rest.size is not None and (unit := row_list.field(row_list.size).unit) is not Unit.PERCENT:
        size = f" ({format_sum(rest.size, unit, units)})"
    return f"… and {rest.count:,} {word}{size}{row_list.more and f': {row_list.more}'}"


class _GroupTable(Struct, frozen=True):
    """Groups as a hierarchy: one column of labels, indented by level, then counts and sums."""

    row_list: RowList
    grouping: Grouping
    units: str

    def write(self) -> Cells:
        """Write all groups."""
        grouping = self.grouping
        by = grouping.by
        label = Column(
            " / ".join(field.title for field in by),
            len(by) == 1 and by[0].is_numeric,
            is_list=any(map(_is_list, by)),
            is_key=True,
        )
        number = Column(COUNT_TITLE, is_number=True)
        summed = [replace(number, title=each.title) for each in grouping.summed]
        share = SHARE_TITLE if grouping.measured else COUNT_SHARE_TITLE
        if grouping.measured and grouping.measured.name != self.row_list.size:
            share = f"of {grouping.measured.title}"
        has_total = self.row_list.has_total and (len(grouping.groups) > 1 or grouping.rest)
        total = grouping.total if has_total else None
        return Cells(
            (label, number, *summed, *self._share(replace(number, title=share))),
            tuple(self._walk(grouping.groups, 0)),
            _say_rest(self.row_list, grouping.rest, self.units),
            (TotalCells(self._write_group(total, TOTAL)),) if total else (),
        )

    def _share(self, cell: _Cell) -> tuple[_Cell, ...]:
        """Return the cell of a share, or none where one of the sums is a share already."""
        told = [field for field in self.grouping.summed if field == self.grouping.measured]
        return () if any(field.unit is Unit.PERCENT for field in told) else (cell,)

    def _walk(self, groups: Sequence[Group], depth: int) -> Iterator[tuple[str, ...]]:
        """Write groups and, below each, the groups it consists of; as deep as --by is long."""
        for group in groups:
            field = self.grouping.by[depth]
            label = field.null_text or NO_LABEL
            if group.label is not None:
                label = format_value(group.label, field.unit, self.units)
            yield self._write_group(group, _INDENT * depth + label)
            yield from self._walk(group.groups, depth + 1)
            if group.rest is not None:
                yield self._write_rest(group.rest, _INDENT * (depth + 1))

    def _write_group(self, group: Group, label: str) -> tuple[str, ...]:
        pairs = zip(group.sums, self.grouping.summed, strict=True)
        return (
            label,
            f"{group.count:,}",
            *[_write_sum(total, field, self.units) for total, field in pairs],
            *self._share(format_value(group.share, Unit.PERCENT)),
        )

    def _write_rest(self, rest: Rest, indent: str) -> tuple[str, ...]:
        """Write what a limit left out inside a group, its size in the column of sizes."""
        sizes = [
            format_sum(rest.size, field.unit, self.units)
            if field.name == self.row_list.size and rest.size is not None
            else ""
            for field in self.grouping.summed
        ]
        told = replace(rest, size=None) if any(sizes) else rest
        return (indent + _say_rest(self.row_list, told, self.units), "", *sizes, *self._share(""))
