"""An answer as one comment on a pull request: a table, what stands out, and the rest folded.

The first line is a marker, by which a bot finds its last comment and replaces it. All of it has
less than 3,000 characters: of the tables so many rows are written as there is room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.table.cells import Cells, make_cells
from hlotool.table.document import Document, Selection
from hlotool.table.terminal import cut, quote_markdown, render_markdown_table
from hlotool.table.units import render_line

_MOST: Final = 2_990  # characters
_FOR_HEAD: Final = 1_400  # of the first table
_LINE, _CELL = 240, 60  # of a sentence, of a cell
_FOLD, _END = "<details><summary>Details</summary>", "</details>"


def render_comment(document: Document, selections: Sequence[Selection], units: str) -> str:
    """Return an answer as a comment: its lines are told, its first list stands open."""
    marker = f"<!-- hlotool {document.spec.name.partition('-')[0]} -->"
    lines, notes = (
        [quote_markdown(cut(text, _LINE)) for one in each if (text := render_line(one, units))]
        for each in (document.lines, document.notes)
    )
    head, details = selections[:1], selections[1:]
    title, *said = lines
    blocks = [f"{marker}\n**{title}**", *(_fit_table(one, units, _FOR_HEAD) for one in head)]
    told = ""
    for line in said:
        told += f"* {line}\n" if len(told) + len(line) < _FOR_HEAD // 2 else ""
    blocks += [told.rstrip()] if told else []
    blocks = [one for one in blocks if one]
    free = _MOST - sum(len(one) + 2 for one in blocks) - len(_FOLD) - len(_END) - 4
    folded = []
    for selection in details:
        name = f"**{quote_markdown(selection.row_list.title or selection.row_list.name)}**"
        if table := _fit_table(selection, units, free - len(name) - 4):
            folded.append(f"{name}\n\n{table}")
            free -= len(folded[-1]) + 2
    for note in notes:
        if len(note) + 2 <= free:
            folded.append(note)
            free -= len(note) + 2
    blocks += [_FOLD, *folded, _END] if folded else []
    return "\n\n".join(blocks) + "\n"


def _fit_table(selection: Selection, units: str, room: int) -> str:
    """Lay out as many rows of a list as there is room for, '' if not one is."""
    cells = make_cells(selection, units, is_flat=True)
    telling = [
        number for number, _ in enumerate(cells.columns) if any(row[number] for row in cells.rows)
    ]
    columns = tuple(cells.columns[number] for number in telling)
    rows = tuple(tuple(cut(row[number], _CELL) for number in telling) for row in cells.rows)
    for count in range(len(rows), 0, -1):
        more = cells.more if count == len(rows) else "… and others"
        text = render_markdown_table(Cells(columns, rows[:count], more, ()))
        if len(text) <= room:
            return text
    return ""
