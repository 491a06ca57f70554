"""Which rows has a memory-usage report?

Does a memory-usage report agree with the buffer assignment beside it?
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.hlo.buffers import BufferAssignment
from hlotool.oom.usage_report import ReportedAllocation, UsageReport
from hlotool.table import BYTES, COUNT, NUMBER, Block, DocumentSpec, RowList, column, figure


class SpaceTotal(Struct, frozen=True):
    """The total of a memory space, which XLA writes exactly."""

    space: Annotated[int | None, column("number of the memory space; null for all", NUMBER)]
    name: Annotated[str | None, column("XLA's name for it", null_text="")]
    total_bytes: Annotated[
        int, column("bytes of its allocations, thread-local ones too", BYTES, heading="total")
    ]


class ReportedAllocationRow(Struct, frozen=True):
    """An allocation; null where the form of the report does not say."""

    place: Annotated[int, column("its place in the report, from 1", NUMBER)]
    allocation: Annotated[int | None, column("its number", NUMBER)]
    space: Annotated[int, column("number of the memory space", NUMBER)]
    size_bytes: Annotated[
        int | None, column("its size; rounded where the report is a text", BYTES, heading="size")
    ]
    used_bytes: Annotated[
        int | None, column("where the last listed slot ends", BYTES, heading="used to")
    ]
    slot_count: Annotated[int, column("offsets at which values begin", COUNT, heading="slots")]
    value_count: Annotated[int, column("listed values", COUNT, heading="values")]
    left_out_count: Annotated[
        int, column("values that the report leaves out", COUNT, heading="left out")
    ]
    description: Annotated[
        str | None, column("what the report says of it", heading="what", null_text="")
    ]


class SlotRow(Struct, frozen=True):
    """Values that begin at one offset of an allocation, at different times."""

    size_bytes: Annotated[
        int, column("size of the largest, rounded", BYTES, heading="size", is_summed=False)
    ]
    place: Annotated[int, column("the allocation's place in the report", NUMBER)]
    space: Annotated[int, column("number of the memory space", NUMBER)]
    offset: Annotated[int, column("first byte inside the allocation", NUMBER)]
    value_count: Annotated[int, column("values that begin there", COUNT, heading="values")]
    shapes: Annotated[str, column("their shapes, without layouts")]
    allocation: Annotated[int | None, figure("the allocation's number", NUMBER)]


class UsageFigures(Struct, frozen=True):
    """The report as a whole."""

    total_bytes: Annotated[int, figure("bytes of all spaces, as XLA adds them up", BYTES)]
    allocation_count: Annotated[int, figure("allocations that are listed", COUNT)]


SLOTS: Final = RowList(
    "rows",
    SlotRow,
    "offsets of allocations with the values that begin there, the largest first",
    sort="-size_bytes",
    size="size_bytes",
    key="offset",
    has_total=False,
    title="Slots",
)
ALLOCATIONS: Final = RowList(
    "allocations",
    ReportedAllocationRow,
    "allocations, in the report's order",
    key="place",
    has_total=False,
    title="Allocations",
)
SPACES: Final = RowList(
    "spaces",
    SpaceTotal,
    "totals of memory spaces",
    has_total=False,
    title="Memory spaces",
)
FIGURES: Final = Block("report", UsageFigures, "the report as a whole")
USAGE_REPORT: Final = DocumentSpec(
    "memory-usage-report",
    "what XLA's memory-usage report says",
    row_lists=(SLOTS, ALLOCATIONS, SPACES),
    scalars=FIGURES,
)


class UsageRows(Struct, frozen=True):
    """A report as an answer."""

    figures: UsageFigures
    slots: tuple[SlotRow, ...]
    allocations: tuple[ReportedAllocationRow, ...]
    spaces: tuple[SpaceTotal, ...]


def list_usage(report: UsageReport) -> UsageRows:
    """Return the rows of a report, in its order.

    Slots share bytes: those of one allocation overlap, so their sizes do not add up, although
    XLA's `cumulative_size` does add them.
    """
    pairs = list(enumerate(report.allocations, 1))
    return UsageRows(
        UsageFigures(sum(each.total_bytes for each in report.spaces), len(pairs)),
        tuple(
            SlotRow(
                *(slot.size_bytes, place, one.color, slot.offset),
                *(slot.value_count, slot.shapes, one.number),
            )
            for place, one in pairs
            for slot in one.slots
        ),
        tuple(_make_row(place, one) for place, one in pairs),
        tuple(SpaceTotal(each.color, each.name, each.total_bytes) for each in report.spaces),
    )


def _make_row(place: int, one: ReportedAllocation) -> ReportedAllocationRow:
    return ReportedAllocationRow(
        place,
        one.number,
        one.color,
        one.size_bytes,
        max((slot.offset + slot.size_bytes for slot in one.slots), default=None),
        len(one.slots),
        sum(slot.value_count for slot in one.slots),
        one.left_out_count,
        one.description,
    )


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
