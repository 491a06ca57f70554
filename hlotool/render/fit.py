"""Which columns of a table find room in a terminal, and how wide is each?

The answer stays: a column in which no row has anything leaves first, then by `give_way`, the
highest first, before any name is cut below what it takes to read it; names that a user greps for
are not cut at all before. No two rows look alike that
differ, while a column can give way.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from hlotool.render.cells import Cells

GAP: Final = 2  # blanks between columns
_LEAST: Final = 12  # a name is not cut below this
_LEAST_OF_ANSWER: Final = 8  # or, where all that may give way has left, this
_MOST_COMPARED: Final = 1000  # rows that are compared with each other


def fit(cells: Cells, width: int | None) -> tuple[list[int], list[int]]:
    """Return the columns that find room, in order, and the width of each; all without a width.

    The first column always stays. Where none has to give way, the last one leaves.
    """
    columns = list(range(len(cells.columns)))
    if width is None:
        return columns, [_full_width(cells, index) for index in columns]
    had_filler = _find_filler(cells, columns) is not None
    while True:
        filler = _find_filler(cells, columns)
        is_answer = had_filler and filler is None
        for keeps_names in _list_ways(cells, had_filler=had_filler) if filler is None else ():
            widths = _share_width(
                *(cells, columns, width, _LEAST_OF_ANSWER),
                tells_keys=False,
                keeps_names=keeps_names,
            )
            if _has_room(widths, width) and _are_apart(cells, columns, widths):
                return columns, widths
        least = _LEAST_OF_ANSWER if is_answer else _LEAST
        widths = _share_width(cells, columns, width, least, keeps_names=filler is not None)
        is_told = filler is None or _are_apart(cells, columns, widths)
        if (_has_room(widths, width) and is_told) or not columns[1:]:
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


def _list_ways(cells: Cells, *, had_filler: bool) -> list[bool]:
    """Say whether names are kept whole, then cut, in what is to be told when filler has left."""
    keeps = [True] * any(column.is_name for column in cells.columns)
    return [*keeps, *[False] * had_filler]


def _find_filler(cells: Cells, columns: Sequence[int]) -> int | None:
    """Return the column that gives way next, None where all of them are the answer."""
    ranks = [(_rank(cells, index), index) for index in columns[1:]]
    rank, index = max(ranks, default=(0, 0))
    return index if rank else None


def _rank(cells: Cells, index: int) -> float:
    """Return how soon a column gives way, 0 if it is the answer."""
    is_empty = not any(row[index] for row in cells.rows)
    return inf if is_empty else cells.columns[index].give_way


def _has_room(widths: Sequence[int], width: int) -> bool:
    return sum(widths) + GAP * (len(widths) - 1) <= width


def _least_width(
    cells: Cells, index: int, least: int, *, tells_keys: bool, keeps_names: bool
) -> int:
    """Return the narrowest a column may become.

    Names that a user greps for stay whole where they are kept. Keys, where they are told, and
    paths, while something else may give way, keep what they need to differ.
    """
    column, full = cells.columns[index], _full_width(cells, index)
    if not column.is_cuttable or (column.is_name and keeps_names):
        return full
    width = min(full, max(least, len(column.title)))
    is_told = (column.is_key and tells_keys) or (column.is_list and least > _LEAST_OF_ANSWER)
    names = {row[index] for row in cells.rows[:_MOST_COMPARED]} if is_told else ()
    while width < full and len({cut(name, width) for name in names}) < len(names):
        width += 1
    return width


def _full_width(cells: Cells, index: int) -> int:
    """Return the width of a column that is not cut."""
    longest = max(len(row[index]) for row in cells.rows)
    total = max((len(total.cells[index]) for total in cells.totals), default=0)
    return max(longest, total, len(cells.columns[index].title))


def _share_width(
    cells: Cells,
    columns: Sequence[int],
    width: int,
    least: int,
    *,
    tells_keys: bool = True,
    keeps_names: bool,
) -> list[int]:
    """Give every column its width: the widest names give way first, and equally."""
    narrowest = [
        _least_width(cells, index, least, tells_keys=tells_keys, keeps_names=keeps_names)
        for index in columns
    ]
    widths = [_full_width(cells, index) for index in columns]
    excess = sum(widths) + GAP * (len(columns) - 1) - width
    while excess > 0:
        loose = [place for place in range(len(columns)) if widths[place] > narrowest[place]]
        if not loose:
            break
        widest = max(loose, key=lambda place: widths[place])
        others = [widths[place] for place in loose if widths[place] < widths[widest]]
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
