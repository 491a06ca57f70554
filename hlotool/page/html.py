"""The HTML of a page: a template with prose and tables, and data that a script draws from.

`commands/report` says what stands on a page, and `data` makes the JSON for the charts; here both
become one file that asks no network for anything.

Foreign text in a page is text. It is escaped twice, against two things: `text.escape` shows control
characters and marks of direction, and jinja2's autoescape keeps markup from being markup. Lines and
cells come from `table` with the first; all else needs it in the template, as `|plain`. One that
writes `|safe` gets past the second, which only this file's own parts may do.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, json

from hlotool.errors import UsageError
from hlotool.table import Field, Line, RowList
from hlotool.table.cells import Column, make_cells
from hlotool.table.select import Query, select_rows
from hlotool.table.units import render_line
from hlotool.text import encode_json, escape

if TYPE_CHECKING:
    from jinja2 import Environment

_MISSING: Final = "hlotool report needs jinja2; install hlotool[report]."
SCRIPTS: Final = (
    "axis.js", "model.js", "where.js", "icicle.js", "lanes.js", "panel.js", "charts.js", "page.js",
)  # fmt: skip
_MOST_ROWS: Final = 3_000  # more than anybody reads; a note says what was left out


_Cell: TypeAlias = tuple[str, float | None]  # its text, and the number that it is sorted by


class PageTable(Struct, frozen=True):
    """A table under a heading; `anchor` is its place in the page."""

    anchor: str
    title: str
    columns: tuple[tuple[Column, str], ...]  # with what each means
    rows: tuple[tuple[str, list[_Cell]], ...]  # the side that names are of, and the cells
    more: str  # how many rows were left out, '' for none


class PageText(Struct, frozen=True):
    """What a page says: its title, the lines of the verdict, and of what it was made.

    `labels` are what two programs are called; there are none where the page is about one. A finding
    has a text, a tone and an instruction; `more` says what others there are. `leading` stand before
    the charts, `others` behind. `embedded` are files of which the page has lines.
    """

    title: str
    lines: tuple[Line, ...]
    made_from: tuple[str, ...]
    version: str
    labels: tuple[str, ...] = ()
    findings: tuple[tuple[str, str, str], ...] = ()
    more: str = ""
    leading: tuple[PageTable, ...] = ()
    others: tuple[PageTable, ...] = ()
    embedded: tuple[str, ...] = ()


def make_table(
    anchor: str, title: str, row_list: RowList, found: Sequence[object], labels: tuple[str, ...]
) -> PageTable:
    """Write a list of records as a table, without columns that are empty in every row.

    Of two sides, what is removed is named by the old one.
    """
    selection = select_rows(row_list, found, Query(default_limit=_MOST_ROWS))
    cells = make_cells(selection, "auto", is_flat=True)  # lines below a row would be sorted apart
    used = [at for at, texts in enumerate(zip(*cells.rows, strict=True)) if any(texts)]
    rows = []
    for record, texts in zip(selection.rows, cells.rows, strict=True):
        is_old = getattr(record, "change", "") == "removed"
        told = [(texts[at], _find_number(selection.columns[at], record)) for at in used]
        rows.append((labels[not is_old] if labels else "", told))
    columns = tuple((cells.columns[at], selection.columns[at].meaning) for at in used)
    return PageTable(anchor, title, columns, tuple(rows), escape(cells.more))


def _find_number(field: Field, record: object) -> float | None:
    value = field.getter()(record) if field.is_numeric else None
    return float(value) if isinstance(value, int | float) else None


def render_page(text: PageText, data: dict[str, object]) -> str:
    """Return the whole page; `data` is what `page.data` makes for the scripts.

    Raises UsageError where the packages of the extra are missing.
    """
    lines = [(render_line(line, "auto"), line.tone) for line in text.lines]
    script = "".join(map(_read, SCRIPTS))
    return _render("page.html", text=text, lines=lines, data=pack(data), script=script)


def render_index(
    title: str, heads: Sequence[str], rows: Sequence[tuple[str, str, Sequence[str]]], version: str
) -> str:
    """Return a page that lists others: of each its name, its file, '' for none, and cells."""
    return _render("index.html", text=PageText(title, (), (), version), heads=heads, rows=rows)


def _render(name: str, **values: object) -> str:
    page: str = expect_templates().get_template(name).render(style=_read("page.css"), **values)
    return page


def expect_templates() -> Environment:
    """Return where templates are read from; what is filled in is escaped.

    Raises UsageError where jinja2 is not installed; `report` asks before it reads a dump.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  an extra
    except ImportError as error:
        raise UsageError(_MISSING) from error
    found = Environment(
        loader=PackageLoader("hlotool.page", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters["plain"] = escape
    return found


def _read(name: str) -> str:
    return (files("hlotool.page") / name).read_text("utf-8")


def pack(data: dict[str, object]) -> str:
    """Write data as JSON, packed, in letters that are no markup; the browser unpacks it itself."""
    try:  # ten times as quick as Python's own, which writes a name of bytes that are no text too
        text = json.encode(data)
    except UnicodeEncodeError:
        text = encode_json(data, is_compact=True).encode()
    # Level 3 takes half the time of 6, for a sixth more bytes.
    return b64encode(gzip.compress(text, 3, mtime=0)).decode()
