"""What limits a run on a chip: its arithmetic or its memory?"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.report import CostReport
from hlotool.fields import SECONDS, figure

RunLimit: TypeAlias = Literal["compute", "memory"]


class RunBound(Struct, frozen=True):
    """The least time of one run on a chip at its peaks, communication left aside."""

    chip: Annotated[str, figure("the chip of --chip")]
    limit: Annotated[RunLimit, figure("what takes longer at the chip's peaks")]
    compute_seconds: Annotated[
        float, figure("total_flops_per_run at the chip's bfloat16 matrix peak", SECONDS)
    ]
    memory_seconds: Annotated[
        float, figure("memory_bytes_per_run at the bandwidth of its memory", SECONDS)
    ]
    least_seconds: Annotated[float, figure("the longer of the two", SECONDS)]


def bound_run(cost: CostReport, chip: Chip) -> RunBound:
    """Hold the figures of a run against the peaks of a chip.

    As of fusions, nothing is said of launches, caches, element types that compute slower and
    transcendentals; work and traffic are taken to overlap in full.
    """
    compute = cost.total_flops_per_run / chip.flops_per_second
    memory = cost.memory_bytes_per_run / chip.hbm_bytes_per_second
    limit: RunLimit = "compute" if compute > memory else "memory"
    return RunBound(chip.name, limit, compute, memory, max(compute, memory))
