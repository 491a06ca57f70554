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
from hlotool.oom.wordings import SIZE, Size, parse_size
from hlotool.text import Source


class RunningSum(Struct, frozen=True):
    """What the rows of a list come to, up to one of them, and what part of the list that is."""

    size: Size
    percent: int | None  # None where all of it is nothing
    rest: Size | None = None  # what the rows below come to; None where the list does not say


class ReportedSlot(Struct, frozen=True):
    """Values that begin at one offset of an allocation; the size is that of the largest."""

    size: Size
    offset: int
    value_count: int
    shapes: str
    sum: RunningSum


class ReportedAllocation(Struct, frozen=True):
    """An allocation; None where the form of the report does not say."""

    color: int
    number: int | None = None
    size: Size | None = None
    description: str | None = None
    slots: tuple[ReportedSlot, ...] = ()
    left_out_count: int = 0  # values that the report does not list
    sum: RunningSum | None = None
    has_table: bool = False


class ReportedSpace(Struct, frozen=True):
    """The total of a memory space; `color` is None for that of all spaces."""

    color: int | None
    name: str | None
    total_bytes: int
    rounded: Size | None  # the same once more, None in hlotool's print of a proto


class UsageReport(Struct, frozen=True):
    """A report, in its order.

    The old form lists each allocation twice, the second time with its values; `listed` is the first
    list, and `described` the second, or that of the other forms.
    """

    spaces: tuple[ReportedSpace, ...]
    listed: tuple[ReportedAllocation, ...]
    described: tuple[ReportedAllocation, ...]

    @property
    def allocations(self) -> tuple[ReportedAllocation, ...]:
        """Each allocation once, with its values where they are told."""
        numbered = (one for one in (*self.listed, *self.described) if one.number is not None)
        known = {one.number: one for one in numbered}
        return (*known.values(), *(one for one in self.described if one.number is None))


_SPACE: Final = re.compile(r"Memory Space: ?(?P<name>.*?) ?\(color=(?P<color>\d{1,18})\)\s*$")
_TOTAL: Final = re.compile(
    rf"Total bytes(?P<all> used)?: (?P<bytes>\d{{1,18}})(?: \((?P<rounded>{SIZE})\))?\s*$"
)
_SUM: Final = rf"\s*(?P<sum>{SIZE})\( *(?P<percent>\d{{1,7}}|-?nan)%\); +"
_ALLOCATION: Final = re.compile(
    rf"(?:{_SUM}(?P<left>{SIZE}); )?allocation (?P<number>\d{{1,18}}): size (?P<size>{SIZE})"
    r"(?:, color (?P<color>\d{1,18}))?(?:, (?P<rest>.*))?:\s*$"
)
_TABLE: Final = re.compile(r"\s*cumulative_size; +size; +offset; used_by_n_values; shapes_list\s*$")
_SLOT: Final = re.compile(
    rf"{_SUM}(?P<size>{SIZE}); +(?P<offset>\d{{1,18}}); +"
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
            raise ParseError(
                "this line does not belong to a memory-usage report", source, position, end
            )
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
            size, running = parse_size(slot["size"]), _read_sum(slot)
            self._slots.append(
                ReportedSlot(size, int(slot["offset"]), int(slot["count"]), slot["shapes"], running)
            )
        elif _TABLE.match(line):
            if not self._is_described:
                self._begin(ReportedAllocation(self._color))
            self._allocations[-1] = replace(self._allocations[-1], has_table=True)
            self._is_described = False
        elif space := _SPACE.match(line):
            self._color, self._name = int(space["color"]), space["name"] or None
        elif total := _TOTAL.match(line):
            color = None if total["all"] else self._color
            rounded = parse_size(total["rounded"]) if total["rounded"] else None
            self._spaces.append(ReportedSpace(color, self._name, int(total["bytes"]), rounded))
        elif allocation := _ALLOCATION.match(line):
            color = int(allocation["color"]) if allocation["color"] else self._color
            number, size = int(allocation["number"]), parse_size(allocation["size"])
            told = _read_sum(allocation) if allocation["sum"] else None
            self._begin(ReportedAllocation(color, number, size, allocation["rest"], sum=told))
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
        return UsageReport(
            tuple(self._spaces),
            tuple(one for one in self._allocations if one.sum is not None),
            tuple(one for one in self._allocations if one.sum is None),
        )

    def _begin(self, allocation: ReportedAllocation) -> None:
        self._close()
        self._allocations.append(allocation)

    def _close(self) -> None:
        """Give the slots that were read to their allocation."""
        if self._slots:
            self._allocations[-1] = replace(self._allocations[-1], slots=tuple(self._slots))
            self._slots = []


def _read_sum(row: re.Match[str]) -> RunningSum:
    rest = row.groupdict().get("left")
    percent = int(row["percent"]) if row["percent"].isdecimal() else None
    return RunningSum(parse_size(row["sum"]), percent, parse_size(rest) if rest else None)
