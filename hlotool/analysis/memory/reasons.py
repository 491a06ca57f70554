"""Why a large value is there at the peak, or is so large: padding, and the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow

_LEAST_SHARE: Final = 0.05  # of what is in use, of a value that is worth a sentence
_LEAST_FACTOR: Final = 2
_MOST: Final = 8  # values, the largest


def find_padded(rows: Sequence[BufferRow]) -> BufferRow | None:
    """Return the value that most is added to by padding, if that at least doubles it."""
    found = [row for row in _list_large(rows) if (row.padding_factor or 0) >= _LEAST_FACTOR]
    return max(found, key=lambda row: row.padding_bytes or 0, default=None)


def find_kept(report: MemoryReport, rows: Sequence[BufferRow]) -> BufferRow | None:
    """Return the largest value that the forward pass makes and the backward pass uses."""
    large = [row for row in _list_large(rows) if row.allocation_type == "temp"]
    kept = (row for row in large if report.origins.is_kept(row.instruction, row.index or ()))
    return next(kept, None)


def _list_large(rows: Sequence[BufferRow]) -> list[BufferRow]:
    """List the values with a good part of what is in use."""
    whole = sum(row.live_bytes or 0 for row in rows)
    return [row for row in rows[:_MOST] if (row.live_bytes or 0) >= max(1, _LEAST_SHARE * whole)]
