"""Which columns of a table find room in a terminal, and how wide is each?

The answer stays: a column in which no row has anything leaves first, then one that is told below
as every row has the same, then by `give_way`, the highest first, before any name is cut below what
it wants. No two rows look alike that differ, while a column can give way.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from msgspec import Struct

from hlotool.render.cells import Cells

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
