"""Which columns of a table find room in a terminal, and how wide is each?

The answer stays: a column in which no row has anything leaves first, then one that is told below
as every row has the same, then by `give_way`, the highest first, before any name is cut below what
it wants. No two rows look alike that differ, while a column can give way.

How a table looks on a terminal: right-aligned numbers, names cut in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.table.cells import Cells, Column, Look, TotalCells, make_cells
from hlotool.table.document import Document, Line
from hlotool.table.prose import render_line, wrap
from hlotool.table.rows import Selection

GAP: Final = 2  # blanks between columns
_MOST_COMPARED: Final = 1000  # rows that are compared with each other


class _Narrowing(Struct, frozen=True):
    """How far the columns of a table may be cut."""

    least: int  # a name is not cut below this
    keeps_wants: bool = False  # or below what its column wants
    tells_paths: bool = False  # paths keep what they need to differ
    tells_keys: bool = False  # so do keys


# As long as a column may give way, then in this order.
_AT_EASE: Final = _Narrowing(12, keeps_wants=True, tells_paths=True, tells_keys=True)
_NARROW: Final = _Narrowing(8, keeps_wants=True, tells_paths=True)
_NARROWER: Final = (_Narrowing(8, tells_paths=True), _Narrowing(8))
# Where nothing else helps: of a table whose columns are all the answer, and of another.
_LAST_OF_ANSWER: Final = _Narrowing(12, tells_paths=True, tells_keys=True)
_LAST: Final = _Narrowing(8, tells_keys=True)


def fit(cells: Cells, width: int | None) -> tuple[list[int], list[int]]:
    """Return the columns that find room, in order, and the width of each; all without a width.

    The first column stays unless it is told below. Where none has to give way, the last one leaves.
    """
    columns = list(range(len(cells.columns)))
    full = [_full_width(cells, index) for index in columns]
    if width is None:
        return columns, full
    alike = [index for index in columns if is_alike(cells, index)]
    idle = alike + [index for index in columns[1:] if is_empty(cells, index)]
    while idle and not _has_room([full[index] for index in columns], width):
        columns.remove(idle.pop())
    had_filler = _find_filler(cells, columns) is not None
    while True:
        filler = _find_filler(cells, columns)
        rest = () if filler is not None else (_NARROW, *(_NARROWER if had_filler else ()))
        for way in (_AT_EASE, *rest):
            widths = _share_width(cells, full, columns, width, way)
            if _has_room(widths, width) and _are_apart(cells, columns, widths):
                return columns, widths
        if filler is None:
            last = _LAST if had_filler else _LAST_OF_ANSWER
            widths = _share_width(cells, full, columns, width, last)
            if _has_room(widths, width):
                return columns, widths
        if not columns[1:]:
            return columns, widths
        columns.remove(columns[-1] if filler is None else filler)


def cut(text: str, width: int) -> str:
    """Cut a text in the middle: its beginning and its end tell most."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def _find_filler(cells: Cells, columns: Sequence[int]) -> int | None:
    """Return the column that gives way next, None where all of them are the answer."""
    ranks = [(cells.columns[index].give_way, index) for index in columns[1:]]
    rank, index = max(ranks, default=(0, 0))
    return index if rank else None


def is_empty(cells: Cells, index: int) -> bool:
    """Whether no row has anything in a column."""
    return not any(row[index] for row in cells.rows)


def is_alike(cells: Cells, index: int) -> bool:
    """Whether a column may leave because every row has the same in it."""
    texts = {row[index] for row in cells.rows}
    return cells.columns[index].leaves_alike and len(texts) == 1 and texts != {""}


def _has_room(widths: Sequence[int], width: int) -> bool:
    return sum(widths) + GAP * (len(widths) - 1) <= width


def _least_width(cells: Cells, full: int, index: int, way: _Narrowing) -> int:
    """Return the narrowest a column may become."""
    column = cells.columns[index]
    if not column.is_cuttable:
        return full
    wanted = column.wants if way.keeps_wants else 0
    width = min(full, max(way.least, len(column.title), wanted))
    is_told = (column.is_key and way.tells_keys) or (column.is_list and way.tells_paths)
    names = {row[index] for row in cells.rows[:_MOST_COMPARED]} if is_told else ()
    while width < full and len({cut(name, width) for name in names}) < len(names):
        width += 1
    return width


def _full_width(cells: Cells, index: int) -> int:
    """Return the width of a column that is not cut."""
    longest = max(map(len, map(itemgetter(index), cells.rows)))
    total = max((len(total.cells[index]) for total in cells.totals), default=0)
    return max(longest, total, len(cells.columns[index].title))


def _share_width(
    cells: Cells, full: Sequence[int], columns: Sequence[int], width: int, way: _Narrowing
) -> list[int]:
    """Give every column its width: the widest names give way first, and equally."""
    narrowest = [_least_width(cells, full[index], index, way) for index in columns]
    widths = [full[index] for index in columns]
    excess = sum(widths) + GAP * (len(columns) - 1) - width
    while excess > 0:
        loose = [place for place in range(len(columns)) if widths[place] > narrowest[place]]
        if not loose:
            break
        widest = max(loose, key=lambda place: widths[place])
        others = [widths[place] for place in loose if place != widest]
        step = max(1, min(excess, widths[widest] - max([*others, narrowest[widest]])))
        widths[widest] -= step
        excess -= step
    return widths


def _are_apart(cells: Cells, columns: Sequence[int], widths: Sequence[int]) -> bool:
    """Whether all rows that differ in these columns still do when they are cut."""
    rows = {tuple(row[index] for index in columns) for row in cells.rows[:_MOST_COMPARED]}
    shown = {
        tuple(cut(text, width) for text, width in zip(row, widths, strict=True)) for row in rows
    }
    return len(shown) == len(rows)


