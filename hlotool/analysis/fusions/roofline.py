"""How long would fusions take on a chip that reached its peaks? An estimate, and a lower bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.memory_traffic import MAIN_SPACE
from hlotool.analysis.fusions.rows import Bound, FusionRow

_VMEM: Final = 1  # the memory space of TPU's vector memory


def estimate_fusion_times(rows: Iterable[FusionRow], chip: Chip) -> tuple[FusionRow, ...]:
    """Set `bound` and `estimated_seconds` of every row, for all its executions in one run.

    A fusion takes the longest of `flops` at the chip's bfloat16 matrix peak and of the bytes of
    each memory space at its bandwidth; a space whose bandwidth nobody states limits nothing.
    Nothing is said of launch latency, of caches, of element types that compute slower, nor of
    transcendentals and custom calls, which have no flops. None where the executions are unknown.
    """
    bandwidths: dict[int, tuple[Bound, float]] = {MAIN_SPACE: ("memory", chip.hbm_bytes_per_second)}
    if chip.vmem_bytes_per_second is not None:
        bandwidths[_VMEM] = ("vmem", chip.vmem_bytes_per_second)
    return tuple(_estimate(row, chip, bandwidths) for row in rows)


def _estimate(
    row: FusionRow, chip: Chip, bandwidths: Mapping[int, tuple[Bound, float]]
) -> FusionRow:
    times: dict[Bound, float] = {"memory": row.memory_bytes / chip.hbm_bytes_per_second}
    for space, size in row.memory_bytes_by_space:
        if space in bandwidths:
            bound, bytes_per_second = bandwidths[space]
            times[bound] = size / bytes_per_second
    times["compute"] = row.flops / chip.flops_per_second
    bound = max(times, key=lambda name: times[name])
    seconds = times[bound]
    return replace(
        row,
        bound=bound if seconds else None,
        estimated_seconds=None if row.executions is None else seconds * row.executions,
    )
