"""What do all custom calls cost together, and of how many is that unknown?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct

from hlotool.analysis.cost.report import CostReport
from hlotool.analysis.fusions.call_census import CustomCallRow
from hlotool.fields import BYTES, COUNT, FLOPS, PERCENT, SECONDS, figure

_LOWER_FLOPS: Final = "is_flops_lower_bound"
_LOWER_MEMORY: Final = "is_memory_lower_bound"


def _count_of(calls: str) -> Meta:
    return figure(calls, COUNT, is_summed=False)


class CustomCallTotals(Struct, frozen=True, kw_only=True):
    """All custom calls of a module together, unknown trip counts taken as one."""

    call_count: Annotated[int, _count_of("custom calls in executed computations and fusions")]
    distinct_count: Annotated[int, _count_of("rows that they make")]
    computing_count: Annotated[int, _count_of("those that are known to do flops")]
    moving_count: Annotated[int, _count_of("those that are known to move memory")]
    unknown_flops_count: Annotated[int, _count_of("those whose flops nothing tells")]
    unknown_traffic_count: Annotated[int, _count_of("those whose traffic nothing tells")]
    flops_per_run: Annotated[
        int, figure("their known flops in one run of the entry", FLOPS, lower_if=_LOWER_FLOPS)
    ]
    flops_share: Annotated[
        float | None,
        figure("their part of all flops known of the program; null where none are", PERCENT),
    ]
    memory_bytes_per_run: Annotated[
        int,
        figure(
            "their known bytes that cross memory space 0 in one run, fusions left out",
            BYTES,
            lower_if=_LOWER_MEMORY,
        ),
    ]
    estimated_seconds: Annotated[
        float | None,
        figure(
            "with --chip: their estimated time in one run, at the chip's peaks",
            SECONDS,
            lower_if="is_time_lower_bound",
        ),
    ]
    is_flops_lower_bound: Annotated[
        bool, figure("whether a trip count, or the flops of a call, is unknown")
    ]
    is_memory_lower_bound: Annotated[
        bool, figure("whether a trip count, or the traffic of a call, is unknown")
    ]
    is_time_lower_bound: Annotated[bool, figure("whether the time of a call is unknown")]
    is_upper_bound: Annotated[bool, figure("whether something counted may not happen")]


def add_up_calls(rows: Sequence[CustomCallRow], cost: CostReport) -> CustomCallTotals:
    """Add up all custom calls of a module that costs `cost`.

    Calls in all branches of a conditional count, in the share those of the most expensive one.
    """
    times = [row.estimated_seconds for row in rows if row.estimated_seconds is not None]
    hidden, all_flops = cost.custom_call_flops_per_run, cost.total_flops_per_run
    return CustomCallTotals(
        call_count=_count(rows),
        distinct_count=len(rows),
        computing_count=_count(row for row in rows if row.known_flops_per_run),
        moving_count=_count(row for row in rows if row.known_memory_bytes_per_run),
        unknown_flops_count=_count(row for row in rows if row.known is None),
        unknown_traffic_count=_count(row for row in rows if row.memory_known is None),
        flops_per_run=sum(row.known_flops_per_run for row in rows),
        flops_share=hidden / all_flops if all_flops else None,
        memory_bytes_per_run=sum(row.known_memory_bytes_per_run for row in rows),
        estimated_seconds=sum(times) if times else None,
        is_flops_lower_bound=any(row.flops_per_run is None for row in rows),
        is_memory_lower_bound=any(row.memory_bytes_per_run is None for row in rows),
        is_time_lower_bound=bool(times) and len(times) < len(rows),
        is_upper_bound=any(row.is_conditional or row.is_upper_bound for row in rows),
    )


def _count(rows: Iterable[CustomCallRow]) -> int:
    return sum(row.count for row in rows)
