"""How many bytes are in use at every position, and where are the highest separate peaks?"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.memory.curve import Curve
from hlotool.fields import BYTES, NUMBER, column

# A peak is separate from a higher one if memory falls by a tenth of it in between.
SEPARATING_PART: Final = 10


class TimelineRow(Struct, frozen=True):
    """What is in use at one position, while `instruction` runs; it is None after the last."""

    position: Annotated[int, column("position in the schedule", NUMBER)]
    bytes: Annotated[int, column("bytes in use", BYTES, heading="in use", is_summed=False)]
    instruction: Annotated[
        str | None, column("the instruction that runs there; null after the last")
    ]


def timeline(curve: Curve, sequence: tuple[str, ...]) -> list[TimelineRow]:
    """Return the bytes in use at every position, 0 to the sequence's length."""
    rows = []
    level = place = 0
    positions, levels = curve.positions, curve.levels
    for position in range(len(sequence) + 1):
        while place < len(positions) and positions[place] <= position:
            level = levels[place]
            place += 1
        rows.append(_row(position, level, sequence))
    return rows


def find_peaks(curve: Curve, sequence: tuple[str, ...], count: int) -> list[TimelineRow]:
    """Return the highest `count` separate peaks, highest first.

    A peak is a position that memory rises to and falls from; it is separate if, on the way
    to any higher one, memory falls by at least a tenth of it. Of equal peaks, the earlier
    counts as higher.
    """
    levels = curve.levels
    left = _saddles(levels, may_equal=True)
    right = _saddles(levels[::-1], may_equal=False)[::-1]
    found = []
    for place, level in enumerate(levels):
        saddles = [saddle for saddle in (left[place], right[place]) if saddle is not None]
        saddle = max(saddles, default=0)
        if level and (level - saddle) * SEPARATING_PART >= level:
            found.append(place)
    found.sort(key=lambda place: (-levels[place], place))
    return [_row(curve.positions[place], levels[place], sequence) for place in found[:count]]


def _row(position: int, level: int, sequence: tuple[str, ...]) -> TimelineRow:
    return TimelineRow(position, level, sequence[position] if position < len(sequence) else None)


def _saddles(levels: tuple[int, ...], *, may_equal: bool) -> list[int | None]:
    """Return, for each level, the lowest level on the way left to the nearest higher one.

    None where no higher one is there; `may_equal` lets an equal one count as higher.
    """
    saddles: list[int | None] = []
    stack: list[tuple[int, int]] = []  # (level, lowest since the one below it on the stack)
    for level in levels:
        lowest = level
        while stack and (stack[-1][0] < level or (stack[-1][0] == level and not may_equal)):
            lowest = min(lowest, stack.pop()[1])
        saddles.append(lowest if stack else None)
        stack.append((level, lowest))
    return saddles
