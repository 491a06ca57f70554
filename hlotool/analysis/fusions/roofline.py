"""How long would fusions take on a chip that reached its peaks? An estimate, and a lower bound."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.fusions.rows import FusionRow


def estimate_fusion_times(rows: Iterable[FusionRow], chip: Chip) -> tuple[FusionRow, ...]:
    """Set `bound` and `estimated_seconds` of every row, for all its executions in one run.

    A fusion takes the longer of `flops` at the chip's bfloat16 matrix peak and
    `bytes_accessed` at its memory's. Nothing is said of launch latency, of caches, of
    element types that compute slower, nor of transcendentals and custom calls, which have
    no flops. None where the executions are unknown.
    """
    return tuple(_estimate(row, chip) for row in rows)


def _estimate(row: FusionRow, chip: Chip) -> FusionRow:
    compute_seconds = row.flops / chip.flops_per_second
    memory_seconds = row.bytes_accessed / chip.hbm_bytes_per_second
    seconds = max(compute_seconds, memory_seconds)
    return replace(
        row,
        bound="compute" if compute_seconds > memory_seconds else "memory",
        estimated_seconds=None if row.executions is None else seconds * row.executions,
    )
