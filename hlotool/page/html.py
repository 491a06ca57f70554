"""The HTML of a page: a template with prose and tables, and data that a script draws from.

`commands/report` says what stands on a page, and `data` makes the JSON for the charts; here both
become one file that asks no network for anything.

Foreign text in a page is text. It is escaped twice, against two things: `text.escape` shows control
characters and marks of direction, and jinja2's autoescape keeps markup from being markup. A
template that writes `|safe` gets past the second, which only this file's own parts may do.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import UsageError
from hlotool.table import Field, Line, Selection
from hlotool.table.cells import Column, make_cells
from hlotool.table.units import render_line
from hlotool.text import encode_json, escape

if TYPE_CHECKING:
    from jinja2 import Environment

_MISSING: Final = "hlotool report needs jinja2; install hlotool[report]."
SCRIPTS: Final = (
    "axis.js", "model.js", "icicle.js", "lanes.js", "panel.js", "charts.js", "page.js",
)  # fmt: skip
MOST_ROWS: Final = 3_000  # more than anybody reads; a note says what was left out


class Link(Struct, frozen=True):
    """What makes a cell of a row a link: the cell that has this text opens an instruction's panel.

    `name` is the instruction's; `side` is the label of the program it is in, '' where there is one.
    """

    text: str
    name: str
    side: str = ""


FindLink: TypeAlias = Callable[[object], Link | None]
_Cell: TypeAlias = tuple[str, float | None]  # its text, and the number that it is sorted by


class PageTable(Struct, frozen=True):
    """A table under a heading; `anchor` is its place in the page."""

    anchor: str
    title: str
    columns: tuple[tuple[Column, str], ...]  # with what each means
    rows: tuple[tuple[Link | None, list[_Cell]], ...]
    more: str  # how many rows were left out, '' for none


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


def make_table(
    anchor: str, title: str, selection: Selection, find_link: FindLink | None, units: str = "auto"
) -> PageTable:
    """Write a list of records as a table; `find_link` says what a click in a row opens."""
    cells = make_cells(selection, units, is_flat=True)  # lines below a row would be sorted apart
    fields = selection.columns
    rows = []
    for record, texts in zip(selection.rows, cells.rows, strict=True):
        numbers = (_find_number(field, record) for field in fields)
        rows.append((find_link and find_link(record), list(zip(texts, numbers, strict=True))))
    meanings = (field.meaning for field in fields)
    columns = tuple(zip(cells.columns, meanings, strict=True))
    return PageTable(anchor, title, columns, tuple(rows), escape(cells.more))


def _find_number(field: Field, record: object) -> float | None:
    value = field.getter()(record) if field.is_numeric else None
    return float(value) if isinstance(value, int | float) else None


def render_page(
    text: PageText, tables: PageTables, data: dict[str, object], units: str = "auto"
) -> str:
    """Return the whole page; `data` is what `page.data` makes for the scripts.

    Raises UsageError where the packages of the extra are missing.
    """
    template = expect_templates().get_template("page.html")
    # Lines and cells come escaped from `table`; `more` and `version` are hlotool's own words.
    page: str = template.render(
        title=escape(text.title),
        lines=[(render_line(line, units), line.tone) for line in text.lines],
        findings=[replace(each, text=escape(each.text)) for each in text.findings],
        more=text.more,
        labels=[escape(label) for label in text.labels],
        made_from=[escape(path) for path in text.made_from],
        version=text.version,
        leading=tables.leading,
        tables=tables.others,
        data=pack(data),
        style=_read("page.css"),
        script="".join(map(_read, SCRIPTS)),
    )
    return page


def expect_templates() -> Environment:
    """Return where templates are read from; what is filled in is escaped.

    Raises UsageError where jinja2 is not installed; `report` asks before it reads a dump.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  an extra
    except ImportError as error:
        raise UsageError(_MISSING) from error
    return Environment(
        loader=PackageLoader("hlotool.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _read(name: str) -> str:
    return (files("hlotool.page") / name).read_text("utf-8")


def pack(data: dict[str, object]) -> str:
    """Write data as JSON, packed, in letters that are no markup; the browser unpacks it itself."""
    return b64encode(gzip.compress(encode_json(data).encode(), 6, mtime=0)).decode()
