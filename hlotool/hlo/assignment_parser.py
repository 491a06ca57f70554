"""The text of a buffer assignment to IR: `parse_buffer_assignment` is the way in.

The text is that of BufferAssignment::ToString (xla/service/buffer_assignment.cc). Old dumps
hold allocations, used values and live ranges in one file; newer ones put the last two into
`…-buffer-assignment-values.txt` and `…-live-range.txt`. Both forms give the same IR.

The parts must belong together: each knows the values of the others. What may be missing at the end
is told by what they state. XLA puts the sum of all allocations into the file of the used values;
live ranges state their own length. An allocation file alone has neither.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.hlo.assignment_sections import (
    CUT,
    INTEGER,
    LiveRangeReader,
    ShapeIndices,
    UnknownLines,
    accept_total_bytes,
    accept_used_values,
    find_definition,
    refuse_at,
)
from hlotool.hlo.buffers import (
    Allocation,
    BufferAssignment,
    BufferValue,
    OpenEnd,
    UsedValue,
    ValueKey,
)
from hlotool.hlo.parser import collector
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.shape import Shape
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.text import Source

_FIELD = re.compile(
    rf"""
    ,[ ](?:color[ ](?P<color>{INTEGER})
    | parameter[ ](?P<parameter>{INTEGER}),[ ]shape[ ]\|[^|]*+\|
        (?:[ ]at[ ]ShapeIndex[ ]\{{(?P<index>[0-9,]*+)\}})?+
    | output[ ]shape[ ]is[ ](?P<output>\|[^|]*+\|)
    | (?P<flag>constant|thread-local|maybe-live-out|preallocated-temp)
    | (?P<other>(?:[^,|]|\|[^|]*+\|)++))(?=,[ ]|\Z)
    """,
    re.VERBOSE,
)
_VALUE: Final = rf"""
    [ ]value:[ ]<(?P<number>{INTEGER})[ ](?P<name>[^\s{{>]++)(?:\{{(?P<index>[0-9,]*+)\}})?+
    (?P<phi>[ ]\(phi\))?+[ ]@(?P<color>{INTEGER})>
    [ ]\(size=(?P<size>{INTEGER}),offset=(?P<offset>{INTEGER})\):[ ](?P<value>[^\r\n]++)
"""
_ALLOCATION: Final = rf"""
    allocation[ ](?P<own_number>{INTEGER}):[ ]size[ ](?P<own_size>{INTEGER})
    (?P<allocation>(?:,[^\r\n]++)?+(?<=:)|:)
"""
_REUSED: Final = r"[ ]reused[ ]by[ ]buffers[ ]of[ ]a[ ]different[ ]color:[ \t]*+"
_REUSER: Final = rf"""
    [ ][ ]value:[ ]<(?P<reuser_number>{INTEGER})[ ](?P<reuser>[^\r\n>]++)>[ ]\(color={INTEGER}\)
"""
# One pass over all lines: there may be millions of values, and the name of the last group that
# matched says of which kind a line is.
_LINE = re.compile(
    rf"(?:{_VALUE} | {_ALLOCATION} | {_REUSER} | (?P<blank>{_REUSED}|[ \t]*+)"
    r" | (?P<other>[^\n]*+))\r?(?:\n|\Z)",
    re.VERBOSE,
)
_VALUE_GROUPS: Final = 8  # the first ones of a line
_KNOWN: Final = ("allocation ", " value: ")  # how a line begins that must be read
_MISSING: Final = "a part of the dump is missing, or two dumps are mixed"
_EXPECTED: Final = "'allocation …' or ' value: …'"
_NAME = re.compile(r"[^\s{>]++")
_INDEX = re.compile(r"\{[0-9,]*+\}")
_SECTION = re.compile(r"\n(?:Total bytes used: |Used values:|HloLiveRange )")
_HEADER = re.compile(r"\s*+BufferAssignment:[ \t]*+\r?(?:\n|\Z)")
_GONE = re.compile(r"^HloLiveRange not available", re.MULTILINE)


@collector.paused()
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
    if (header := _HEADER.match(source.text)) is None:
        scanner = Scanner(source)
        scanner.skip_blanks()
        scanner.fail_expected("'BufferAssignment:'")
    section = _SECTION.search(source.text, header.end() - 1)
    end = section.start() + 1 if section else len(source.text)
    allocations = _AllocationReader(source, unknown).read(header.end(), end)
    by_key = _map_values(source, allocations)
    used_source, used_start = (source, end) if values is None else (values, 0)
    total, at = accept_total_bytes(used_source, used_start, unknown)
    used = accept_used_values(used_source, at, unknown)
    found = BufferAssignment(source, allocations, total, used, define=find_definition)
    if used is not None:
        _check_used(source, by_key, used, _describe_mixed_up(source, values))
    if total is not None:
        _check_total(found, total, used_source, used_start)
    if used is None and (total is not None or values is not None):
        refuse_at(used_source, at, "'Used values:'")  # XLA prints them behind the total
    mixed_up = _describe_mixed_up(source, live_range)
    live_source, live_start = (source, end) if live_range is None else (live_range, 0)
    found.live_ranges = LiveRangeReader(live_source, by_key, unknown, mixed_up).read(live_start)
    if found.live_ranges is not None:
        _check_ranges(found, mixed_up)
    found.open_end = _find_open_end(found)
    return found


def _map_values(source: Source, allocations: tuple[Allocation, ...]) -> dict[ValueKey, BufferValue]:
    """Return the values by instruction and index; raise where one, or a number, comes twice."""
    values = [value for allocation in allocations for value in allocation.values]
    by_key = {(value.instruction, value.index or ()): value for value in values}  # may be millions
    if len(by_key) < len(values) or len({value.number for value in values}) < len(values):
        seen: set[ValueKey | int] = set()
        for value in values:
            if value.key in seen or value.number in seen:
                _fail_at(source, value, "appears twice in the dump", "two dumps may be mixed")
            seen |= {value.key, value.number}
    return by_key


def _check_used(
    source: Source, by_key: Mapping[ValueKey, BufferValue], used: Mapping[int, UsedValue], hint: str
) -> None:
    """Raise at the first used value without an allocation, or the other way round."""
    known = {value.number: value for value in by_key.values()}
    for number, one in used.items():
        if (value := known.get(number)) is None or one.name != value.name:
            message = f"used value {number}, {one.name!r}, is in no allocation"
            start = one.name_start
            raise ParseError(message, one.source, start, start + len(one.name), hint)
    for value in known.values():
        if value.number not in used:
            _fail_at(source, value, "is not among the used values", hint)


def _check_total(found: BufferAssignment, total: int, stated_in: Source, start: int) -> None:
    """Raise where the allocations do not add up to the total that stands behind an offset."""
    if (size := sum(one.size_bytes for one in found.allocations)) != total:
        at = stated_in.text.index(str(total), start)
        hint = _describe_mixed_up(found.source, None if stated_in is found.source else stated_in)
        message = f"the allocations hold {size} bytes, not {total}"
        raise ParseError(message, stated_in, at, at + len(str(total)), hint)


def _check_ranges(found: BufferAssignment, mixed_up: str) -> None:
    """Raise at the first value without a live range, of those for which XLA prints one."""
    for allocation in found.allocations:
        if not allocation.is_constant and not allocation.is_thread_local:
            for value in allocation.values:
                if value.live is None:
                    _fail_at(found.source, value, "has no live range", mixed_up)


def _describe_mixed_up(source: Source, other: Source | None) -> str:
    """Say what is wrong where two parts do not belong together."""
    if other is None:
        return "the file is cut short, or made of two dumps"
    return f"{source.name} and {other.name} come from different compilations, or one is cut short"


def _fail_at(source: Source, value: BufferValue, what: str, hint: str) -> NoReturn:
    message = f"value {value.number}, {value.name!r}, {what}"
    end = value.start + len(f" value: <{value.number} {value.name}")
    raise ParseError(message, source, value.start + 1, end, hint)


def _find_open_end(found: BufferAssignment) -> OpenEnd | None:
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


class _AllocationReader:
    """Reads the allocations, each with the values it holds, as BufferAllocation::ToString prints.

    allocations = { allocation { value } [ reused ] }
    allocation  = "allocation " integer ": size " integer { ", " field } ":" NL
    field       = "color " integer | "parameter " integer ", shape |" shape "| at ShapeIndex "
                  index | "output shape is |" shape "|" | "constant" | "thread-local"
                  | "maybe-live-out" | "preallocated-temp" | other
    value       = " value: <" integer " " name [ index ] [ " (phi)" ] " @" integer "> (size="
                  integer ",offset=" integer "): " shape NL
    reused      = " reused by buffers of a different color:" NL { "  value: <" … "> (color="
                  integer ")" NL }

    A value that reuses an allocation of a different color is among its values too, with its
    size and offset. Lines of other kinds go to `unknown`. Raises ParseError where a line of a
    known kind does not read, or an allocation is missing or comes twice.
    """

    def __init__(self, source: Source, unknown: UnknownLines) -> None:
        self.source = source
        self.unknown = unknown
        self.allocations: list[Allocation] = []
        self.reusers: list[tuple[int, re.Match[str]]] = []
        self.shapes = ShapeCache(source)
        self.indices = ShapeIndices()

    def read(self, start: int, end: int) -> tuple[Allocation, ...]:
        """Read all lines between two offsets."""
        for match in _LINE.finditer(self.source.text, start, end):
            kind = match.lastgroup
            if kind == "value":
                self._add_value(match)
            elif kind == "allocation":
                self.allocations.append(self._read_allocation(match))
            elif kind == "reuser":
                self.reusers.append((len(self.allocations) - 1, match))
            elif kind != "blank":
                line = match.group()
                begun = line.rstrip("\n")
                if any(line.startswith(known) or known.startswith(begun) for known in _KNOWN):
                    self._fail_line(match)  # cut or garbled
                self.unknown.pass_over(self.source, match.start(), _EXPECTED)
        self._check()
        return tuple(self.allocations)

    def _check(self) -> None:
        """Raise where an allocation is missing or comes twice, or does not hold what reuses it."""
        for expected, allocation in enumerate(self.allocations):
            number = allocation.number
            if number != expected:  # XLA numbers them 0, 1, 2, …
                message = f"expected allocation {expected}, found allocation {number}"
                start = allocation.start + len("allocation ")
                raise ParseError(message, self.source, start, start + len(str(number)), _MISSING)
        if self.reusers:
            known = {(one.number, value.number) for one in self.allocations for value in one.values}
            numbers: defaultdict[int, set[int]] = defaultdict(set)
            for reused, match in self.reusers:
                value = int(match["reuser_number"])
                if (reused, value) not in known:
                    message = f"value {value} reuses allocation {reused}, but has no place in it"
                    self._fail(match, message)
                numbers[reused].add(value)
            for reused, values in numbers.items():
                self.allocations[reused].reusers = frozenset(values)

    def _read_allocation(self, match: re.Match[str]) -> Allocation:
        """Turn an allocation line into a record; its fields keep a fixed order in dumps."""
        allocation = Allocation(
            int(match["own_number"]), int(match["own_size"]), start=match.start()
        )
        fields = match["allocation"][:-1]
        other: list[str] = []
        at = 0
        while at < len(fields):
            if (field := _FIELD.match(fields, at)) is None:
                start, end = match.span("allocation")
                raise ParseError("this field cannot be read", self.source, start + at, end)
            at = field.end()
            if field["color"]:
                allocation.color = int(field["color"])
            elif field["parameter"]:
                allocation.parameter = int(field["parameter"])
                allocation.parameter_index = self.indices[field["index"] or ""]
            elif field["flag"]:
                allocation.is_constant |= field["flag"] == "constant"
                allocation.is_thread_local |= field["flag"] == "thread-local"
                allocation.is_live_out |= field["flag"] == "maybe-live-out"
            elif not field["output"]:
                other.append(field["other"])
        allocation.other = tuple(other)
        return allocation

    def _add_value(self, match: re.Match[str]) -> None:
        if not self.allocations:
            self._fail(match, "a value precedes the first allocation")
        allocation = self.allocations[-1]
        groups = match.groups()[:_VALUE_GROUPS]
        number, name, index, phi, color, size_text, offset_text, text = groups
        size, offset = int(size_text), int(offset_text)
        shape = self.shapes.get(text) or self._parse_shape(match.start("value"), text)
        if offset + size > allocation.size_bytes:
            end = f"which ends at {allocation.size_bytes}"
            reached = f"byte {offset + size} of allocation {allocation.number}"
            self._fail(match, f"the value reaches to {reached}, {end}")
        allocation.values.append(
            BufferValue(
                int(number),
                name,
                None if index is None else self.indices[index],
                phi is not None,
                int(color),
                size,
                offset,
                shape,
                match.start(),
            )
        )

    def _parse_shape(self, start: int, text: str) -> Shape:
        """Read the shape at the end of a value line, or raise where it breaks off."""
        if (shape := self.shapes.find(text)) is None:
            end = min(start + len(text) + 1, len(self.source.text))
            scanner = Scanner(self.source, start, end)
            shape = parse_shape(scanner)
            if not scanner.at_end():
                scanner.fail_expected("the end of the line after the shape")
        return shape

    def _fail(self, match: re.Match[str], message: str) -> NoReturn:
        line = match.group().rstrip()
        start = match.start() + len(line) - len(line.lstrip())
        raise ParseError(message, self.source, start, match.start() + len(line))

    def _fail_line(self, match: re.Match[str]) -> NoReturn:
        """Find where a line stops being a value or an allocation, and raise there."""
        end = match.start() + len(match.group().rstrip("\r\n"))
        scanner = Scanner(self.source, match.start(), end)
        if scanner.accept(" value:"):
            scanner.expect("<", "before the value's number")
            scanner.expect_integer("the value's number")
            scanner.expect_match(_NAME, "the name of the defining instruction")
            scanner.accept_match(_INDEX)
            scanner.accept(" (phi)")
            for literal in ("@", "> (size=", ",offset="):
                scanner.expect(literal, "in the value")
                scanner.expect_integer(f"a number after {literal!r}")
            scanner.expect("): ", "before the shape")
            parse_shape(scanner)
        elif scanner.accept("allocation"):
            scanner.expect_integer("the allocation's number")
            scanner.expect(": size", "after the allocation's number")
            scanner.skip_blanks()
            scanner.expect_integer("the allocation's size in bytes")
            if scanner.text[scanner.pos : scanner.end].endswith(":"):
                scanner.fail_expected("', ' or ':' after the size")
            scanner.pos = scanner.end
            scanner.fail("expected ':' at the end of the allocation", hint=CUT)
        scanner.fail_expected(_EXPECTED)