_INDENT = 4  # blanks before what stands below a row
_NOTHING = "(no rows)"
_LONGEST = 120  # of a line of prose that may be cut, in a pipe


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
    return "\n".join(
        _paint_spans(part, line, look) if line.spans else look.paint(part, line.tone)
        for line in lines
        for part in _lay_out(line, look)
    )


def _lay_out(line: Line, look: Look) -> list[str]:
    """Break a line of prose, or end it, where it is longer than it may be."""
    text = render_line(line, look.units)
    if line.is_cuttable:
        most = look.width or (look.list_width and _LONGEST)
        return [text if most is None or len(text) <= most else f"{text[: most - 1]}…"]
    return wrap(text, None if line.is_typed else look.width, "  ").split("\n")


def _paint_spans(text: str, line: Line, look: Look) -> str:
    """Paint the parts of a drawing, each in its own colour."""
    painted, done = [], 0
    for start, end, tone in line.spans:
        painted += [text[done:start], look.paint(text[start:end], tone)]
        done = end
    return "".join([*painted, text[done:]])


def render_table(cells: Cells, look: Look) -> str:
    """Lay one table out; without a width nothing is cut but long lists."""
    from tabulate import tabulate  # noqa: PLC0415  only tables need it

    if not cells.rows:
        return _NOTHING
    cells = _cut_lists(cells, look)
    columns, widths = fit(cells, look.width)
    titles = tuple(column.title for column in cells.columns)
    totals = [_place_word(total, columns) for total in cells.totals]
    totals = [total for total in totals if _says_something(total, columns)]
    rows = [titles, *cells.rows, *(total.cells for total in totals)]
    shown = [
        _cut_column(list(map(itemgetter(each), rows)), width, cells.columns[each])
        for each, width in zip(columns, widths, strict=True)
    ]
    if look.has_color:
        for number, tones in enumerate(cells.tones, start=1):
            for column, each in zip(shown, columns, strict=True):
                column[number] = look.paint(column[number], tones[each])
    text = tabulate(
        # One row, whose cells are whole columns: tabulate guesses what type each cell is.
        [["\n".join(column) for column in shown]],
        tablefmt="plain",  # its own headings would widen every column by two
        disable_numparse=True,
        colalign=["right" if cells.columns[index].is_number else "left" for index in columns],
        preserve_whitespace=True,
    )
    heading, *lines = [line.rstrip() for line in text.split("\n")]
    begin = len(cells.rows)
    lines[begin:] = [look.bold(line) for line in lines[begin:]]
    lines = _add_below(lines, cells, look)
    if cells.more:
        lines.insert(len(lines) - len(totals), look.dim(cells.more))
    lines += [look.dim(line) for line in _say_left_out(cells, columns, look)]
    rule = (" " * GAP).join("-" * width for width in widths)
    return "\n".join([look.bold(heading), rule, *lines])


def _say_left_out(cells: Cells, columns: Sequence[int], look: Look) -> list[str]:
    """Name the columns that found no room, if any row has something there."""
    left = [index for index in range(len(cells.columns)) if index not in columns]
    alike = [index for index in left if is_alike(cells, index)]
    titles = [
        cells.columns[index].title
        for index in left
        if index not in alike and not is_empty(cells, index)
    ]
    parts = [
        f"{cells.columns[each].title} of every row shown: {cells.rows[0][each]}" for each in alike
    ]
    parts += [f"no room for {', '.join(titles)}"] if titles else []
    if not parts:
        return []
    return wrap(f"({'; '.join([*parts, '-w shows all'])})", look.width).split("\n")


def _cut_column(texts: list[str], width: int, column: Column) -> list[str]:
    """Cut the texts of a column that are wider; of a curve the newest part stays."""
    if max(map(len, texts)) <= width:
        return texts
    if column.is_curve:
        return [
            text if len(text) <= width else f"…{text[len(text) - width + 1 :]}" for text in texts
        ]
    return [cut(text, width) for text in texts]


def _cut_lists(cells: Cells, look: Look) -> Cells:
    """Cut what is no name and may be of any length, where no terminal has a width."""
    most = look.list_width
    if look.width is not None or most is None:
        return cells
    lists = [column.is_list for column in cells.columns]
    places = [place for place, is_list in enumerate(lists) if is_list]
    if all(len(row[place]) <= most for place in places for row in cells.rows):
        return cells
    rows = tuple(
        tuple(
            cut(text, most) if is_list else text for text, is_list in zip(row, lists, strict=True)
        )
        for row in cells.rows
    )
    return replace(cells, rows=rows)


def _add_below(lines: list[str], cells: Cells, look: Look) -> list[str]:
    """Put below each row the lines that belong there."""
    made: list[str] = []
    for number, line in enumerate(lines):
        made.append(line)
        for one in cells.below[number] if number < len(cells.below) else ():
            text = (" " * _INDENT + one.text).rstrip()
            if not one.is_item:
                made += [look.dim(part) for part in wrap(text, look.width, "  ").split("\n")]
            else:
                made.append(look.dim(text if look.width is None else cut(text, look.width)))
    return made


def _place_word(total: TotalCells, shown: Sequence[int]) -> TotalCells:
    """Put the word of a TOTAL into a column that found room."""
    free = [index for index in shown if not total.cells[index]]
    if any(total.cells[index] == total.word for index in shown) or not free:
        return total
    cells = list(total.cells)
    cells[free[0]] = total.word
    return replace(total, cells=tuple(cells))


def _says_something(total: TotalCells, shown: Sequence[int]) -> bool:
    """Whether a TOTAL has a figure left among the columns that found room."""
    return any(total.cells[index] not in {"", total.word} for index in shown)
