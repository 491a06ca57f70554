"""An answer as GitHub's markdown, for a pull request: prose as paragraphs, and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hlotool.table.cells import Cells, make_cells
from hlotool.table.document import Document, Line, Selection
from hlotool.table.units import render_line

_SPECIAL = re.compile(
    r"[\\|`*<>\[\]&~]|(?<![^\W_])_|_(?![^\W_])"
)  # an underscore inside a name is one


def render_markdown(document: Document, selections: Sequence[Selection], units: str) -> str:
    """Return the prose as paragraphs and every row list as a table."""
    blocks = _render_prose(document.lines, units)
    for selection in selections:
        above = document.above.get(selection.row_list.name)
        if above is not None:
            blocks += _render_prose(above, units)
        elif selection.row_list.title and len(selections) > 1:
            blocks.append(f"**{quote_markdown(selection.row_list.title)}**")
        blocks.append(_render_table(make_cells(selection, units, is_flat=True)))
    blocks += _render_prose(document.notes, units)
    return "\n\n".join(blocks) + "\n"


def _render_prose(lines: Sequence[Line], units: str) -> list[str]:
    """Return a paragraph for each line; the empty ones between them are not needed."""
    texts = (render_line(line, units) for line in lines)
    return [quote_markdown(text) for text in texts if text]


def quote_markdown(text: str) -> str:
    """Escape what markdown or HTML would act on; leading blanks stay visible."""
    stripped = text.lstrip(" ")
    return "&nbsp;" * (len(text) - len(stripped)) + _SPECIAL.sub(r"\\\g<0>", stripped)


def _render_table(cells: Cells) -> str:
    """Lay one table out; what was left out is a paragraph below it."""
    if not cells.rows:
        return "(no rows)"
    lines = [
        _join([quote_markdown(column.title) for column in cells.columns]),
        _join(["--:" if column.is_number else ":--" for column in cells.columns]),
        *(_join([quote_markdown(cell) for cell in row]) for row in cells.rows),
    ]
    lines += [
        _join([f"**{quote_markdown(cell)}**" if cell else "" for cell in total.cells])
        for total in cells.totals
    ]
    if cells.more:
        lines += ["", quote_markdown(cells.more)]
    return "\n".join(lines)


def _join(cells: Sequence[str]) -> str:
    """Write one line of a table."""
    return f"| {' | '.join(cells)} |"
