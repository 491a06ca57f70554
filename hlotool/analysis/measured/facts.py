"""How often did a profiler see the program run, and how long did that take?"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.fields import COUNT, SECONDS, Block, figure
from hlotool.ir.measurement import Measurement


class MeasuredFacts(Struct, frozen=True):
    """The runs of a program in a profile."""

    device_count: Annotated[int, figure("devices on which it ran", COUNT)]
    run_count: Annotated[
        int | None,
        figure("its runs on all devices together; null where nothing tells them apart", COUNT),
    ]
    run_seconds: Annotated[
        float | None,
        figure(
            "mean time of a run on a device, from its begin to its end; null where the profile "
            "tells of instructions alone",
            SECONDS,
        ),
    ]


MEASURED: Final = Block(
    "measured", MeasuredFacts, "what a profile says of its runs; null without one", is_nullable=True
)


def describe_runs(measured: Measurement | None) -> MeasuredFacts | None:
    """Return what is known of the runs, None without a profile that has any."""
    if measured is None:
        return None
    return MeasuredFacts(
        measured.device_count, measured.run_count, measured.mean(measured.run_seconds)
    )
