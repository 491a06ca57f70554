"""Do the parts of a buffer assignment belong together? Each must know the values of the others.

What may be missing at the end of a buffer assignment, where nothing in it tells?

XLA states the sum of all allocations, and puts it into the file of the used values; live ranges
state their own length. An allocation file alone has neither.

A buffer assignment: the old single file, or the newer set of three.

The text is that of BufferAssignment::ToString (xla/service/buffer_assignment.cc). Old dumps
hold allocations, used values and live ranges in one file; newer ones put the last two into
`…-buffer-assignment-values.txt` and `…-live-range.txt`. Both forms give the same IR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.hlo.assignment.allocations import UnknownLines, parse_allocations
from hlotool.hlo.assignment.live_ranges import (
    accept_live_ranges,
    accept_total_bytes,
    accept_used_values,
    expect_used_values,
    find_definition,
)
from hlotool.hlo.buffers import (
    Allocation,
    BufferAssignment,
    BufferValue,
    OpenEnd,
    UsedValue,
    ValueKey,
)
from hlotool.hlo.parser import collector_paused
from hlotool.hlo.scanner import Scanner
from hlotool.text import Source


def map_values(source: Source, allocations: tuple[Allocation, ...]) -> dict[ValueKey, BufferValue]:
    """Return the values by instruction and index; raise where one, or a number, comes twice."""
    values = [value for allocation in allocations for value in allocation.values]
    by_key = {(value.instruction, value.index or ()): value for value in values}
    if len(by_key) < len(values) or len({value.number for value in values}) < len(values):
        _fail_at_second(source, values)
    return by_key


def _fail_at_second(source: Source, values: Sequence[BufferValue]) -> NoReturn:
    """Find the first value that has come before, and raise there."""
    seen: set[ValueKey | int] = set()
    for value in values:
        if value.key in seen or value.number in seen:
            break
        seen |= {value.key, value.number}
    raise ParseError(
        f"value {value.number}, {value.name!r}, stands in the dump twice",
        source,
        value.start + 1,
        value.start + 1 + len(f"value: <{value.number} {value.name}"),
        "two dumps may be mixed",
    )


def tell_mixed_up(source: Source, other: Source | None) -> str:
    """Say what is wrong where two parts do not belong together."""
    if other is None:
        return "the file is cut short, or made of two dumps"
    return f"{source.name} and {other.name} are not of one compilation, or one is cut short"


def check_total(
    source: Source,
    allocations: tuple[Allocation, ...],
    total: int,
    stated_in: Source,
    start: int,
) -> None:
    """Raise where the allocations do not add up to the total that stands behind an offset."""
    found = sum(one.size_bytes for one in allocations)
    if found != total:
        at = stated_in.text.index(str(total), start)
        hint = tell_mixed_up(source, None if stated_in is source else stated_in)
        message = f"the allocations hold {found} bytes, not {total}"
        raise ParseError(message, stated_in, at, at + len(str(total)), hint)


def check_used(
    source: Source,
    by_key: Mapping[ValueKey, BufferValue],
    used: Mapping[int, UsedValue],
    values: Source | None,
) -> None:
    """Raise at the first used value without an allocation, or the other way round."""
    known = {value.number: value for value in by_key.values()}
    hint = tell_mixed_up(source, values)
    for number, one in used.items():
        value = known.get(number)
        if value is None or one.name != value.name:
            message = f"used value {number}, {one.name!r}, is in no allocation"
            start = one.name_start
            raise ParseError(message, one.source, start, start + len(one.name), hint)
    for value in known.values():
        if value.number not in used:
            raise ParseError(
                f"value {value.number}, {value.name!r}, is not among the used values",
                source,
                value.start + 1,
                value.start + len(f" value: <{value.number} {value.name}"),
                hint,
            )


def check_ranges(source: Source, allocations: tuple[Allocation, ...], mixed_up: str) -> None:
    """Raise at the first value in memory of its own without a live range."""
    for value in _placed_values(allocations):
        if value.live is None:
            raise ParseError(
                f"value {value.number}, {value.name!r}, has no live range",
                source,
                value.start + 1,
                value.start + len(f" value: <{value.number} {value.name}"),
                mixed_up,
            )


def _placed_values(allocations: tuple[Allocation, ...]) -> Iterator[BufferValue]:
    """Yield the values for which XLA prints a range: not constants, not thread-local ones."""
    for allocation in allocations:
        if not allocation.is_constant and not allocation.is_thread_local:
            yield from allocation.values


_GONE: Final = re.compile(r"^HloLiveRange not available", re.MULTILINE)


def find_open_end(found: BufferAssignment) -> OpenEnd | None:
    """Return what may be missing; None where the parts are complete by what they state.

    Live ranges are missed only behind used values that stand in the file of the allocations.
    The text of the last used value ends with a newline, or may be cut.
    """
    if found.used is None:
        return OpenEnd(found.source, "allocations")
    if not found.used:
        return None
    last = list(found.used.values())[-1]
    text = last.source.text
    if text.find("\n", last.end) < 0:
        return OpenEnd(last.source, "the rest of its last line")
    is_single = last.source is found.source and found.live_ranges is None
    if is_single and not _GONE.search(text, last.end):
        return OpenEnd(found.source, "live ranges")
    return None


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
