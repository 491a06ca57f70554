"""Which memory spaces hold more or less?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.graph.space_names import SPACE_NAMES
from hlotool.analysis.memory.figures import MemoryFigures, SpaceRow
from hlotool.compare.blocks.columns import LEFT, RIGHT
from hlotool.fields import BYTES, NUMBER, column

_PEAK: Final = "the most in use at once"
_ALLOCATED: Final = "bytes reserved"


class SpaceChange(Struct, frozen=True):
    """A memory space whose figures differ; a side that does not use it has 0 of all.

    Null where nothing says when its values are live.
    """

    space: Annotated[int, column("number of the memory space", NUMBER)]
    name: Annotated[
        str | None, column("the backend's name for it", null_text="", words=SPACE_NAMES)
    ]
    left_peak_bytes: Annotated[
        int | None, column(_PEAK + LEFT, BYTES, heading="old peak", give_way=1)
    ]
    right_peak_bytes: Annotated[
        int | None, column(_PEAK + RIGHT, BYTES, heading="new peak", give_way=1)
    ]
    delta_peak_bytes: Annotated[
        int | None, column("right minus left", BYTES, heading="difference", is_signed=True)
    ]
    left_allocated_bytes: Annotated[
        int | None, column(_ALLOCATED + LEFT, BYTES, heading="old allocated", give_way=2)
    ]
    right_allocated_bytes: Annotated[
        int | None, column(_ALLOCATED + RIGHT, BYTES, heading="new allocated", give_way=2)
    ]
    delta_allocated_bytes: Annotated[
        int | None,
        column("right minus left", BYTES, heading="allocated difference", is_signed=True),
    ]


_TELLING: Final = 1000  # times as much hides a change from a sentence
_MOST: Final = 1_000_000  # and so does a peak so many times as high


_UNUSED: Final = SpaceRow(peak_bytes=0, allocated_bytes=0)


def compare_spaces(left: MemoryFigures, right: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Keep the spaces in which bytes differ; the largest difference comes first."""
    changed = [row for row in list_spaces(left, right) if _weigh(row)]
    return tuple(sorted(changed, key=_weigh, reverse=True))


def list_spaces(left: MemoryFigures, right: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Put peak and allocated bytes of each space side by side."""
    here, there = ({row.space: row for row in side.spaces} for side in (left, right))
    return tuple(
        _compare(space, here.get(space, _UNUSED), there.get(space, _UNUSED))
        for space in sorted({*here, *there})
    )


def pick_telling(
    spaces: Sequence[SpaceChange], peaks: Iterable[int | float | None]
) -> tuple[SpaceChange, ...]:
    """Keep the other spaces than 0 whose peak changed by what is worth a word beside all else.

    That is a thousandth of the largest change of any space, and a millionth of the highest of
    `peaks`, those of space 0, which has no row where nothing of it changed.
    """
    largest = max((abs(row.delta_peak_bytes or 0) for row in spaces), default=0)
    highest = max((peak for peak in peaks if peak), default=0)
    least = max(largest / _TELLING, highest / _MOST)
    return tuple(
        row
        for row in spaces
        if row.space and row.delta_peak_bytes and abs(row.delta_peak_bytes) >= least
    )


def _compare(space: int, left: SpaceRow, right: SpaceRow) -> SpaceChange:
    return SpaceChange(
        space,
        right.name or left.name,
        left.peak_bytes,
        right.peak_bytes,
        _subtract(right.peak_bytes, left.peak_bytes),
        left.allocated_bytes,
        right.allocated_bytes,
        _subtract(right.allocated_bytes, left.allocated_bytes),
    )


def _subtract(right: int | None, left: int | None) -> int | None:
    return None if left is None or right is None else right - left


def _weigh(row: SpaceChange) -> int:
    return max(abs(row.delta_peak_bytes or 0), abs(row.delta_allocated_bytes or 0))
