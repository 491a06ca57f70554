"""Which tables does a page have? Those of the terminal, with what a column is sorted by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from hlotool.escape import escape
from hlotool.fields import Field, Selection
from hlotool.render.cells import make_cells

MOST_ROWS = 3_000  # more than anybody reads; a note says what was left out


class PageCell(Struct, frozen=True):
    """A cell: what stands in it, and the number that it is sorted by, None for text."""

    text: str
    number: float | None


class Link(Struct, frozen=True):
    """A click on a cell with this text tells of an instruction; of two programs, that of `side`."""

    text: str
    name: str
    side: str = ""


FindLink: TypeAlias = Callable[[object], Link | None]


class PageRow(Struct, frozen=True):
    """A row, and what a click in it tells of."""

    link: Link | None
    cells: tuple[PageCell, ...]


class PageTable(Struct, frozen=True):
    """A table under a heading; `anchor` is its place in the page."""

    anchor: str
    title: str
    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    meanings: tuple[str, ...]
    rows: tuple[PageRow, ...]
    more: str


def make_table(
    anchor: str, title: str, selection: Selection, find_link: FindLink, units: str = "auto"
) -> PageTable:
    """Write a list of records as a table; `find_link` says what a click in a row tells of."""
    cells = make_cells(selection, units, is_flat=True)
    columns = selection.columns
    return PageTable(
        anchor,
        title,
        tuple(each.title for each in cells.columns),
        tuple(each.is_number for each in cells.columns),
        tuple(each.meaning for each in columns),
        tuple(
            PageRow(
                find_link(record),
                tuple(
                    PageCell(text, _find_number(field, record))
                    for field, text in zip(columns, texts, strict=True)
                ),
            )
            for record, texts in zip(selection.rows, cells.rows, strict=True)
        ),
        escape(cells.more),
    )


def _find_number(field: Field, record: object) -> float | None:
    value = field.getter()(record) if field.is_numeric else None
    return float(value) if isinstance(value, int | float) else None
