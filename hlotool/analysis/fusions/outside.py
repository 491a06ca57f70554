"""How much of the measured time lies outside fusions, where their list does not show it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.measured.instructions import MeasuredInstruction
from hlotool.fields import PERCENT, SECONDS, Block, figure


class OutsideFusions(Struct, frozen=True):
    """The measured time of what is no fusion, in one run on one device."""

    measured_seconds: Annotated[
        float, figure("time of all instructions that are no fusions, in one run", SECONDS)
    ]
    share: Annotated[
        float, figure("its share of the time of all instructions, fusions too", PERCENT)
    ]
    longest: Annotated[str | None, figure("the instruction that takes most of it; null if none")]
    longest_seconds: Annotated[
        float | None, figure("how long that takes in one run; null if there is none", SECONDS)
    ]


OUTSIDE: Final = Block(
    "outside",
    OutsideFusions,
    "with a profile: what was measured outside fusions; null where runs are unknown",
    is_optional=True,
    is_nullable=True,
)


def measure_outside(rows: Iterable[MeasuredInstruction]) -> OutsideFusions | None:
    """Add up what took time outside fusions; None where no time of a run is known.

    Of `rank_instructions`, so that no time counts twice. What runs side by side is added up.
    """
    timed = [(row, row.measured_seconds) for row in rows if row.measured_seconds is not None]
    total = sum(seconds for _, seconds in timed)
    if not total:
        return None
    outside = [(row, seconds) for row, seconds in timed if row.opcode != "fusion"]
    longest, longest_seconds = max(outside, key=lambda each: each[1], default=(None, None))
    seconds = sum(each for _, each in outside)
    return OutsideFusions(
        seconds, seconds / total, longest.name if longest else None, longest_seconds
    )
