"""What is said of one step of an outline?"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.outline.own import OwnFigures
from hlotool.analysis.outline.steps import StepKind
from hlotool.fields import BYTES, COUNT, FLOPS, NUMBER, PERCENT, SECONDS, TIMES, column, figure

_LOWER_FLOPS: Final = "is_flops_lower_bound"
_LOWER_MEMORY: Final = "is_memory_lower_bound"


class OutlineRow(Struct, frozen=True, kw_only=True):
    """One step. Figures are of all its executions in one run, and include the steps inside.

    Several steps come to what `own` has of each: what stands in another counts once.
    """

    step: Annotated[
        str,
        column(
            "what runs: loops with their rounds, what work consists of, what a collective moves",
            indent_by="depth",
            wants=36,
        ),
    ]
    count: Annotated[
        int,
        column("steps alike in a row that it stands for", TIMES, heading="×", is_exact=True),
    ]
    kind: Annotated[
        StepKind,
        figure(
            "loop, conditional, branch or call, which hold steps; repeat: steps that stand in a "
            "row several times; collective; wait: the end of a collective, or of a copy that work "
            "waits for; compute; memory: work without arithmetic"
        ),
    ]
    time_share: Annotated[
        float | None,
        column(
            "estimated share of the time of all work, at the chip's peaks, else at the ratios of "
            "the reference chip; null for what does no work, and where there is none",
            PERCENT,
            heading="of work",
            null_text="",
            is_summed=True,
            joint_from="own.share",
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time of its work, and of waiting for memory, at the peaks",
            SECONDS,
            null_text="",
            is_summed=True,
            joint_from="own.seconds",
        ),
    ]
    begins_seconds: Annotated[
        float | None,
        figure(
            "with --chip: when the first of them begins on the modelled clock, in the first round "
            "of what holds it",
            SECONDS,
            heading="begins",
            null_text="",
        ),
    ]
    ends_seconds: Annotated[
        float | None,
        figure(
            "with --chip: when the last of them ends there", SECONDS, heading="ends", null_text=""
        ),
    ]
    exposed_seconds: Annotated[
        float | None,
        figure(
            "with --chip: estimated time in one run in which work waits for its collectives",
            SECONDS,
            heading="gap/run",
            null_text="",
            is_summed=True,
            joint_from="own.exposed_seconds",
        ),
    ]
    flops_per_run: Annotated[
        int | None,
        column(
            "floating-point operations, known ones of custom calls too",
            FLOPS,
            null_text="",
            lower_if=_LOWER_FLOPS,
            joint_from="own.flops",
            give_way=3,
        ),
    ]
    memory_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes that its work moves across memory space 0; what collectives, and copies beside "
            "the work, move is in the figures of summary and show alone",
            BYTES,
            heading="memory/run",
            null_text="",
            lower_if=_LOWER_MEMORY,
            joint_from="own.memory_bytes",
            give_way=2,
        ),
    ]
    wire_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes a device sends; of what holds steps, the known ones of all in it",
            BYTES,
            heading="wire/run",
            null_text="",
            joint_from="own.wire_bytes",
            give_way=1,
        ),
    ]
    exposed_share: Annotated[
        float | None,
        column(
            "estimated part of those bytes that no work scheduled meanwhile hides, 0 to 1; null "
            "where nobody knows",
            PERCENT,
            heading="exposed",
            null_text="",
        ),
    ]
    overlap_flops: Annotated[
        int | None,
        column(
            "of a collective: flops computed until it is done, in one execution; null if it is "
            "synchronous",
            FLOPS,
            heading="flops meanwhile",
            null_text="",
            is_summed=False,
            give_way=5,
        ),
    ]
    executions: Annotated[
        int | None,
        figure(
            "how often each of them runs in one run; null under a loop of unknown trip count",
            COUNT,
            is_summed=False,
        ),
    ]
    scope: Annotated[
        str | None,
        column("what the module paths of its instructions share", is_path=True, null_text=""),
    ]
    number: Annotated[int, figure("place in the list, from 0", NUMBER)]
    parent: Annotated[
        int | None, figure("number of the step that holds it; null for the entry's", NUMBER)
    ]
    depth: Annotated[int, figure("steps that hold it", NUMBER)]
    names: Annotated[tuple[str, ...], figure("the instructions, in schedule order")]
    is_shown_elsewhere: Annotated[
        bool, figure("whether what it runs is listed where it runs first, or is too deep")
    ]
    is_flops_lower_bound: Annotated[bool, figure("whether the flops of something are unknown")]
    is_memory_lower_bound: Annotated[bool, figure("whether the traffic of something is unknown")]
    is_upper_bound: Annotated[bool, figure("whether a branch that may not be taken is counted")]
    own: OwnFigures
