"""Which lines of a report does no reader know, and may they be passed over?

Newer compilers print lines that this version has not met. They are passed over as long as
what is read adds up; otherwise the first of them is refused, as any other text would be.

One line of an allocation: which memory it is, and what for.

The allocations of a buffer assignment, each with the values it holds.

The text is that of BufferAllocation::ToString (xla/service/buffer_assignment.cc).
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.hlo.buffers import Allocation, BufferValue
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.shape import Shape
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.hlo.values import ShapeIndex
from hlotool.text import Source


class UnknownLines:
    """How many lines were passed over, and what was expected in the place of the first."""

    def __init__(self) -> None:
        self.count = 0
        self._first: tuple[Source, int, str] | None = None

    def pass_over(self, source: Source, at: int, expected: str) -> int:
        """Step over the line at an offset and return where the next begins.

        Blank lines and comments do not count. Raises ParseError at the end of the text, and for a
        last line without its newline: it may be one of a known kind, cut short.
        """
        end = source.text.find("\n", at)
        line = source.text[at : end if end >= 0 else len(source.text)].strip()
        if end < 0:
            if self._first is None or line:
                _refuse(source, at, expected)
            self.refuse(f"the text ends without {expected}")
        if line and not line.startswith("//"):
            self.count += 1
            self._first = self._first or (source, at, expected)
        return end + 1

    def refuse(self, why: str) -> None:
        """Raise ParseError at the first line that was passed over; nothing if there is none."""
        if self._first is not None:
            hint = f"this line is of no known kind, and the rest does not add up: {why}"
            _refuse(*self._first, hint)


def _refuse(source: Source, at: int, expected: str, hint: str = "") -> NoReturn:
    scanner = Scanner(source, at)
    scanner.skip_blanks()
    if scanner.pos >= scanner.end:
        hint = hint or "the file may be cut short"
    scanner.fail(f"expected {expected}, found {scanner.describe_next()}", hint=hint)


_INTEGER: Final = r"[0-9]{1,19}+"
_FIELD = re.compile(
    rf"""
    ,[ ](?:color[ ](?P<color>{_INTEGER})
    | parameter[ ](?P<parameter>{_INTEGER}),[ ]shape[ ]\|[^|]*+\|
        (?:[ ]at[ ]ShapeIndex[ ]\{{(?P<index>[0-9,]*+)\}})?+
    | output[ ]shape[ ]is[ ](?P<output>\|[^|]*+\|)
    | (?P<flag>constant|thread-local|maybe-live-out|preallocated-temp)
    | (?P<other>(?:[^,|]|\|[^|]*+\|)++))(?=,[ ]|\Z)
    """,
    re.VERBOSE,
)


class ShapeIndices(dict[str, ShapeIndex]):
    """Shape indices by their text, `0,1`; few are ever spelled."""

    def __missing__(self, text: str) -> ShapeIndex:
        """Read an index and keep it."""
        index = tuple(int(digits[:19]) for digits in text.split(",") if digits)
        self[text] = index
        return index


def read_allocation_line(source: Source, match: re.Match[str], indices: ShapeIndices) -> Allocation:
    """Turn an allocation line into a record; its fields keep a fixed order in dumps."""
    allocation = Allocation(int(match["own_number"]), int(match["own_size"]), start=match.start())
    fields = match["allocation"][:-1]
    other: list[str] = []
    at = 0
    while at < len(fields):
        field = _FIELD.match(fields, at)
        if field is None:
            place = match.start("allocation") + at
            raise ParseError("this field cannot be read", source, place, match.end("allocation"))
        at = field.end()
        if field["color"]:
            allocation.color = int(field["color"])
        elif field["parameter"]:
            allocation.parameter = int(field["parameter"])
            allocation.parameter_index = indices[field["index"] or ""]
        elif field["flag"]:
            allocation.is_constant |= field["flag"] == "constant"
            allocation.is_thread_local |= field["flag"] == "thread-local"
            allocation.is_live_out |= field["flag"] == "maybe-live-out"
        elif not field["output"]:
            other.append(field["other"])
    allocation.other = tuple(other)
    return allocation


_VALUE: Final = rf"""
    [ ]value:[ ]<(?P<number>{_INTEGER})[ ](?P<name>[^\s{{>]++)(?:\{{(?P<index>[0-9,]*+)\}})?+
    (?P<phi>[ ]\(phi\))?+[ ]@(?P<color>{_INTEGER})>
    [ ]\(size=(?P<size>{_INTEGER}),offset=(?P<offset>{_INTEGER})\):[ ](?P<value>[^\r\n]++)
"""
_ALLOCATION: Final = rf"""
    allocation[ ](?P<own_number>{_INTEGER}):[ ]size[ ](?P<own_size>{_INTEGER})
    (?P<allocation>(?:,[^\r\n]++)?+(?<=:)|:)
"""
_REUSED: Final = r"[ ]reused[ ]by[ ]buffers[ ]of[ ]a[ ]different[ ]color:[ \t]*+"
_REUSER: Final = rf"""
    [ ][ ]value:[ ]<(?P<reuser_number>{_INTEGER})[ ](?P<reuser>[^\r\n>]++)>[ ]\(color={_INTEGER}\)
"""
_LINE = re.compile(
    rf"(?:{_VALUE} | {_ALLOCATION} | {_REUSER} | (?P<blank>{_REUSED}|[ \t]*+)"
    r" | (?P<other>[^\n]*+))\r?(?:\n|\Z)",
    re.VERBOSE,
)
_VALUE_GROUPS: Final = 8  # the first ones of a line
_KNOWN: Final = ("allocation ", " value: ")  # how a line begins that must be read
_EXPECTED: Final = "'allocation …' or ' value: …'"
_NAME = re.compile(r"[^\s{>]++")
_INDEX = re.compile(r"\{[0-9,]*+\}")


def parse_allocations(
    source: Source, start: int, end: int, unknown: UnknownLines
) -> tuple[Allocation, ...]:
    """Read all allocation and value lines between two offsets.

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
    allocations: list[Allocation] = []
    shapes = ShapeCache(source)
    indices = ShapeIndices()
    reusers: list[tuple[int, re.Match[str]]] = []
    for match in _LINE.finditer(source.text, start, end):
        kind = match.lastgroup
        if kind == "value":
            if not allocations:
                _fail(source, match, "a value stands before the first allocation")
            _add_value(allocations[-1], source, match, shapes, indices)
        elif kind == "allocation":
            allocations.append(read_allocation_line(source, match, indices))
        elif kind == "reuser":
            reusers.append((len(allocations) - 1, match))
        elif kind != "blank":
            _pass_over(source, match, unknown)
    _check_numbers(source, allocations)
    if reusers:
        _check_reusers(source, allocations, reusers)
    return tuple(allocations)


def _pass_over(source: Source, match: re.Match[str], unknown: UnknownLines) -> None:
    """Step over a line of an unknown kind; raise for one of a known kind, cut or garbled."""
    line = match.group()
    if any(line.startswith(known) or known.startswith(line.rstrip("\n")) for known in _KNOWN):
        _fail_line(source, match.start(), match.end())
    unknown.pass_over(source, match.start(), _EXPECTED)


def _check_reusers(
    source: Source, allocations: list[Allocation], reusers: list[tuple[int, re.Match[str]]]
) -> None:
    """Raise where a value is said to reuse an allocation, but is not among its values."""
    known = {(one.number, value.number) for one in allocations for value in one.values}
    for allocation, match in reusers:
        number = int(match["reuser_number"])
        if (allocation, number) not in known:
            message = f"value {number} reuses allocation {allocation}, but has no place in it"
            _fail(source, match, message)


def _add_value(
    allocation: Allocation,
    source: Source,
    match: re.Match[str],
    shapes: ShapeCache,
    indices: ShapeIndices,
) -> None:
    number, name, index, phi, color, size_text, offset_text, text = match.groups()[:_VALUE_GROUPS]
    shape = shapes.get(text) or _parse_shape(source, match.start("value"), text, shapes)
    size, offset = int(size_text), int(offset_text)
    if offset + size > allocation.size_bytes:
        _fail(
            source,
            match,
            f"the value reaches to byte {offset + size} of allocation {allocation.number}, "
            f"which ends at {allocation.size_bytes}",
        )
    allocation.values.append(
        BufferValue(
            int(number),
            name,
            None if index is None else indices[index],
            phi is not None,
            int(color),
            size,
            offset,
            shape,
            match.start(),
        )
    )


def _parse_shape(source: Source, start: int, text: str, shapes: ShapeCache) -> Shape:
    """Read the shape at the end of a value line, or raise where it breaks off."""
    shape = shapes.find(text)
    if shape is None:
        scanner = Scanner(source, start, min(start + len(text) + 1, len(source.text)))
        shape = parse_shape(scanner)
        if not scanner.at_end():
            scanner.fail_expected("the end of the line after the shape")
    return shape


def _check_numbers(source: Source, allocations: list[Allocation]) -> None:
    """Raise when an allocation is missing or comes twice: XLA numbers them 0, 1, 2, …."""
    for expected, allocation in enumerate(allocations):
        if allocation.number != expected:
            raise ParseError(
                f"expected allocation {expected}, found allocation {allocation.number}",
                source,
                allocation.start + len("allocation "),
                allocation.start + len(f"allocation {allocation.number}"),
                "a part of the dump is missing, or two dumps are mixed",
            )


def _fail(source: Source, match: re.Match[str], message: str) -> NoReturn:
    line = match.group().rstrip()
    start = match.start() + len(line) - len(line.lstrip())
    raise ParseError(message, source, start, match.start() + len(line))


def _fail_line(source: Source, start: int, end: int) -> NoReturn:
    """Find where a line stops being a value or an allocation, and raise there."""
    scanner = Scanner(source, start, start + len(source.text[start:end].rstrip("\r\n")))
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
        if source.text[scanner.pos : scanner.end].endswith(":"):
            scanner.fail_expected("', ' or ':' after the size")
        scanner.pos = scanner.end
        scanner.fail("expected ':' at the end of the allocation", hint="the file may be cut short")
    scanner.fail_expected(_EXPECTED)
