"""Curves in text: bytes against positions, the same by groups, and a row of figures in one line.

All are drawn with block characters, of eighths of a line. A curve is a line `┤` upwards and a line
`└` to the right; a stack is that curve with each cell in the colour, or the letter, of the group
that lies there; a sparkline is `▁▁▃▃█`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby
from typing import Final

from hlotool.table.document import Line
from hlotool.table.field import Unit
from hlotool.table.units import UNKNOWN, format_value

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_HEIGHT: Final = 10  # lines
_LEAST_WIDTH: Final = 20  # columns of the curve itself


def draw_curve(levels: Sequence[int], peak: int, width: int, units: str = "auto") -> list[str]:
    """Return the lines of a drawing: bytes upwards from 0, positions to the right.

    Each column shows the highest level of the positions it stands for; `peak` is marked
    above and named below.
    """
    top = max(levels, default=0)
    labels = _label(top, units)
    margin = max(map(len, labels))
    columns = count_columns(levels, width, units)
    heights = []  # of each column, in eighths of a line
    for column in range(columns if levels else 0):
        level = max(levels[_find_positions(column, columns, len(levels))])
        heights.append(-(-level * _HEIGHT * 8 // top) if top else 0)
    mark = _find_column(peak, len(levels), columns)
    lines = [f"{'':>{margin}}  {'':>{mark}}▼ peak at {peak}".rstrip()]
    if mark + len(f"▼ peak at {peak}") > columns:
        lines = [f"{'':>{margin}}  {f'peak at {peak} ▼':>{mark + 1}}"]
    for line in range(_HEIGHT, 0, -1):
        label = {_HEIGHT: labels[0], _HEIGHT // 2: labels[1]}.get(line, "")
        eighths = (max(0, min(8, height - (line - 1) * 8)) for height in heights)
        drawn = "".join(_EIGHTHS[each] for each in eighths).rstrip()
        lines.append(f"{label:>{margin}} ┤{drawn}" if label else f"{'':>{margin}} │{drawn}")
    last = str(max(len(levels) - 1, 0))
    lines.append(f"{labels[2]:>{margin}} └{'─' * columns}")
    lines.append(f"{'':>{margin}}  0{last:>{columns - 1}}")
    return lines


def count_columns(levels: Sequence[int], width: int, units: str = "auto") -> int:
    """Return how many columns the curve itself has."""
    return max(_LEAST_WIDTH, width - max(map(len, _label(max(levels, default=0), units))) - 2)


def _label(top: int, units: str) -> list[str]:
    return [format_value(size, Unit.BYTES, units) for size in (top, top // 2, 0)]


def _find_positions(column: int, columns: int, count: int) -> slice:
    """Return the positions that a column stands for: at least one, where there are fewer."""
    first = column * count // columns
    return slice(first, max(first + 1, (column + 1) * count // columns))


def _find_column(position: int, count: int, columns: int) -> int:
    """Return the middle one of the columns that stand for a position."""
    if not count:
        return 0
    last = ((position + 1) * columns - 1) // count
    first = min(last, -(-position * columns // count))
    return (first + last) // 2


MOST_GROUPS: Final = 6  # and the rest: colours that a terminal has
_MARKS: Final = "#o+=:x."


def draw_stack(
    levels: Sequence[int],
    stacks: Mapping[str, Sequence[int]],
    peak: int,
    width: int,
    units: str = "auto",
    *,
    has_color: bool = False,
) -> list[Line]:
    """Return the drawing of `draw_curve`, every cell in the colour of the group that lies there.

    `stacks` has the bytes of each group, at every position or at the highest of each column; the
    first lies lowest. Below stands which group has which colour.
    """
    drawn = draw_curve(levels, peak, width, units)
    start = drawn[-1].index("0")
    columns = drawn[-2].count("─")
    sums = [list(accumulate(parts)) for parts in zip(*stacks.values(), strict=True)]
    top = max(levels, default=0)
    if not sums:
        return [Line(text) for text in drawn]
    # Of the positions that a column stands for, the highest is drawn.
    parts = (sums[_find_positions(column, columns, len(sums))] for column in range(columns))
    shown = [max(part, key=lambda one: one[-1]) for part in parts]
    # Each cell of the curve is one line high; the group in its middle gives it the colour.
    frame = len(drawn) - 3  # lines of cells, below the mark of the peak
    lines = [Line(drawn[0])]
    for number, text in enumerate(drawn[1:-2]):
        low, high = ((frame - number - part) * top / frame for part in (1, 0))
        groups = [
            _find_group(shown[place], low, high) if cell != " " else None
            for place, cell in enumerate(text[start:])
        ]
        marks = (
            cell if has_color or group is None else _MARKS[group]
            for cell, group in zip(text[start:], groups, strict=True)
        )
        lines.append(Line(text[:start] + "".join(marks), spans=_find_spans(groups, start)))
    lines += [Line(text) for text in drawn[-2:]]
    for number, name in enumerate(stacks):
        text = f"{'':{start}}{'█' if has_color else _MARKS[number]} {name}"
        lines.append(Line(text, spans=((start, start + 1, f"group {number}"),)))
    return lines


def _find_group(sums: Sequence[int], low: float, high: float) -> int:
    """Return the group in the middle of the part of a cell that is filled."""
    level = (low + min(high, sums[-1])) / 2
    return next(number for number, total in enumerate(sums) if total >= level or total == sums[-1])


def _find_spans(groups: Sequence[int | None], start: int) -> tuple[tuple[int, int, str], ...]:
    """Return where each run of one group begins and ends."""
    spans = []
    for group, run in groupby(groups):
        end = start + len(list(run))
        if group is not None:
            spans.append((start, end, f"group {group}"))
        start = end
    return tuple(spans)


_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_ASCII: Final = "_.-~+=*#"
_WIDTH: Final = 40  # figures drawn: the newest


def draw_sparkline(values: Sequence[float | None]) -> str:
    """Return one character a figure, `?` for an unknown; older ones than fit are left out.

    The lowest block is for the least alone, the highest for the largest; where all are the same,
    all are the lowest.
    """
    shown = values[-_WIDTH:]
    known = [value for value in shown if value is not None]
    least, most = min(known, default=0), max(known, default=0)
    highest = len(_BLOCKS) - 1
    drawn = []
    for value in shown:
        if value is None:
            drawn.append(UNKNOWN)
        elif value - least in {0, most - least}:
            drawn.append(_BLOCKS[highest if value - least else 0])
        else:
            place = round((value - least) / (most - least) * highest)
            drawn.append(_BLOCKS[min(max(1, place), highest - 1)])
    return "".join(drawn)


def fit_encoding(text: str, encoding: str | None) -> str:
    """Return text whose blocks are ASCII where an encoding has none."""
    try:
        _BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        for block, plain in zip(_BLOCKS, _ASCII, strict=True):
            text = text.replace(block, plain)
    return text
