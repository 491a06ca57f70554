"""Which figures come from a profile? Rows of several answers have these alike."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from hlotool.fields import COUNT, SECONDS, figure

MeasuredCount: TypeAlias = Annotated[
    int | None,
    figure(
        "from a profile: how often it ran there, in all runs on all devices; null if never",
        COUNT,
        heading="measured",
        null_text="",
        is_exact=True,
    ),
]
MeasuredSeconds: TypeAlias = Annotated[
    float | None,
    figure(
        "from a profile: time of all its executions in one run on one device, the mean of those "
        "profiled; null if it did not run there",
        SECONDS,
        heading="measured/run",
        null_text="",
        is_summed=True,
    ),
]
MeasuredExposedSeconds: TypeAlias = Annotated[
    float | None,
    figure(
        "the part of measured_seconds in which nothing but collectives ran on the device",
        SECONDS,
        heading="measured exposed",
        null_text="",
        is_summed=True,
    ),
]
