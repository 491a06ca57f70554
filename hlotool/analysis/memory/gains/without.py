"""What would memory be without certain values?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.memory.curve import Curve
from hlotool.analysis.memory.gains.tenure import Tenure
from hlotool.analysis.memory.memory_map import MemoryMap, map_memory
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.values.value_rows import BufferRow, all_rows, rows_at
from hlotool.errors import InputError
from hlotool.fields import BYTES, COUNT, NUMBER, Block, figure
from hlotool.ir.module import Module


class Without(Struct, frozen=True):
    """The peak of a space without certain values and what shares their bytes."""

    space: Annotated[int, figure("number of the memory space", NUMBER)]
    value_count: Annotated[int, figure("values taken away, in all spaces", COUNT)]
    taken_bytes: Annotated[int, figure("what they hold at the peak of the whole program", BYTES)]
    gain_bytes: Annotated[int, figure("how far the peak falls", BYTES)]
    peak_bytes: Annotated[int, figure("the most in use at once without them", BYTES)]
    position: Annotated[int, figure("where that is in the schedule", NUMBER)]
    instruction: Annotated[str | None, figure("the instruction that runs there")]


WITHOUT: Final = Block(
    "without", Without, "the peak without the values of --without", is_optional=True
)


def choose_tenures(
    report: MemoryReport, module: Module | None, holds: Callable[[BufferRow], bool]
) -> set[Tenure]:
    """Return the tenures in which a condition holds for a value, in all spaces.

    What a value holds is known of those at the peak of their space. Raises InputError where
    nothing says when values live.
    """
    if report.map.lifetimes is None:
        raise InputError(
            "--without needs lifetimes: give the live ranges (--live-range) or the module text "
            "(--module-text)."
        )
    at_peak = {
        (row.value, row.space): row
        for color in report.map.colors()
        for row in rows_at(report, module, report.peak_of(color).position or 0, color)
    }
    return {
        row.held.tenure
        for row in all_rows(report, module, None)
        if row.held and row.held.tenure and holds(at_peak.get((row.value, row.space), row))
    }


def take_away(report: MemoryReport, tenures: Iterable[Tenure]) -> MemoryReport:
    """Return the memory of the program without some tenures; `figures` stay those of all of it."""
    taken = {value for tenure in tenures for value in tenure.values}
    assignment = report.map.assignment
    left = tuple(
        replace(one, values=[value for value in one.values if value not in taken])
        for one in assignment.allocations
    )
    return replace(
        report, map=map_memory(replace(assignment, allocations=left), report.map.lifetimes)
    )


def measure_without(whole: MemoryMap, rest: MemoryMap, tenures: set[Tenure], color: int) -> Without:
    """Compare the peak of a space with what it is without some tenures."""
    before, after = whole.curve(color) or Curve(), rest.curve(color) or Curve()
    (peak, was_at), (left, position) = before.peak(), after.peak()
    return Without(
        space=color,
        value_count=sum(len(tenure.values) for tenure in tenures),
        taken_bytes=peak - after.at(was_at),
        gain_bytes=peak - left,
        peak_bytes=left,
        position=position,
        instruction=rest.lifetimes.instruction_at(position) if rest.lifetimes else None,
    )
