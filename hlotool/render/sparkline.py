"""How is a row of figures drawn in one line of text? `▁▁▃▃█`, from the least to the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.render.units import UNKNOWN

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_ASCII: Final = "_.-~+=*#"
_WIDTH: Final = 40  # figures drawn: the newest


def draw_sparkline(values: Sequence[float | None]) -> str:
    """Return one character a figure, `?` for an unknown; older ones than fit are left out.

    Where all are the same, all are the lowest.
    """
    shown = values[-_WIDTH:]
    known = [value for value in shown if value is not None]
    least, most = min(known, default=0), max(known, default=0)
    return "".join(
        UNKNOWN if value is None else _BLOCKS[_level(value - least, most - least)]
        for value in shown
    )


def fit_encoding(text: str, encoding: str | None) -> str:
    """Return text whose blocks are ASCII where an encoding has none."""
    try:
        _BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        for block, plain in zip(_BLOCKS, _ASCII, strict=True):
            text = text.replace(block, plain)
    return text


def _level(height: float, range_: float) -> int:
    """Return which block stands for a height: the lowest for 0 alone, the highest for all of it."""
    highest = len(_BLOCKS) - 1
    if height in {0, range_}:
        return highest if height else 0
    return min(max(1, round(height / range_ * highest)), highest - 1)
