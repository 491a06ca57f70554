"""A curve of bytes against positions, drawn with block characters to fit a width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.fields import Unit
from hlotool.render.units import format_value

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
    heights = _column_heights(levels, columns, top)
    mark = _column_of(peak, len(levels), columns)
    lines = [f"{'':>{margin}}  {'':>{mark}}▼ peak at {peak}".rstrip()]
    if mark + len(f"▼ peak at {peak}") > columns:
        lines = [f"{'':>{margin}}  {f'peak at {peak} ▼':>{mark + 1}}"]
    for line in range(_HEIGHT, 0, -1):
        label = {_HEIGHT: labels[0], _HEIGHT // 2: labels[1]}.get(line, "")
        drawn = "".join(_cell(height, line) for height in heights).rstrip()
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


def _column_of(position: int, count: int, columns: int) -> int:
    """Return the middle one of the columns that stand for a position."""
    if not count:
        return 0
    last = ((position + 1) * columns - 1) // count
    first = min(last, -(-position * columns // count))
    return (first + last) // 2


def _column_heights(levels: Sequence[int], columns: int, top: int) -> list[int]:
    """Return the height of each column in eighths of a line."""
    count = len(levels)
    heights = []
    for column in range(columns if count else 0):
        first = column * count // columns
        after = max(first + 1, (column + 1) * count // columns)
        level = max(levels[first:after])
        heights.append(-(-level * _HEIGHT * 8 // top) if top else 0)
    return heights


def _cell(height: int, line: int) -> str:
    """Return the part of a column that lies in one line, counted from below."""
    return _EIGHTHS[max(0, min(8, height - (line - 1) * 8))]
