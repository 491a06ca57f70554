"""Does a memory-usage report agree with the buffer assignment beside it?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.ir.buffers import BufferAssignment
from hlotool.ir.usage_report import UsageReport


class Disagreement(Struct, frozen=True):
    """A space, None for all, whose totals differ."""

    space: int | None
    reported_bytes: int
    assigned_bytes: int


def compare_totals(report: UsageReport, assignment: BufferAssignment) -> tuple[Disagreement, ...]:
    """Return the spaces in which the allocations do not add up to the report's total.

    Both count every allocation, thread-local ones and constants included; both are exact.
    """
    found = []
    for space in report.spaces:
        assigned = sum(
            each.size_bytes
            for each in assignment.allocations
            if space.color is None or each.color == space.color
        )
        if assigned != space.total_bytes:
            found.append(Disagreement(space.color, space.total_bytes, assigned))
    return tuple(found)
