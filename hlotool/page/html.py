"""Where do the page's template language and its charts come from? From two packages of an extra.

Which tables does a page have? Those of the terminal, with what a column is sorted by.

How is a page written? A template, prose, tables, and data that a script draws charts from.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from hlotool.errors import UsageError
from hlotool.table import Field, Line, Selection
from hlotool.table.cells import make_cells
from hlotool.table.prose import render_line
from hlotool.text import encode_json, escape

if TYPE_CHECKING:
    from jinja2 import Environment

_MISSING = "hlotool report needs {}; install hlotool[report]."


def expect_templates() -> Environment:
    """Return where templates are read from; what is filled in is escaped.

    Raises UsageError where jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  an extra
    except ImportError as error:
        raise UsageError(_MISSING.format("jinja2")) from error
    return Environment(
        loader=PackageLoader("hlotool.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def expect_chart_script() -> str:
    """Return plotly's script, which draws in the browser; raise UsageError where it is missing."""
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415  an extra, and slow to import
    except ImportError as error:
        raise UsageError(_MISSING.format("plotly")) from error
    script: str = get_plotlyjs()
    return script


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


_PROGRAM: Final = "program"  # a template, and a script beside it
_PAIR: Final = "pair"


class PageFinding(Struct, frozen=True):
    """A finding as a sentence; `tone` is its severity, `name` the instruction that it is about."""

    text: str
    tone: str
    name: str = ""


class PageText(Struct, frozen=True):
    """What a page says: its title, the lines of the verdict, and of what it was made.

    `labels` are what two programs are called; there are none where the page is about one. `more`
    says what other findings there are.
    """

    title: str
    lines: tuple[Line, ...]
    made_from: tuple[str, ...]
    version: str
    labels: tuple[str, ...] = ()
    findings: tuple[PageFinding, ...] = ()
    more: str = ""


class PageTables(Struct, frozen=True):
    """Tables of a page: those that stand before its charts, and those behind."""

    leading: tuple[PageTable, ...]
    others: tuple[PageTable, ...]


class _PageLine(Struct, frozen=True):
    """A line of the verdict, and what is said of it."""

    text: str
    tone: str


def render_page(text: PageText, tables: PageTables, data: Struct, units: str = "auto") -> str:
    """Return the whole page; foreign text in it is text, and it asks no network for anything.

    Raises UsageError where the packages of the extra are missing.
    """
    templates = expect_templates()
    kind = _PAIR if text.labels else _PROGRAM
    page: str = templates.get_template(f"{kind}.html").render(
        title=escape(text.title),
        lines=[_PageLine(render_line(line, units), line.tone) for line in text.lines],
        findings=[replace(each, text=escape(each.text)) for each in text.findings],
        more=text.more,
        labels=[escape(label) for label in text.labels],
        made_from=[escape(path) for path in text.made_from],
        version=text.version,
        leading=tables.leading,
        tables=tables.others,
        data=_hide_marks(encode_json(to_builtins(data))),
        style=_read("page.css"),
        script=_read("common.js") + _read(f"{kind}.js"),
        charts=expect_chart_script(),
    )
    return page


def _read(name: str) -> str:
    return (files("hlotool.page") / name).read_text("utf-8")


def _hide_marks(data: str) -> str:
    """Write JSON so that nothing in it ends, or opens, what it stands in."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
