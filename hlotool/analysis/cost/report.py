"""The costs of one run of a module: the figures of a summary, and what counts them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.cost import OF_TYPES, TYPES, list_flops, list_types
from hlotool.analysis.cost.model import CostModel
from hlotool.hlo import Module
from hlotool.table import BYTES, COUNT, FLOPS, RATIO, Block, figure

CostScope: TypeAlias = Literal["device", "program", "mixed"]

_PARTITIONED = "_spmd"  # xla/service/spmd names the entry so when it has split it
# What is between these, or in these, has one device's shapes already (shard_map of JAX):
# xla/service/sharding_propagation.cc, and xla/service/spmd/shardy/constants.h.
_MANUAL_CALLS: Final = frozenset(("SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"))
_MANUAL_BODY: Final = "xla.sdy.manual_computation_body"

_FLOPS: Final = "floating-point operations as XLA's cost analysis counts them, without custom calls"
_TOTAL: Final = "all known floating-point operations: flops and custom_call_flops"
_MATRIX: Final = "flops of dots and convolutions alone"
_TRANSCENDENTALS: Final = "exponentials, logarithms and the like, one per element"
_ACCESSED: Final = "bytes read and written as XLA's cost analysis counts them"
_MEMORY: Final = "bytes that cross memory space 0 (HBM on TPU), of a slice what it touches"
_HIDDEN: Final = "operations inside known custom calls"
_UNKNOWN: Final = "custom calls of unknown cost; they make total_flops a lower bound"
_UNKNOWN_TRAFFIC: Final = "custom calls of unknown traffic; they make memory_bytes a lower bound"
_ONCE: Final = "; loop bodies once"
_PER_RUN: Final = "; with trip counts, in one run of the entry"
_LOWER_FLOPS: Final = "is_total_lower_bound"
_LOWER_MEMORY: Final = "is_memory_lower_bound"


class CostReport(Struct, frozen=True, kw_only=True):
    """Figures of the entry: once as XLA's cost analysis, `*_per_run` with trip counts.

    `is_lower_bound` and `is_upper_bound` hold if any of the figures is one; `total_flops` and
    `memory_bytes` are lower bounds too where a custom call is unknown.
    """

    counted_for: Annotated[
        CostScope,
        figure(
            "whether figures are of one device, or of the whole program before partitioning, or "
            "mixed: of that, but for parts written for one device (shard_map), counted once"
        ),
    ]
    total_flops: Annotated[int, figure(_TOTAL + _ONCE, FLOPS, lower_if=_LOWER_FLOPS)]
    flops: Annotated[int, figure(_FLOPS + _ONCE, FLOPS)]
    matrix_flops: Annotated[int, figure(_MATRIX + _ONCE, FLOPS)]
    transcendentals: Annotated[int, figure(_TRANSCENDENTALS + _ONCE, FLOPS)]
    custom_call_flops: Annotated[int, figure(_HIDDEN + _ONCE, FLOPS, lower_if=_LOWER_FLOPS)]
    unknown_custom_call_count: Annotated[int, figure(_UNKNOWN + _ONCE, COUNT)]
    bytes_accessed: Annotated[int, figure(_ACCESSED + _ONCE, BYTES)]
    memory_bytes: Annotated[int, figure(_MEMORY + _ONCE, BYTES, lower_if=_LOWER_MEMORY)]
    unknown_traffic_count: Annotated[int, figure(_UNKNOWN_TRAFFIC + _ONCE, COUNT)]
    total_flops_per_run: Annotated[int, figure(_TOTAL + _PER_RUN, FLOPS, lower_if=_LOWER_FLOPS)]
    flops_per_run: Annotated[int, figure(_FLOPS + _PER_RUN, FLOPS)]
    matrix_flops_per_run: Annotated[int, figure(_MATRIX + _PER_RUN, FLOPS)]
    transcendentals_per_run: Annotated[int, figure(_TRANSCENDENTALS + _PER_RUN, FLOPS)]
    custom_call_flops_per_run: Annotated[
        int, figure(_HIDDEN + _PER_RUN, FLOPS, lower_if=_LOWER_FLOPS)
    ]
    unknown_custom_call_count_per_run: Annotated[int, figure(_UNKNOWN + _PER_RUN, COUNT)]
    product_types: Annotated[tuple[str, ...], figure(f"of total_flops_per_run, {TYPES}")]
    product_flops_per_run: Annotated[tuple[int, ...], figure(f"of total_flops_per_run, {OF_TYPES}")]
    bytes_accessed_per_run: Annotated[int, figure(_ACCESSED + _PER_RUN, BYTES)]
    memory_bytes_per_run: Annotated[int, figure(_MEMORY + _PER_RUN, BYTES, lower_if=_LOWER_MEMORY)]
    unknown_traffic_count_per_run: Annotated[int, figure(_UNKNOWN_TRAFFIC + _PER_RUN, COUNT)]
    flops_per_byte: Annotated[
        float | None,
        figure(
            "total_flops_per_run per byte of memory_bytes_per_run; null where either is a bound",
            RATIO,
        ),
    ]
    is_lower_bound: Annotated[bool, figure("whether a size or a trip count is unknown")]
    is_total_lower_bound: Annotated[
        bool, figure("whether that, or the flops of a custom call, is unknown")
    ]
    is_memory_lower_bound: Annotated[
        bool, figure("whether that, or the traffic of a custom call, is unknown")
    ]
    is_upper_bound: Annotated[bool, figure("whether the figures include work that may not run")]


# Those that a cost has once and per run, by the same names.
_FIGURES: Final = (
    "total_flops", "flops", "matrix_flops", "transcendentals", "custom_call_flops",
    "unknown_custom_call_count", "bytes_accessed", "memory_bytes", "unknown_traffic_count",
)  # fmt: skip

COST: Final = Block("cost", CostReport, "what the module computes", is_nullable=True)


def analyze_cost(module: Module, costs: CostModel) -> CostReport:
    """Add up what the entry costs, per device or, before partitioning, for the whole program.

    `flops`, `transcendentals` and `bytes_accessed` are those of XLA's HloCostAnalysis (loop
    bodies once, the most expensive branch of a conditional, nothing for custom calls).
    `total_flops` add what is known of the arithmetic of custom calls, else the call is counted
    in `unknown_custom_call_count`. `memory_bytes` is the traffic of `measure_memory`.
    `*_per_run` multiplies every loop body and condition by the loop's trip count; an unknown
    one counts once and makes the report a lower bound.
    """
    once = costs.of_computation(module.entry)
    run = costs.of_computation_all_rounds(module.entry)
    is_bound = run.is_total_lower_bound or run.is_memory_lower_bound or run.is_upper_bound
    intensity = run.total_flops / run.memory_bytes if run.memory_bytes and not is_bound else None
    return CostReport(
        counted_for=_choose_scope(module),
        product_types=list_types(run.products),
        product_flops_per_run=list_flops(run.products),
        flops_per_byte=intensity,
        is_lower_bound=run.is_lower_bound,
        is_total_lower_bound=run.is_total_lower_bound,
        is_memory_lower_bound=run.is_memory_lower_bound,
        is_upper_bound=run.is_upper_bound,
        **{name: getattr(once, name) for name in _FIGURES},
        **{f"{name}_per_run": getattr(run, name) for name in _FIGURES},
    )


def _choose_scope(module: Module) -> CostScope:
    """Say whose shapes a module has.

    The partitioner leaves its mark in the entry's name, and only a partitioned module is
    scheduled. Before it, all shapes are those of the whole program, but for manual parts.
    """
    header = module.header
    is_partitioned = header.is_scheduled or module.entry.name.endswith(_PARTITIONED)
    if header.num_partitions in {0, 1} or is_partitioned:
        return "device"
    is_mixed = any(name.startswith(_MANUAL_BODY) for name in module.computations) or any(
        one.opcode == "custom-call" and one.custom_call_target in _MANUAL_CALLS
        for one in module.instructions()
    )
    return "mixed" if is_mixed else "program"
