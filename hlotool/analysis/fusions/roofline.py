"""How long would fusions and calls take on a chip at its peaks? An estimate, a lower bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.cost.arithmetic import weigh_flops
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.memory_traffic import MAIN_SPACE
from hlotool.analysis.cost.products import pair_types
from hlotool.analysis.fusions.call_census import CustomCallRow
from hlotool.analysis.fusions.report import FusionReport
from hlotool.analysis.fusions.rows import Bound, FusionRow

_VMEM: Final = 1  # the memory space of TPU's vector memory


def estimate_fusions(found: FusionReport, chip: Chip) -> FusionReport:
    """Set the estimates of a report: those of its rows, and in `totals` their sum.

    The sum leaves out the rows without one, whose executions are unknown; `totals` is a lower
    bound then.
    """
    rows = estimate_fusion_times(found.rows, chip)
    times = [row.estimated_seconds for row in rows if row.estimated_seconds is not None]
    total = sum(times) if times or not rows else None
    return FusionReport(replace(found.totals, estimated_seconds=total), rows)


def estimate_fusion_times(rows: Iterable[FusionRow], chip: Chip) -> tuple[FusionRow, ...]:
    """Set `bound` and `estimated_seconds` of every row, for all its executions in one run.

    A fusion takes the longest of `flops` at the chip's matrix peaks, by the types that products
    compute in, and of the bytes of each memory space at its bandwidth; a space whose bandwidth
    nobody states limits nothing. Nothing is said of launch latency, of caches, nor of
    transcendentals and custom calls, which have no flops. None where the executions are unknown.
    """
    bandwidths: dict[int, tuple[Bound, float]] = {MAIN_SPACE: ("memory", chip.hbm_bytes_per_second)}
    if chip.vmem_bytes_per_second is not None:
        bandwidths[_VMEM] = ("vmem", chip.vmem_bytes_per_second)
    return tuple(_estimate(row, chip, bandwidths) for row in rows)


def estimate_call_times(rows: Iterable[CustomCallRow], chip: Chip) -> tuple[CustomCallRow, ...]:
    """Set `estimated_seconds` of every row of the census, as of fusions.

    Flops and space 0 alone are known of calls. None where either is unknown.
    """
    return tuple(replace(row, estimated_seconds=_estimate_calls(row, chip)) for row in rows)


def _estimate_calls(row: CustomCallRow, chip: Chip) -> float | None:
    if row.flops_per_run is None or row.memory_bytes_per_run is None:
        return None
    products = pair_types(row.product_types, row.product_flops_per_run)
    return max(
        weigh_flops(row.flops_per_run, products, chip) / chip.flops_per_second,
        row.memory_bytes_per_run / chip.hbm_bytes_per_second,
    )


def _estimate(
    row: FusionRow, chip: Chip, bandwidths: Mapping[int, tuple[Bound, float]]
) -> FusionRow:
    times: dict[Bound, float] = {"memory": row.memory_bytes / chip.hbm_bytes_per_second}
    for space, size in row.memory_bytes_by_space:
        if space in bandwidths:
            bound, bytes_per_second = bandwidths[space]
            times[bound] = size / bytes_per_second
    products = pair_types(row.product_types, row.product_flops)
    times["compute"] = weigh_flops(row.flops, products, chip) / chip.flops_per_second
    bound = max(times, key=lambda name: times[name])
    seconds = times[bound]
    return replace(
        row,
        bound=bound if seconds else None,
        estimated_seconds=None if row.executions is None else seconds * row.executions,
    )
