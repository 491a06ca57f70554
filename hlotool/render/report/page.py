"""How is a page written? A template, prose, tables, and data that a script draws charts from."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from hlotool.escape import encode_json, escape
from hlotool.fields import Line
from hlotool.render.prose import render_line
from hlotool.render.report.libraries import expect_chart_script, expect_templates
from hlotool.render.report.tables import PageTable

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
    return (files("hlotool.render.report") / name).read_text("utf-8")


def _hide_marks(data: str) -> str:
    """Write JSON so that nothing in it ends, or opens, what it stands in."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
