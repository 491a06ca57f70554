"""What `hlotool outline` answers."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.analysis.outline.rows import OutlineRow
from hlotool.fields import DocumentSpec, RowList

STEPS: Final = RowList(
    "steps",
    OutlineRow,
    "what runs, in the order in which it runs; what holds steps stands before them",
    size="time_share",
    key="number",
    upper_if=("is_upper_bound",),
    limit=0,
)

OUTLINE: Final = DocumentSpec("outline", "a program as it runs", row_lists=(STEPS,))

# Where no chip stands for the backend there are no shares of time: groups have those of traffic.
UNPRICED: Final = replace(
    OUTLINE,
    row_lists=(
        replace(STEPS.showing(STEPS.shown() - {"time_share"}), size="memory_bytes_per_run"),
    ),
)

_CLOCK: Final = ("begins_seconds", "ends_seconds", "exposed_seconds", "estimated_seconds")
_LEFT_OUT: Final = {"flops_per_run", "memory_bytes_per_run", "overlap_flops", "time_share"}

# The same document with the modelled clock among the columns of its table.
ON_CLOCK: Final = replace(
    OUTLINE, row_lists=(STEPS.showing({*STEPS.shown(), *_CLOCK} - _LEFT_OUT),)
)
