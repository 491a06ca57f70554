"""Tables and prose laid out: on a terminal, and as GitHub's markdown.

On a terminal columns find room, names are cut in the middle, and there are colours. The answer
stays: a column in which no row has anything leaves first, then one that is told below as every row
has the same, then by `hide_order`, the highest first, before any name is cut below its `min_width`.
No two rows look alike that differ, while a column can be hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.table.cells import Below, Cells, Column, Look, TotalCells, make_cells
from hlotool.table.document import Document, Line, Selection
from hlotool.table.units import render_line, wrap

_GAP: Final = 2  # blanks between columns
_INDENT: Final = 4  # blanks before what stands below a row
_NOTHING: Final = "(no rows)"
_LONGEST: Final = 120  # of a line of prose that may be cut, in a pipe
_MOST_COMPARED: Final = 1000  # rows that are compared with each other
_MOST_PADDED: Final = 1 << 26  # characters of a column, padded to its widest cell


def render_tables(document: Document, selections: Sequence[Selection], look: Look) -> str:
    """Return the prose and the tables of a document, as a terminal shows them."""
    blocks = [_render_prose(document.lines, look)] if document.lines else []
    for selection in selections:
        name, title = selection.row_list.name, selection.row_list.title
        parts = []
        if name in document.above:
            parts.append(_render_prose(document.above[name], look))
        elif title and len(selections) > 1:
            parts.append(look.bold(title))
        cells = make_cells(selection, look.units)
        cells = replace(cells, totals=()) if document.is_brief else cells
        parts.append(render_table(cells, look, is_brief=document.is_brief))
        blocks.append("\n".join(parts))
    if document.notes:
        blocks.append(_render_prose(document.notes, look))
    return "\n\n".join(blocks) + "\n"


def _render_prose(lines: Sequence[Line], look: Look) -> str:
    """Return lines of prose; one that is longer than it may be is broken, or ends there."""
    texts = []
    for line in lines:
        text = render_line(line, look.units)
        if line.is_cuttable:
            most = look.width or (look.list_width and _LONGEST)
            parts = [text if most is None or len(text) <= most else f"{text[: most - 1]}…"]
        else:
            parts = wrap(text, None if line.is_typed else look.width, "  ").split("\n")
        for part in parts:
            painted, done = "", 0
            for start, end, tone in line.spans:  # parts of a drawing have each a colour
                painted += part[done:start] + look.paint(part[start:end], tone)
                done = end
            texts.append(painted + part[done:] if line.spans else look.paint(part, line.tone))
    return "\n".join(texts)


def render_table(cells: Cells, look: Look, *, is_brief: bool = False) -> str:
    """Lay one table out; without a width nothing is cut but long lists."""
    if not cells.rows:
        return _NOTHING
    if look.width is None and look.list_width is not None:
        cells = _cut_lists(cells, look.list_width)
    columns, widths = _Fit(cells, look.width).choose()
    totals = [_place_word(total, columns) for total in cells.totals]
    totals = [
        one for one in totals if any(one.cells[each] not in {"", one.word} for each in columns)
    ]
    cells = replace(cells, totals=tuple(totals))
    heading, *lines = _lay_out(cells, columns, widths, look)
    count = len(cells.rows)
    made = [look.bold(heading), (" " * _GAP).join("-" * width for width in widths)]
    for number, line in enumerate(lines[:count]):
        made.append(line)
        if cells.below:
            made += _write_below(cells.below[number], look)
    made += [look.dim(cells.more)] if cells.more else []
    made += [look.bold(line) for line in lines[count:]]
    if not is_brief:
        made += [look.dim(line) for line in _say_left_out(cells, columns, look)]
    return "\n".join(made)


def _lay_out(cells: Cells, columns: Sequence[int], widths: Sequence[int], look: Look) -> list[str]:
    """Write the lines of a table: titles, rows, TOTALs."""
    from tabulate import tabulate  # noqa: PLC0415  only tables need it

    titles = tuple(column.title for column in cells.columns)
    rows = [titles, *cells.rows, *(total.cells for total in cells.totals)]
    shown = [
        [_cut_cell(row[each], width, cells.columns[each]) for row in rows]
        for each, width in zip(columns, widths, strict=True)
    ]
    for number, row in enumerate(rows):  # both sides of a row that differ never look alike
        short = [place for place, each in enumerate(columns) if shown[place][number] != row[each]]
        names = [row[columns[place]] for place in short]
        if len({shown[place][number] for place in short}) < len(set(names)):
            apart = cut_apart(names, min(widths[place] for place in short))
            for place, name in zip(short, apart, strict=True):
                shown[place][number] = name or ""
    for texts, each in zip(shown, columns, strict=True):
        for number, tones in enumerate(cells.tones if look.has_color else (), start=1):
            texts[number] = look.paint(texts[number], tones[each])
    text = tabulate(
        # One row, whose cells are whole columns: tabulate guesses of what type each cell is. Handed
        # 5,000 rows of 14 columns it takes 187 ms of CPU; so it takes 63 ms.
        [["\n".join(texts) for texts in shown]],
        tablefmt="plain",  # its own headings would widen every column by two
        disable_numparse=True,
        colalign=["right" if cells.columns[each].is_number else "left" for each in columns],
        preserve_whitespace=True,
    )
    return [line.rstrip() for line in text.split("\n")]


def _cut_lists(cells: Cells, most: int) -> Cells:
    """Cut what is no name and may be of any length, where no terminal has a width."""
    lists = [column.is_list for column in cells.columns]
    rows = tuple(
        tuple(
            cut(text, most) if is_list else text for text, is_list in zip(row, lists, strict=True)
        )
        for row in cells.rows
    )
    return replace(cells, rows=rows)


def _cut_cell(text: str, width: int, column: Column) -> str:
    """Cut a text that is wider than its column; of a curve the newest part stays."""
    if len(text) <= width:
        return text
    return f"…{text[len(text) - width + 1 :]}" if column.is_curve else cut(text, width)


def cut(text: str, width: int) -> str:
    """Cut a text in the middle: its beginning and its end tell most."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def cut_apart(texts: Sequence[str | None], width: int) -> list[str | None]:
    """Cut texts in the middle; where those that differ would look alike, to where they do.

    >>> cut_apart(["layers_10_attention", "layers_11_attention"], 9), cut_apart(["a", None], 9)
    (['…10_…tion', '…11_…tion'], ['a', None])
    """
    known = [text for text in texts if text is not None]
    if len({cut(text, width) for text in known}) < len(set(known)):
        alike = takewhile(lambda each: len(set(each)) == 1, zip_longest(*known))
        begin = max(0, sum(1 for _ in alike) - width // 2 + 3)
        texts = [text and f"…{text[begin:]}" for text in texts]
    return [text and cut(text, width) for text in texts]


def _write_below(below: Sequence[Below], look: Look) -> Iterator[str]:
    """Write what stands below a row: sentences broken, items cut where the terminal ends."""
    for one in below:
        text = (" " * _INDENT + one.text).rstrip()
        if one.is_item:
            yield look.dim(text if look.width is None else cut(text, look.width))
        else:
            yield from (look.dim(part) for part in wrap(text, look.width, "  ").split("\n"))


def _place_word(total: TotalCells, shown: Sequence[int]) -> TotalCells:
    """Put the word of a TOTAL into a column that found room."""
    free = [index for index in shown if not total.cells[index]]
    if any(total.cells[index] == total.word for index in shown) or not free:
        return total
    cells = list(total.cells)
    cells[free[0]] = total.word
    return replace(total, cells=tuple(cells))


def _say_left_out(cells: Cells, columns: Sequence[int], look: Look) -> list[str]:
    """Name the columns that found no room, if any row has something there."""
    titles, parts = [], []
    for index, column in enumerate(cells.columns):
        if index in columns:
            continue
        if _is_constant(cells, index):
            parts.append(f"{column.title} of every row shown: {cells.rows[0][index]}")
        elif any(row[index] for row in cells.rows):
            titles.append(column.title)
    parts += [f"no room for {', '.join(titles)}"] if titles else []
    if not parts:
        return []
    return wrap(f"({'; '.join([*parts, '-w shows all'])})", look.width).split("\n")


def _is_constant(cells: Cells, index: int) -> bool:
    """Whether a column may be hidden because every row has the same in it."""
    texts = {row[index] for row in cells.rows}
    return cells.columns[index].hide_if_constant and len(texts) == 1 and texts != {""}


class _Narrowing(Struct, frozen=True):
    """How far the columns of a table may be cut."""

    least: int  # a name is not cut below this
    keeps_min: bool = False  # or below the least width that its column asks for
    tells_paths: bool = False  # paths keep what they need to differ
    tells_keys: bool = False  # so do keys


# As long as a column can be hidden, then in this order.
_AT_EASE: Final = _Narrowing(12, keeps_min=True, tells_paths=True, tells_keys=True)
_NARROW: Final = _Narrowing(8, keeps_min=True, tells_paths=True)
_NARROWER: Final = (_Narrowing(8, tells_paths=True), _Narrowing(8))
# Where nothing else helps: of a table whose columns are all the answer, and of another.
_LAST_OF_ANSWER: Final = _Narrowing(12, tells_paths=True, tells_keys=True)
_LAST: Final = _Narrowing(8, tells_keys=True)


class _Fit:
    """Which columns of a table find room in a width, and how wide each is."""

    def __init__(self, cells: Cells, width: int | None) -> None:
        self._cells = cells
        self._width = width
        self._compared = cells.rows[:_MOST_COMPARED]
        self._columns = list(range(len(cells.columns)))
        rows = [*cells.rows, *(total.cells for total in cells.totals)]
        self._full = [
            max(len(column.title), *(len(row[index]) for row in rows))
            for index, column in enumerate(cells.columns)
        ]

    def choose(self) -> tuple[list[int], list[int]]:
        """Return the columns, in order, and their widths; all of them where there is no width.

        Even there, one cell of a million characters does not pad as many rows to its length.
        The first column stays unless it is told below. Where none can be hidden, the last one is.
        """
        columns = self._columns
        if self._width is None:
            most = max(1000, _MOST_PADDED // len(self._cells.rows))
            return columns, [min(full, most) for full in self._full]
        rows = self._cells.rows
        # What tells nothing goes first, the last of it before the first.
        idle = [index for index in columns if _is_constant(self._cells, index)]
        idle += [index for index in columns[1:] if not any(row[index] for row in rows)]
        while idle and self._find_excess([self._full[index] for index in columns]) > 0:
            columns.remove(idle.pop())
        # A table all of whose columns are the answer rather loses one than cuts names so far that
        # nobody can tell them; one that had others to hide has less to lose.
        had_filler = self._find_filler() is not None
        while True:
            filler = self._find_filler()
            ways = [_AT_EASE]
            if filler is None:
                ways += [_NARROW, *(_NARROWER if had_filler else ())]
            for way in ways:
                widths = self._share_width(way)
                if self._find_excess(widths) <= 0 and self._are_apart(widths):
                    return columns, widths
            if filler is None:
                widths = self._share_width(_LAST if had_filler else _LAST_OF_ANSWER)
                if self._find_excess(widths) <= 0:
                    return columns, widths
            if not columns[1:]:
                return columns, widths
            columns.remove(columns[-1] if filler is None else filler)

    def _find_filler(self) -> int | None:
        """Return the column that is hidden next, None where all of them are the answer."""
        orders = [(self._cells.columns[index].hide_order, index) for index in self._columns[1:]]
        order, index = max(orders, default=(0, 0))
        return index if order else None

    def _find_excess(self, widths: Sequence[int]) -> int:
        return sum(widths) + _GAP * (len(widths) - 1) - (self._width or 0)

    def _share_width(self, way: _Narrowing) -> list[int]:
        """Give every column its width: the widest names are cut first, and equally."""
        narrowest = [self._find_least(index, way) for index in self._columns]
        widths = [self._full[index] for index in self._columns]
        excess = self._find_excess(widths)
        while excess > 0:
            loose = [place for place, width in enumerate(widths) if width > narrowest[place]]
            if not loose:
                break
            widest = max(loose, key=lambda place: widths[place])
            others = [widths[place] for place in loose if place != widest]
            step = max(1, min(excess, widths[widest] - max([*others, narrowest[widest]])))
            widths[widest] -= step
            excess -= step
        return widths

    def _find_least(self, index: int, way: _Narrowing) -> int:
        """Return the narrowest a column may become."""
        column, full = self._cells.columns[index], self._full[index]
        if not column.is_cuttable:
            return full
        width = min(full, max(way.least, len(column.title), column.min_width * way.keeps_min))
        is_told = (column.is_key and way.tells_keys) or (column.is_list and way.tells_paths)
        names = {row[index] for row in self._compared} if is_told else ()
        # Names that differ in their middle only look alike when cut: widen until they differ.
        while width < full and len({cut(name, width) for name in names}) < len(names):
            width += 1
        return width

    def _are_apart(self, widths: Sequence[int]) -> bool:
        """Whether all rows that differ in these columns still do when they are cut."""
        rows = {tuple(row[index] for index in self._columns) for row in self._compared}
        shown = {
            tuple(cut(text, width) for text, width in zip(row, widths, strict=True)) for row in rows
        }
        return len(shown) == len(rows)


_SPECIAL = re.compile(
    r"[\\|`*<>\[\]&~]|(?<![^\W_])_|_(?![^\W_])"  # an underscore inside a name is one
    r"|:(?=//)|(?<=www)\."  # GitHub makes a link of https://… and www.… as they stand
)


def render_markdown(document: Document, selections: Sequence[Selection], units: str) -> str:
    """Return the prose as paragraphs and every row list as a table."""
    blocks = _quote_prose(document.lines, units)
    for selection in selections:
        above = document.above.get(selection.row_list.name)
        if above is not None:
            blocks += _quote_prose(above, units)
        elif selection.row_list.title and len(selections) > 1:
            blocks.append(f"**{quote_markdown(selection.row_list.title)}**")
        blocks.append(render_markdown_table(make_cells(selection, units, is_flat=True)))
    blocks += _quote_prose(document.notes, units)
    return "\n\n".join(blocks) + "\n"


def _quote_prose(lines: Sequence[Line], units: str) -> list[str]:
    """Return a paragraph for each line; the empty ones between them are not needed."""
    texts = (render_line(line, units) for line in lines)
    return [quote_markdown(text) for text in texts if text]


def quote_markdown(text: str) -> str:
    """Escape what markdown or HTML would act on; leading blanks stay visible."""
    stripped = text.lstrip(" ")
    return "&nbsp;" * (len(text) - len(stripped)) + _SPECIAL.sub(r"\\\g<0>", stripped)


def render_markdown_table(cells: Cells) -> str:
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
