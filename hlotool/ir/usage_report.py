"""What does a memory-usage report of XLA say? Its totals are exact, most other sizes rounded."""

from __future__ import annotations

from msgspec import Struct


class ReportedSlot(Struct, frozen=True):
    """Values that begin at one offset of an allocation; the size is that of the largest."""

    size_bytes: int
    offset: int
    value_count: int
    shapes: str


class ReportedAllocation(Struct, frozen=True):
    """An allocation; None where the form of the report does not say."""

    color: int
    number: int | None = None
    size_bytes: int | None = None
    description: str | None = None
    slots: tuple[ReportedSlot, ...] = ()
    left_out_count: int = 0  # values that the report does not list


class ReportedSpace(Struct, frozen=True):
    """The total of a memory space; `color` is None for that of all spaces."""

    color: int | None
    name: str | None
    total_bytes: int


class UsageReport(Struct, frozen=True):
    """A report, in its order."""

    spaces: tuple[ReportedSpace, ...]
    allocations: tuple[ReportedAllocation, ...]
