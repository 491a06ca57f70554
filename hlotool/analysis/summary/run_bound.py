"""What limits a run on a chip: its arithmetic or its memory?"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.arithmetic import PRICED_AS_BF16, list_unstated, weigh_flops
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.products import pair_types
from hlotool.analysis.cost.report import CostReport
from hlotool.fields import SECONDS, figure

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
