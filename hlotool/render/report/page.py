"""How is a page written? A template, prose, tables, and data that a script draws charts from."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from msgspec import Struct, to_builtins

from hlotool.escape import encode_json, escape
from hlotool.fields import Line
from hlotool.render.prose import render_line
from hlotool.render.report.libraries import expect_chart_script, expect_templates
from hlotool.render.report.tables import PageTable

_TEMPLATE: Final = "page.html"


class PageText(Struct, frozen=True):
    """What a page says: its title, the lines of the verdict, and of what it was made."""

    title: str
    lines: tuple[Line, ...]
    made_from: tuple[str, ...]
    version: str


def render_page(
    text: PageText, tables: Sequence[PageTable], data: Struct, units: str = "auto"
) -> str:
    """Return the whole page; foreign text in it is text, and it asks no network for anything.

    Raises UsageError where the packages of the extra are missing.
    """
    templates = expect_templates()
    page: str = templates.get_template(_TEMPLATE).render(
        title=escape(text.title),
        lines=[render_line(line, units) for line in text.lines],
        made_from=[escape(path) for path in text.made_from],
        version=text.version,
        tables=tables,
        data=_hide_marks(encode_json(to_builtins(data))),
        style=_read("page.css"),
        script=_read("page.js"),
        charts=expect_chart_script(),
    )
    return page


def _read(name: str) -> str:
    return (files("hlotool.render.report") / name).read_text("utf-8")


def _hide_marks(data: str) -> str:
    """Write JSON so that nothing in it ends, or opens, what it stands in."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
