"""How long one run takes on a chip: the least time at its peaks, and an estimate of it.

Both are of one device, in seconds. `RunBound` takes work and traffic to overlap in full and leaves
communication aside, so that it is a bound; `RunEstimate` is what the modelled clock of
`hlotool outline` shows at the end, waiting included. Launches and caches are in neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.chips import PRICED_AS_BF16, Chip, list_unstated, weigh_flops
from hlotool.analysis.cost.cost import pair_types
from hlotool.analysis.cost.report import CostReport
from hlotool.table import PERCENT, SECONDS, Block, figure

if TYPE_CHECKING:
    from hlotool.analysis.outline.clock import RunTime

RunLimit: TypeAlias = Literal["compute", "memory"]


class RunBound(Struct, frozen=True, kw_only=True):
    """The least time of one run on a chip at its peaks, communication left aside."""

    chip: Annotated[str, figure("the chip of --chip")]
    limit: Annotated[
        RunLimit | None,
        figure(
            "what takes longer at the chip's peaks, communication left aside (`largest_part` of "
            "run_time counts it); null where what is not known of the other could overturn it"
        ),
    ]
    compute_seconds: Annotated[
        float,
        figure(
            "total_flops_per_run at the chip's matrix peaks: products at that of the type they "
            "compute in, all else at that of bfloat16",
            SECONDS,
            is_summed=True,
            lower_if="is_compute_lower_bound",
        ),
    ]
    memory_seconds: Annotated[
        float,
        figure(
            "memory_bytes_per_run at the bandwidth of its memory, what collectives and copies "
            "beside the work move too; memory_seconds of run_time is what work takes longer for it",
            SECONDS,
            is_summed=True,
            lower_if="is_memory_lower_bound",
        ),
    ]
    least_seconds: Annotated[
        float,
        figure("the longer of the two", SECONDS, is_summed=True, lower_if="is_lower_bound"),
    ]
    is_compute_lower_bound: Annotated[bool, figure("whether some flops are not known")]
    is_memory_lower_bound: Annotated[bool, figure("whether some traffic is not known")]
    is_lower_bound: Annotated[bool, figure("whether either is not known in full")]
    is_upper_bound: Annotated[bool, figure("whether they include work that may not run")]
    priced_as_bf16: Annotated[tuple[str, ...], figure(PRICED_AS_BF16)]


def bound_run(cost: CostReport, chip: Chip) -> RunBound:
    """Hold the figures of a run against the peaks of a chip.

    As of fusions, nothing is said of launches, caches and transcendentals; work and traffic are
    taken to overlap in full. A limit is named only where the time of the other is known in full.
    """
    products = pair_types(cost.product_types, cost.product_flops_per_run)
    weighed = weigh_flops(cost.total_flops_per_run, products, chip)
    compute = weighed / chip.flops_per_second
    memory = cost.memory_bytes_per_run / chip.hbm_bytes_per_second
    limit: RunLimit = "compute" if compute > memory else "memory"
    is_lower = {"compute": cost.is_total_lower_bound, "memory": cost.is_memory_lower_bound}
    other = "memory" if limit == "compute" else "compute"
    return RunBound(
        chip=chip.name,
        limit=None if is_lower[other] else limit,
        compute_seconds=compute,
        memory_seconds=memory,
        least_seconds=max(compute, memory),
        is_compute_lower_bound=is_lower["compute"],
        is_memory_lower_bound=is_lower["memory"],
        is_lower_bound=any(is_lower.values()),
        is_upper_bound=cost.is_upper_bound,
        priced_as_bf16=list_unstated(products, chip),
    )


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
    taken = found.duration
    parts: dict[RunPart, float] = {
        "compute": taken.compute,
        "memory": taken.memory,
        "exposed": taken.exposed,
    }
    part = max(parts, key=parts.__getitem__)
    largest = part if taken.is_known and taken.total else None  # one unknown could be the largest
    return RunEstimate(
        machine=machine,
        estimated_seconds=taken.total,
        memory_seconds=taken.memory,
        exposed_seconds=taken.exposed,
        largest_part=largest,
        largest_share=parts[part] / taken.total if largest else None,
        is_lower_bound=not taken.is_known,
        priced_as_bf16=found.priced_as_bf16,
    )
