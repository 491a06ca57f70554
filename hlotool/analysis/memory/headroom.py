"""Does the program fit into the memory of a device?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.analysis.memory.report import MemoryReport
from hlotool.fields import BYTES, figure


class Headroom(Struct, frozen=True):
    """Space 0 against a limit; None in an estimate, which says nothing of allocations."""

    limit_bytes: Annotated[int, figure("the limit given with --hbm", BYTES)]
    allocated_bytes: Annotated[int | None, figure("bytes reserved in space 0", BYTES)]
    headroom_bytes: Annotated[
        int | None, figure("what is left; negative where it does not fit", BYTES, is_signed=True)
    ]
    fits: Annotated[bool | None, figure("whether it fits")]


def measure_headroom(report: MemoryReport, limit_bytes: int) -> Headroom:
    """Compare what space 0 reserves with a limit; the program's code is not in a dump."""
    allocated = report.figures.totals.allocated_bytes
    left = None if allocated is None else limit_bytes - allocated
    return Headroom(limit_bytes, allocated, left, None if left is None else left >= 0)
