"""A curve divided into groups that lie on one another, told apart by colours or characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby
from typing import Final

from hlotool.fields import Line, quote_braces
from hlotool.render.curve import draw_curve

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
    shown = [_choose(sums, column, columns) for column in range(columns)]
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
        lines.append(Line(quote_braces(text), spans=((start, start + 1, f"group {number}"),)))
    return lines


def _choose(sums: Sequence[Sequence[int]], column: int, columns: int) -> Sequence[int]:
    """Return the sums at the highest position of those that a column stands for."""
    first = column * len(sums) // columns
    after = max(first + 1, (column + 1) * len(sums) // columns)
    return max(sums[first:after], key=lambda one: one[-1])


def _find_group(sums: Sequence[int], low: float, high: float) -> int:
    """Return the group in the middle of the part of a cell that is filled."""
    level = (low + min(high, sums[-1])) / 2
    for number, total in enumerate(sums):
        if total >= level or total == sums[-1]:
            return number
    return 0


def _find_spans(groups: Sequence[int | None], start: int) -> tuple[tuple[int, int, str], ...]:
    """Return where each run of one group begins and ends."""
    spans = []
    place = start
    for group, run in groupby(groups):
        end = place + len(list(run))
        if group is not None:
            spans.append((place, end, f"group {group}"))
        place = end
    return tuple(spans)
