"""What does one run of a module cost? The figures of a summary."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.executions import Executions
from hlotool.fields import BYTES, COUNT, FLOPS, Block, figure
from hlotool.ir.module import Module

CostScope: TypeAlias = Literal["device", "program"]

_PARTITIONED = "_spmd"  # xla/service/spmd names the entry so when it has split it


_FLOPS: Final = "floating-point operations as XLA's cost analysis counts them"
_MATRIX: Final = "flops of dots and convolutions alone"
_TRANSCENDENTALS: Final = "exponentials, logarithms and the like, one per element"
_ACCESSED: Final = "bytes read and written"
_HIDDEN: Final = "operations inside known custom calls; not included in flops"
_UNKNOWN: Final = "custom calls of unknown cost; they make the other figures lower bounds"
_ONCE: Final = "; loop bodies once"
_PER_RUN: Final = "; with trip counts, in one run of the entry"


class CostReport(Struct, frozen=True):
    """Figures of the entry: once as XLA's cost analysis, `*_per_run` with trip counts.

    `is_lower_bound` and `is_upper_bound` hold if any of the figures is one.
    """

    scope: Annotated[
        CostScope,
        figure("whether figures are of one device, or of the whole program before partitioning"),
    ]
    flops: Annotated[int, figure(_FLOPS + _ONCE, FLOPS)]
    matrix_flops: Annotated[int, figure(_MATRIX + _ONCE, FLOPS)]
    transcendentals: Annotated[int, figure(_TRANSCENDENTALS + _ONCE, FLOPS)]
    bytes_accessed: Annotated[int, figure(_ACCESSED + _ONCE, BYTES)]
    custom_call_flops: Annotated[int, figure(_HIDDEN + _ONCE, FLOPS)]
    unknown_custom_call_count: Annotated[int, figure(_UNKNOWN + _ONCE, COUNT)]
    flops_per_run: Annotated[int, figure(_FLOPS + _PER_RUN, FLOPS)]
    matrix_flops_per_run: Annotated[int, figure(_MATRIX + _PER_RUN, FLOPS)]
    transcendentals_per_run: Annotated[int, figure(_TRANSCENDENTALS + _PER_RUN, FLOPS)]
    bytes_accessed_per_run: Annotated[int, figure(_ACCESSED + _PER_RUN, BYTES)]
    custom_call_flops_per_run: Annotated[int, figure(_HIDDEN + _PER_RUN, FLOPS)]
    unknown_custom_call_count_per_run: Annotated[int, figure(_UNKNOWN + _PER_RUN, COUNT)]
    is_lower_bound: Annotated[bool, figure("whether the figures leave out an unknown part")]
    is_upper_bound: Annotated[bool, figure("whether the figures include work that may not run")]


COST: Final = Block("cost", CostReport, "what the module computes", is_nullable=True)


def analyze_cost(module: Module, executions: Executions, costs: CostModel) -> CostReport:
    """Add up what the entry costs, per device or, before partitioning, for the whole program.

    `flops`, `transcendentals` and `bytes_accessed` are those of XLA's HloCostAnalysis (loop
    bodies once, the most expensive branch of a conditional). `*_per_run` multiplies every
    loop body and condition by the loop's trip count; an unknown one counts once and makes
    the report a lower bound. So does a custom call: XLA gives it no flops and no bytes. What
    is known of its arithmetic stands in `custom_call_flops`, else the call is counted in
    `unknown_custom_call_count`.
    """
    once = costs.of_computation(module.entry)
    trips = {loop.instruction: loop.trip_count for loop in executions.loops}
    run = costs.with_trip_counts(module.entry, trips) if trips else once
    return CostReport(
        "program" if _is_whole_program(module) else "device",
        once.flops,
        once.matrix_flops,
        once.transcendentals,
        once.bytes_accessed,
        once.custom_call_flops,
        once.unknown_custom_call_count,
        run.flops,
        run.matrix_flops,
        run.transcendentals,
        run.bytes_accessed,
        run.custom_call_flops,
        run.unknown_custom_call_count,
        run.is_lower_bound,
        run.is_upper_bound,
    )


def _is_whole_program(module: Module) -> bool:
    """Whether the module is not partitioned yet, so that its shapes are those of all devices.

    The partitioner leaves its mark in the entry's name; only a partitioned module is
    scheduled.
    """
    header = module.header
    is_partitioned = header.is_scheduled or module.entry.name.endswith(_PARTITIONED)
    return header.num_partitions > 1 and not is_partitioned
