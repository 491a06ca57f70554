"""How long does one run take on a chip, as a figure that budgets and diffs can name?"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.arithmetic import PRICED_AS_BF16
from hlotool.analysis.outline.duration import Duration
from hlotool.analysis.outline.run_time import RunTime
from hlotool.fields import PERCENT, SECONDS, Block, figure

RunPart: TypeAlias = Literal["compute", "memory", "exposed"]


class RunEstimate(Struct, frozen=True, kw_only=True):
    """The estimated time of one run, and of its parts."""

    machine: Annotated[str, figure("what is known of the machine that it is estimated for")]
    estimated_seconds: Annotated[
        float,
        figure(
            "estimated time of one run, rough: all steps at the chip's peaks, and what no work "
            "hides of collectives",
            SECONDS,
            is_summed=True,
            lower_if="is_lower_bound",
        ),
    ]
    memory_seconds: Annotated[
        float,
        figure(
            "the part that memory traffic limits, waiting for copies too; what memory moves while "
            "arithmetic or a link takes longer is not in it, but in memory_seconds of bound",
            SECONDS,
        ),
    ]
    exposed_seconds: Annotated[
        float, figure("the part in which work waits for collectives", SECONDS)
    ]
    largest_part: Annotated[
        RunPart | None,
        figure(
            "what most of it goes to: work that arithmetic limits, work that memory does, waiting "
            "for collectives; null where a part is unknown, as that could be the largest"
        ),
    ]
    largest_share: Annotated[float | None, figure("the part of it that this takes", PERCENT)]
    is_lower_bound: Annotated[bool, figure("whether a part of it is unknown")]
    priced_as_bf16: Annotated[tuple[str, ...], figure(PRICED_AS_BF16)]


RUN_TIME: Final = Block(
    "run_time",
    RunEstimate,
    "with --chip: how long one run takes by estimate; null where the text is no schedule",
    is_optional=True,
    is_nullable=True,
)


def describe_run_time(found: RunTime | None, machine: str) -> RunEstimate | None:
    """Return the figures of an estimate, None where there is none, or no chip was named."""
    if found is None or not found.is_timed:
        return None
    part, share = _find_largest(found.duration)
    return RunEstimate(
        machine=machine,
        estimated_seconds=found.duration.total,
        memory_seconds=found.duration.memory,
        exposed_seconds=found.duration.exposed,
        largest_part=part,
        largest_share=share,
        is_lower_bound=not found.duration.is_known,
        priced_as_bf16=found.priced_as_bf16,
    )


def _find_largest(found: Duration) -> tuple[RunPart, float] | tuple[None, None]:
    """Return the part that takes most of a run, and its share; None where nobody knows."""
    if not (found.is_known and found.total):
        return None, None
    parts: dict[RunPart, float] = {
        "compute": found.compute,
        "memory": found.memory,
        "exposed": found.exposed,
    }
    part = max(parts, key=parts.__getitem__)
    return part, parts[part] / found.total
