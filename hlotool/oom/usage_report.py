"""XLA's own memory-usage report: its records, and how its text is read.

Its totals are exact, most other sizes rounded to three digits. Follows
BufferAssignment::MemoryUsageReport in xla/service/buffer_assignment.cc, as it is and as it was
until 2025.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import ParseError
from hlotool.oom.wordings import SIZE, parse_size
from hlotool.text import Source


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


_SPACE: Final = re.compile(r"Memory Space: ?(?P<name>.*?) ?\(color=(?P<color>\d{1,18})\)\s*$")
_TOTAL: Final = re.compile(r"Total bytes(?P<all> used)?: (?P<bytes>\d{1,18})(?: \(.*\))?\s*$")
_ALLOCATION: Final = re.compile(
    rf"(?:[^;]*;[^;]*; )?allocation (?P<number>\d{{1,18}}): size (?P<size>{SIZE})"
    r"(?:, color (?P<color>\d{1,18}))?(?:, (?P<rest>.*))?:\s*$"
)
_TABLE: Final = re.compile(r"\s*cumulative_size; +size; +offset; used_by_n_values; shapes_list\s*$")
_SLOT: Final = re.compile(
    rf"\s*{SIZE}\([^()]{{1,8}}%\); +(?P<size>{SIZE}); +(?P<offset>\d{{1,18}}); +"
    r"(?P<count>\d{1,18}); (?P<shapes>.*)$"
)
_REST: Final = re.compile(r"\s*The rest (?P<count>\d{1,18}) (?P<what>values|allocations) are less")
_PASSED: Final = re.compile(
    r"\s*$|\s*-{10,}\s*$|Allocations sorted by size|cumulative_size; total_size - cumulative_size"
)


def parse_usage_report(source: Source) -> UsageReport:
    """Read a report; raise ParseError at a line that is of neither form.

    new   := { "Memory Space: " name " (color=" C ")" NL total { table } }
    total := "Total bytes: " N "(" size ")" NL
    old   := "Total bytes used: " N "(" size ")" NL "Allocations sorted by size:" NL { row }
             "Allocations sorted by size with their values:" NL { allocation [ table ] }
    table := heading NL rule NL { slot } [ "The rest " N " values are less than …" ]
    slot  := size "(" percent "); " size "; " offset "; " count "; " shapes

    A table of the new form is an allocation of its own; before one, hlotool's print of a report
    that is a proto has the line of its allocation.
    """
    reader = _Reader(source)
    position = 0
    for line in source.text.split("\n"):
        if not reader.take(line):
            end = position + len(line)
            raise ParseError("this line is of no memory-usage report", source, position, end)
        position += len(line) + 1
    return reader.finish()


class _Reader:
    """Reads line by line."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spaces: list[ReportedSpace] = []
        self._allocations: list[ReportedAllocation] = []
        self._slots: list[ReportedSlot] = []
        self._color = 0
        self._name: str | None = None
        self._is_described = False  # whether the last allocation waits for its table

    def take(self, line: str) -> bool:
        """Read a line; say whether it belongs to a report."""
        if slot := _SLOT.match(line):
            if not self._allocations:
                return False
            size = parse_size(slot["size"]).bytes
            self._slots.append(
                ReportedSlot(size, int(slot["offset"]), int(slot["count"]), slot["shapes"])
            )
        elif _TABLE.match(line):
            if not self._is_described:
                self._begin(ReportedAllocation(self._color))
            self._is_described = False
        elif space := _SPACE.match(line):
            self._color, self._name = int(space["color"]), space["name"] or None
        elif total := _TOTAL.match(line):
            color = None if total["all"] else self._color
            self._spaces.append(ReportedSpace(color, self._name, int(total["bytes"])))
        elif allocation := _ALLOCATION.match(line):
            color = int(allocation["color"]) if allocation["color"] else self._color
            number, size = int(allocation["number"]), parse_size(allocation["size"]).bytes
            self._begin(ReportedAllocation(color, number, size, allocation["rest"]))
            self._is_described = True
        elif rest := _REST.match(line):
            if rest["what"] == "values" and self._allocations:
                count = int(rest["count"])
                self._allocations[-1] = replace(self._allocations[-1], left_out_count=count)
        else:
            return _PASSED.match(line) is not None
        return True

    def finish(self) -> UsageReport:
        """Return what was read."""
        self._close()
        # The old form lists each allocation twice, the second time with its values.
        described = {each.number: each for each in self._allocations if each.number is not None}
        tables = (each for each in self._allocations if each.number is None)
        return UsageReport(tuple(self._spaces), (*described.values(), *tables))

    def _begin(self, allocation: ReportedAllocation) -> None:
        self._close()
        self._allocations.append(allocation)

    def _close(self) -> None:
        """Give the slots that were read to their allocation."""
        if self._slots:
            self._allocations[-1] = replace(self._allocations[-1], slots=tuple(self._slots))
            self._slots = []
