"""How a table fits a terminal: right-aligned numbers, names cut in the middle."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.fields import Document, Line, Selection
from hlotool.render.cells import Cells, TotalCells, make_cells
from hlotool.render.look import Look
from hlotool.render.prose import render_line, wrap

_GAP = 2  # blanks between columns
_INDENT = 4  # blanks before what stands below a row
_LEAST = 12  # a name is not cut below this
_NOTHING = "(no rows)"


def render_tables(document: Document, selections: Sequence[Selection], look: Look) -> str:
    """Return the prose and the tables of a document, as a terminal shows them."""
    blocks = [_render_prose(document.lines, look)] if document.lines else []
    for selection in selections:
        name = selection.row_list.name
        title = selection.row_list.title if len(selections) > 1 else ""
        parts = [look.bold(title)] if title and name not in document.above else []
        if name in document.above:
            parts.append(_render_prose(document.above[name], look))
        parts.append(render_table(make_cells(selection, look.units), look))
        blocks.append("\n".join(parts))
    if document.notes:
        blocks.append(_render_prose(document.notes, look))
    return "\n\n".join(blocks) + "\n"


def _render_prose(lines: Sequence[Line], look: Look) -> str:
    """Return lines of prose, broken where the terminal ends."""
    return "\n".join(wrap(render_line(line, look.units), look.width, "  ") for line in lines)


def render_table(cells: Cells, look: Look) -> str:
    """Lay one table out; without a width nothing is cut."""
    from tabulate import tabulate  # noqa: PLC0415  only tables need it

    if not cells.rows:
        return _NOTHING
    shown, dropped = _fit(cells, look.width)
    widths = _share_width(cells, shown, look.width)
    titles = tuple(column.title for column in cells.columns)
    totals = [total for total in cells.totals if _says_something(total, shown)]
    rows = [titles, *cells.rows, *(total.cells for total in totals)]
    text = tabulate(
        [
            [_cut(row[each], width) for each, width in zip(shown, widths, strict=True)]
            for row in rows
        ],
        tablefmt="plain",  # its own headings would widen every column by two
        disable_numparse=True,
        colalign=["right" if cells.columns[index].is_number else "left" for index in shown],
        preserve_whitespace=True,
    )
    heading, *lines = [line.rstrip() for line in text.split("\n")]
    begin = len(cells.rows)
    lines[begin:] = [look.bold(line) for line in lines[begin:]]
    lines = _add_below(lines, cells, look)
    if cells.more:
        lines.insert(len(lines) - len(totals), look.dim(cells.more))
    if dropped:
        names = ", ".join(titles[index] for index in dropped)
        said = wrap(f"(no room for {names}; -w shows all)", look.width)
        lines += [look.dim(line) for line in said.split("\n")]
    rule = (" " * _GAP).join("-" * width for width in widths)
    return "\n".join([look.bold(heading), rule, *lines])


def _add_below(lines: list[str], cells: Cells, look: Look) -> list[str]:
    """Put below each row the lines that belong there."""
    made: list[str] = []
    for number, line in enumerate(lines):
        made.append(line)
        for text in cells.below[number] if number < len(cells.below) else ():
            indented = wrap(" " * _INDENT + text, look.width, "  ")
            made += [look.dim(part) for part in indented.split("\n")]
    return made


def _says_something(total: TotalCells, shown: Sequence[int]) -> bool:
    """Whether a TOTAL has a figure left among the columns that found room."""
    return any(total.cells[index] not in {"", total.word} for index in shown)


def _fit(cells: Cells, width: int | None) -> tuple[list[int], list[int]]:
    """Choose the columns that fit when every name is cut as short as may be.

    The first column always stays; others are left out from the right.
    """
    shown = list(range(len(cells.columns)))
    dropped: list[int] = []
    while width is not None and len(shown) > 1:
        least = [_least_width(cells, index) for index in shown]
        if sum(least) + _GAP * (len(shown) - 1) <= width:
            break
        dropped.insert(0, shown.pop())
    return shown, dropped


def _least_width(cells: Cells, index: int) -> int:
    """Return the narrowest a column may become."""
    full = _full_width(cells, index)
    if not cells.columns[index].is_cuttable:
        return full
    return min(full, max(_LEAST, len(cells.columns[index].title)))


def _full_width(cells: Cells, index: int) -> int:
    """Return the width of a column that is not cut."""
    longest = max(len(row[index]) for row in cells.rows)
    total = max((len(total.cells[index]) for total in cells.totals), default=0)
    return max(longest, total, len(cells.columns[index].title))


def _share_width(cells: Cells, shown: Sequence[int], width: int | None) -> list[int]:
    """Give every column its width: the widest names give way first, and equally."""
    widths = [_full_width(cells, index) for index in shown]
    if width is None:
        return widths
    least = [_least_width(cells, index) for index in shown]
    excess = sum(widths) + _GAP * (len(shown) - 1) - width
    while excess > 0:
        loose = [place for place in range(len(shown)) if widths[place] > least[place]]
        if not loose:
            break
        widest = max(loose, key=lambda place: widths[place])
        others = [widths[place] for place in loose if widths[place] < widths[widest]]
        step = max(1, min(excess, widths[widest] - max([*others, least[widest]])))
        widths[widest] -= step
        excess -= step
    return widths


def _cut(text: str, width: int) -> str:
    """Cut a text in the middle: its beginning and its end tell most."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]
