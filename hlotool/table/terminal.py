"""Tables and prose laid out: on a terminal, and as GitHub's markdown.

A terminal shows the columns of a list's screen. Where they find no room side by side, what all rows
share is told once above, and a row has a second line. No name is cut there: what is printed can be
given to `show`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Final, TypeVar

from msgspec.structs import replace

from hlotool.table.cells import Below, Cells, Column, Look, TotalCells, make_cells
from hlotool.table.document import Document, Line, Selection
from hlotool.table.units import UNKNOWN, render_line, wrap

_GAP: Final = 2  # blanks between columns
_INDENT: Final = 4  # blanks before what stands below a row
_NOTHING: Final = "(no rows)"
_LONGEST: Final = 120  # of a line of prose that may be cut, in a pipe
_MOST_COMPARED: Final = 200  # rows by which columns are measured
_MOST_PADDED: Final = 1 << 26  # characters of a column, padded to its widest cell
T = TypeVar("T")


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
        parts.append(render_table(cells, look))
        blocks.append("\n".join(parts))
    if document.notes:
        blocks.append(_render_prose(document.notes, look))
    return "\n\n".join(blocks) + "\n"


_COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")


def count_rows(text: str, width: int | None) -> int:
    """Return how many rows of a terminal a text takes."""
    lines = _COLOR.sub("", text).splitlines()
    return sum(-(-len(line) // width) or 1 if width else 1 for line in lines)


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


def render_table(cells: Cells, look: Look) -> str:
    """Lay one table out; nothing is cut but long lists."""
    if not cells.rows:
        return _NOTHING
    said: list[str] = []
    if look.width is not None:
        is_narrow = len(cells.rows) > 1 and _measure(_find_full(cells)) > look.width
        cells, said = _say_once(cells, is_narrow=is_narrow)
    elif look.list_width is not None:
        cells = _cut_lists(cells, look.list_width)
    widths = _share_width(cells, look.width)
    shown = [index for index, width in enumerate(widths) if width]
    totals = [_place_word(total, shown) for total in cells.totals]
    totals = [one for one in totals if {*one.cells} - {"", one.word}]
    rows = [*cells.rows, *(total.cells for total in totals)]
    heading, *lines = _lay_out(cells, rows, widths, look)
    lines += [""] * (len(rows) - len(lines))  # everything may stand below the rows
    made = [look.dim(line) for each in said for line in wrap(each, look.width, "  ").split("\n")]
    made += [look.bold(heading), (" " * _GAP).join("-" * widths[index] for index in shown)]
    for number, row in enumerate(rows):
        is_total = number >= len(cells.rows)
        if number == len(cells.rows) and cells.more:
            made.append(look.dim(cells.more))
        written = _write_row(cells, row, widths, lines[number], look)
        made += map(look.bold, written) if is_total else written
        if cells.below and not is_total:
            made += _write_below(cells.below[number], look)
    if cells.more and not totals:
        made.append(look.dim(cells.more))
    return "\n".join(made)


def _lay_out(
    cells: Cells, rows: Sequence[Sequence[str]], widths: Sequence[int], look: Look
) -> list[str]:
    """Write the lines of a table: titles, rows, TOTALs; a cell that finds no room is left out."""
    from tabulate import tabulate  # noqa: PLC0415  only tables need it

    texts, columns = [], []
    for index, (column, width) in enumerate(zip(cells.columns, widths, strict=True)):
        if width:
            columns.append(column)
            texts.append([column.title])
            texts[-1] += [row[index] if len(row[index]) <= width else "" for row in rows]
            for number, tones in enumerate(cells.tones if look.has_color else (), start=1):
                texts[-1][number] = look.paint(texts[-1][number], tones[index])
    text = tabulate(
        # One row, whose cells are whole columns: tabulate guesses of what type each cell is. Handed
        # 5,000 rows of 14 columns it takes 187 ms of CPU; so it takes 63 ms.
        [["\n".join(each) for each in texts]],
        tablefmt="plain",  # its own headings would widen every column by two
        disable_numparse=True,
        colalign=["right" if column.is_number else "left" for column in columns],
        preserve_whitespace=True,
    )
    return [line.rstrip() for line in text.split("\n")]


def _write_row(
    cells: Cells, row: Sequence[str], widths: Sequence[int], laid_out: str, look: Look
) -> Iterator[str]:
    """Write a row, and what found no room in its line below it, each behind its heading.

    What begins the row and finds no room is above it: there it is looked for. A name is never
    cut or broken, and a list ends where the terminal does.
    """
    begin = next((index for index, width in enumerate(widths) if width), None)
    line, parts = "", []
    for index, (column, text) in enumerate(zip(cells.columns, row, strict=True)):
        if _finds_no_room(column, text, widths[index]):
            part = text if index == begin else " " * _INDENT + f"{column.title}: {text}"
            is_cut = look.width and column.is_list and not column.is_path
            parts.append(cut(part, look.width or 0) if is_cut else part)
            if index == begin:
                yield parts.pop()
    if laid_out or not parts:
        yield laid_out
    for part in parts:
        if line and len(line) + len(part) > (look.width or 0):
            yield from wrap(line, look.width, "  ").split("\n")
            line = ""
        line += part
    if line:
        yield from wrap(line, look.width, "  ").split("\n")


def _finds_no_room(column: Column, text: str, width: int) -> bool:
    """Whether a cell goes below its row; that a name is unknown does not."""
    return len(text) > width and (column.is_number or text != UNKNOWN)


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
    cells = ["" if text == total.word else text for text in total.cells]
    cells[free[0]] = total.word
    return replace(total, cells=tuple(cells))


def _say_once(cells: Cells, *, is_narrow: bool) -> tuple[Cells, list[str]]:
    """Leave out columns without a value, and where there is no room, say things once above.

    Those are what all rows have, and with what all paths of a column begin.
    """
    columns = list(enumerate(cells.columns))
    texts = [[row[index] for row in cells.rows] for index, _ in columns]
    said, kept = [], []
    for index, column in columns:
        alike, begin = set(texts[index]), ""
        if alike == {""} and not column.is_key:
            continue
        if not is_narrow or column.is_number or column.is_key or len(alike) > 1:
            kept.append(index)
            begin = _find_begin(alike) if column.is_path and is_narrow else ""
        elif alike != {UNKNOWN}:
            said.append(f"{column.title} of every row: {alike.pop()}")
        if begin:
            said.append(f"{column.title}: … is {begin}")
            texts[index] = [text.replace(f"{begin}/", "…/", 1) for text in texts[index]]

    def keep(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[index] for index in kept)

    return replace(
        cells,
        columns=keep(cells.columns),
        rows=tuple(zip(*keep(texts), strict=True)),
        totals=tuple(replace(each, cells=keep(each.cells)) for each in cells.totals),
        tones=tuple(map(keep, cells.tones)),
    ), said


def _find_begin(texts: Iterable[str]) -> str:
    """Return the components with which all paths begin, '' where that is none or one path.

    >>> _find_begin({"decoder/layer/mlp", "for decoder/layer/attention/softmax", "x", "?"})
    'decoder/layer'
    """
    paths = [text.removeprefix("for ").split("/")[:-1] for text in texts if "/" in text]
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*paths, strict=False))
    begin = "/".join(each[0] for each in alike)
    return begin if len(paths) > 1 and len(begin) > 1 else ""


def _find_full(cells: Cells) -> list[int]:
    """Return how wide each column is if all of it finds room."""
    rows = [*cells.rows, *(total.cells for total in cells.totals)]
    return [
        max(len(column.title), *(len(row[index]) for row in rows))
        for index, column in enumerate(cells.columns)
    ]


def _measure(widths: Sequence[int]) -> int:
    """Return how wide columns are together; those of no width have no gap."""
    return sum(width + _GAP for width in widths if width) - _GAP


def _share_width(cells: Cells, most: int | None) -> list[int]:
    """Return the width of each column; a longer cell goes below its row, of width 0 every one.

    The narrowing that sends the fewest more rows into a second line for each character comes
    first; the key of a row and numbers stay longest. Without a width one cell of a million
    characters does not pad as many rows to its length.
    """
    widths = _find_full(cells)
    if most is None:
        longest = max(1000, _MOST_PADDED // len(cells.rows))
        return [min(width, longest) for width in widths]
    compared = [*cells.rows[:_MOST_COMPARED], *(total.cells for total in cells.totals)]
    steps = [
        sorted(
            {0, widths[index]}
            | {
                max(len(column.title), len(row[index]))
                for row in compared
                if row[index] and not column.is_number
            }
        )
        for index, column in enumerate(cells.columns)
    ]
    second: set[int] = set()  # rows that have a second line

    def find_longer(index: int, width: int) -> set[int]:
        column = cells.columns[index]
        texts = enumerate(row[index] for row in compared)
        return {number for number, text in texts if _finds_no_room(column, text, width)}

    while (excess := _measure(widths) - most) > 0:
        ways = [
            (
                len(find_longer(index, step) - second)
                * (5 if column.is_key else 4 if column.is_number else 1)
                / min(excess, widths[index] - step + _GAP * (not step)),
                column.is_number,
                -index,
                step,
            )
            for index, column in enumerate(cells.columns)
            for step in steps[index]
            if step < widths[index] and sum(map(bool, widths)) > (not step)
        ]
        if not ways:
            break
        *_, place, step = min(ways)
        widths[-place] = step
        second |= find_longer(-place, step)
    for index, width in enumerate(widths):  # what a later narrowing left free
        for step in steps[index]:
            if step > width and _measure([*widths[:index], step, *widths[index + 1 :]]) <= most:
                widths[index] = step
    return widths


_SPECIAL = re.compile(
    r"[\\|`*<>\[\]&~]|(?<![^\W_])_|_(?![^\W_])"  # an underscore inside a name is one
    r"|:(?=//)|(?<=www)\."  # GitHub makes a link of https://… and www.… as they stand
)


def render_markdown(document: Document, selections: Sequence[Selection], units: str) -> str:
    """Return the prose as paragraphs and every row list as a table."""
    blocks = _quote_prose(document.lines, units)
    for selection in selections:
        if (above := document.above.get(selection.row_list.name)) is not None:
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
