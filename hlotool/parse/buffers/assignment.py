"""A buffer assignment: the old single file, or the newer set of three.

The text is that of BufferAssignment::ToString (xla/service/buffer_assignment.cc). Old dumps
hold allocations, used values and live ranges in one file; newer ones put the last two into
`…-buffer-assignment-values.txt` and `…-live-range.txt`. Both forms give the same IR.
"""

from __future__ import annotations

import re

from hlotool.errors import ParseError
from hlotool.ir.buffers import BufferAssignment
from hlotool.parse.buffers.allocations import parse_allocations
from hlotool.parse.buffers.definition import find_definition
from hlotool.parse.buffers.live_range import accept_live_ranges
from hlotool.parse.buffers.open_end import find_open_end
from hlotool.parse.buffers.parts import (
    check_ranges,
    check_total,
    check_used,
    map_values,
    tell_mixed_up,
)
from hlotool.parse.buffers.unknown_lines import UnknownLines
from hlotool.parse.buffers.used_values import (
    accept_total_bytes,
    accept_used_values,
    expect_used_values,
)
from hlotool.parse.collector import collector_paused
from hlotool.parse.scanner import Scanner
from hlotool.source import Source

_SECTION = re.compile(r"\n(?:Total bytes used: |Used values:|HloLiveRange )")
_HEADER = re.compile(r"\s*+BufferAssignment:[ \t]*+\r?(?:\n|\Z)")


@collector_paused()
def parse_buffer_assignment(
    source: Source, values: Source | None = None, live_range: Source | None = None
) -> BufferAssignment:
    """Parse an assignment from one file, or from the up to three files of newer dumps.

    assignment = "BufferAssignment:" NL allocations [ used ] [ live_range ]

    Raises ParseError where the text breaks off or stops being this, and where the parts do
    not belong together: the first value that one part knows and another does not, or sizes of
    allocations that do not add up to the total. Lines of unknown kinds are counted, and
    refused where something is wrong with the rest. What nothing here tells is `open_end`.
    """
    unknown = UnknownLines()
    try:
        found = _parse(source, values, live_range, unknown)
    except ParseError as error:
        unknown.refuse(error.message)
        raise
    found.unknown_line_count = unknown.count
    return found


def _parse(
    source: Source, values: Source | None, live_range: Source | None, unknown: UnknownLines
) -> BufferAssignment:
    """Read the parts in order, and hold them against each other."""
    header = _HEADER.match(source.text)
    if header is None:
        scanner = Scanner(source)
        scanner.skip_blanks()
        scanner.fail_expected("'BufferAssignment:'")
    section = _SECTION.search(source.text, header.end() - 1)
    end = section.start() + 1 if section else len(source.text)
    allocations = parse_allocations(source, header.end(), end, unknown)
    by_key = map_values(source, allocations)
    used_source, used_start = (source, end) if values is None else (values, 0)
    total, at = accept_total_bytes(used_source, used_start, unknown)
    used = accept_used_values(used_source, at, unknown)
    if used is not None:
        check_used(source, by_key, used, values)
    if total is not None:
        check_total(source, allocations, total, used_source, used_start)
    if used is None and (total is not None or values is not None):
        expect_used_values(used_source, at)
    mixed_up = tell_mixed_up(source, live_range)
    live_source, live_start = (source, end) if live_range is None else (live_range, 0)
    live_ranges = accept_live_ranges(live_source, live_start, by_key, unknown, mixed_up=mixed_up)
    if live_ranges is not None:
        check_ranges(source, allocations, mixed_up)
    found = BufferAssignment(source, allocations, total, used, live_ranges, find_definition)
    found.open_end = find_open_end(found)
    return found
