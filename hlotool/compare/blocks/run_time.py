"""How long would a run take on each side, by estimate?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.analysis.cost.arithmetic import PRICED_AS_BF16
from hlotool.analysis.outline.run_time import RunTime
from hlotool.compare.blocks.columns import LEFT, RIGHT
from hlotool.fields import PERCENT, SECONDS, figure

_TIME = "with --chip: estimated time of one run at the chip's peaks,"
_MEMORY = "part of that time that memory traffic limits,"
_EXPOSED = "part of that time in which work waits for collectives,"


class TimeChange(Struct, frozen=True):
    """The estimated time of one run on both sides, for one chip.

    Without --chip the ratios of the reference chip tell by how much it differs, and no times.
    """

    chip: Annotated[str, figure("the chip of --chip, else the reference chip")]
    left_seconds: Annotated[float | None, figure(_TIME + LEFT, SECONDS)]
    right_seconds: Annotated[float | None, figure(_TIME + RIGHT, SECONDS)]
    relative_delta: Annotated[
        float | None,
        figure("the difference of the times relative to the left", PERCENT, is_signed=True),
    ]
    left_memory_share: Annotated[float | None, figure(_MEMORY + LEFT, PERCENT)]
    right_memory_share: Annotated[float | None, figure(_MEMORY + RIGHT, PERCENT)]
    left_exposed_share: Annotated[float | None, figure(_EXPOSED + LEFT, PERCENT)]
    right_exposed_share: Annotated[float | None, figure(_EXPOSED + RIGHT, PERCENT)]
    is_left_lower_bound: Annotated[bool, figure("whether a part of the left time is unknown")]
    is_right_lower_bound: Annotated[bool, figure("whether a part of the right time is unknown")]
    priced_as_bf16: Annotated[tuple[str, ...], figure(PRICED_AS_BF16)]
    links: Annotated[
        tuple[str, ...], figure("the links that the user states, in place of the chip's")
    ]


def compare_times(left: RunTime | None, right: RunTime | None) -> TimeChange | None:
    """Put two estimates side by side; None where a side has none, or they are of two chips."""
    if left is None or right is None or left.chip != right.chip:
        return None
    here, there = left.duration, right.duration
    is_timed = left.is_timed and right.is_timed
    return TimeChange(
        left.chip,
        here.total if is_timed else None,
        there.total if is_timed else None,
        _part(there.total - here.total, here.total),
        _part(here.memory, here.total),
        _part(there.memory, there.total),
        _part(here.exposed, here.total),
        _part(there.exposed, there.total),
        not here.is_known,
        not there.is_known,
        tuple(dict.fromkeys((*left.priced_as_bf16, *right.priced_as_bf16))),
        tuple(dict.fromkeys((*left.links, *right.links))),
    )


def _part(seconds: float, of_seconds: float) -> float | None:
    return seconds / of_seconds if of_seconds else None
