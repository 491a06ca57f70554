"""What stands around the bodies of computations: the `HloModule` line, index tables, heads.

Source: xla/hlo/ir/hlo_module.cc (printing), hlo_parser.cc ParseHloModule (reading). The line has a
name and a set of attributes in any order; a table is its keyword and one numbered row a line.

Where a module ends, in a text that goes on behind it, is told by brackets alone: inside a
computation nothing else is looked at but strings and comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from msgspec import Struct

from hlotool.errors import ParseError
from hlotool.hlo.attribute_values import parse_aliases, parse_donors
from hlotool.hlo.attributes import skip_value
from hlotool.hlo.groups import MOST_DEVICES
from hlotool.hlo.module import DebugInfo, Header, StackFrame
from hlotool.hlo.scanner import NAME, Scanner, parse_string_map, unquote
from hlotool.hlo.shape import Shape
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.hlo.values import SourceLocation
from hlotool.text import DeviceCounts, Source

T = TypeVar("T")
_ONE_DEVICE = DeviceCounts(1, 1)
_NAME = re.compile(NAME)
_KEY = re.compile(rf"({NAME})=")
_BOOL = re.compile(r"true|false")


def parse_header(scanner: Scanner, shapes: ShapeCache) -> tuple[str, Header]:
    """Read `HloModule name, key=value…`; the name is '' in fingerprint prints.

    header = "HloModule" [name [":"]] { "," key "=" value }

    Keys this reader does not know are kept raw in `Header.attributes`.
    """
    scanner.expect("HloModule", "at the beginning of a module")
    scanner.skip_blanks()
    scanner.accept("%")
    if name := scanner.accept_match(_NAME):
        scanner.accept(":")
    spans: dict[str, tuple[int, int]] = {}
    while scanner.accept_token(","):
        key = scanner.expect_match(_KEY, "an attribute of the module followed by '='")[:-1]
        if key in spans:
            end = scanner.pos - 1
            scanner.fail(f"the attribute {key!r} is given twice", end - len(key), end)
        spans[key] = skip_value(scanner, key), scanner.pos
    return name.group() if name else "", _interpret(scanner, shapes, spans)


def _interpret(scanner: Scanner, shapes: ShapeCache, spans: dict[str, tuple[int, int]]) -> Header:
    def read(key: str, parse: Callable[[Scanner], T], absent: T) -> T:
        if key not in spans:
            return absent
        return Scanner(scanner.source, *spans[key]).parse_whole(parse)

    layout = read("entry_computation_layout", partial(_parse_entry_layout, shapes), None)
    counts = scanner.source.counts or _ONE_DEVICE
    return Header(
        is_scheduled=read("is_scheduled", _parse_bool, absent=False),
        replica_count=read("replica_count", _parse_count, counts.replica_count),
        num_partitions=read("num_partitions", _parse_count, counts.num_partitions),
        aliases=read("input_output_alias", parse_aliases, ()),
        donors=read("buffer_donor", parse_donors, ()),
        entry_parameters=layout[0] if layout else None,
        entry_result=layout[1] if layout else None,
        frontend_attributes=read("frontend_attributes", parse_string_map, {}),
        attributes={key: scanner.text[start:end] for key, (start, end) in spans.items()},
    )


def _parse_bool(scanner: Scanner) -> bool:
    return scanner.expect_match(_BOOL, "true or false") == "true"


def _parse_count(scanner: Scanner) -> int:
    """Read a number of replicas or partitions."""
    count = scanner.expect_integer("a count")
    if not 1 <= count <= MOST_DEVICES:
        digits = len(str(count))
        scanner.fail(f"expected a count from 1 to {MOST_DEVICES:,}", scanner.pos - digits)
    return count


def _parse_entry_layout(
    shapes: ShapeCache, scanner: Scanner
) -> tuple[tuple[Shape, ...], Shape] | None:
    """Read the shapes of the entry's parameters and result, with layouts.

    entry_computation_layout = "{(" [ shape { "," shape } ] ")->" shape "}"
    """
    scanner.expect("{", "before the entry's layout")
    scanner.expect("(", "before the entry's parameters")
    parameters = scanner.parse_items(shapes.parse_next, ")", "a parameter's shape")
    scanner.expect("->", "after the entry's parameters")
    if (result := shapes.find(scanner.text[scanner.pos : scanner.end - 1])) is None:
        result = parse_shape(scanner)
    else:
        scanner.pos = scanner.end - 1
    scanner.expect("}", "after the entry's layout")
    return tuple(parameters), result


_TABLE = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)(?=\s)")
_NUMBER = re.compile(r"[0-9]{1,9}(?=\s)")
_FIELD = re.compile(r"([a-z_]++)=(-?[0-9]{1,19})")


def parse_tables(scanner: Scanner) -> DebugInfo:
    """Read the tables that are there, in any order.

    tables = { "FileNames" { number string } | "FunctionNames" { number string }
             | "FileLocations" { number fields } | "StackFrames" { number fields } }
    fields = "{" { name "=" integer [","] } "}"

    `parent_frame_id` is printed one too high (0 and 1 both mean: no parent).
    """
    strings: dict[str, dict[int, str]] = {"FileNames": {}, "FunctionNames": {}}
    rows: dict[str, dict[int, dict[str, int]]] = {"FileLocations": {}, "StackFrames": {}}
    scanner.skip_blanks()
    while match := scanner.accept_match(_TABLE):
        table = match[1]
        scanner.skip_blanks()
        while row := scanner.accept_match(_NUMBER):
            if table in strings:
                strings[table][int(row[0])] = unquote(scanner.expect_string(f"a row of {table}"))
            else:
                rows[table][int(row[0])] = _parse_fields(scanner, table)
            scanner.skip_blanks()
    return DebugInfo(
        {
            number: SourceLocation(
                strings["FileNames"].get(fields.get("file_name_id", 0), ""),
                fields.get("line", 0),
                fields.get("column", 0),
                fields.get("end_line", 0),
                fields.get("end_column", 0),
                strings["FunctionNames"].get(fields.get("function_name_id", 0), ""),
            )
            for number, fields in rows["FileLocations"].items()
        },
        {
            number: StackFrame(
                fields.get("file_location_id", 0), max(0, fields.get("parent_frame_id", 0) - 1)
            )
            for number, fields in rows["StackFrames"].items()
        },
    )


def _parse_fields(scanner: Scanner, table: str) -> dict[str, int]:
    """Read `{name=1 name=2}`."""
    scanner.expect("{", f"in a row of {table}")
    fields: dict[str, int] = {}
    while not scanner.accept_token("}"):
        scanner.skip_blanks()
        if (match := scanner.accept_match(_FIELD)) is None:
            scanner.fail_expected(f"name=number or '}}' in a row of {table}")
        fields[match[1]] = int(match[2])
        scanner.accept_token(",")
    return fields


_COMPUTATION = re.compile(rf"(?:ENTRY\s++)?+(?:%?(?P<name>{NAME})\s*+)?+(?=[{{(])")
_BODY = re.compile(rf"ROOT\s|%?{NAME}\s*+=")


class ComputationExtent(Struct, frozen=True):
    """A computation: its name, '' without one, and where its text lies."""

    name: str
    start: int
    end: int


def find_module_end(source: Source, start: int, limit: int | None = None) -> int | None:
    """Return the offset behind the last computation of the module that begins at `start`.

    Nothing is read from `limit` on. None where something in the module is never closed, or its
    header does not read: whoever parses it can say what.
    """
    scanner = Scanner(source, start, limit)
    try:
        _list_computations(scanner)
    except ParseError:
        return None
    return scanner.pos


def list_computations(source: Source, start: int) -> tuple[ComputationExtent, ...]:
    """Return the computations of the module that begins at `start`; raise ParseError as a parser.

    Nothing inside them is read.
    """
    return tuple(_list_computations(Scanner(source, start)))


def _list_computations(scanner: Scanner) -> list[ComputationExtent]:
    """Step over a module, to behind the last of the computations that follow one another."""
    scanner.skip_blanks()
    if scanner.starts_with("HloModule"):
        parse_header(scanner, ShapeCache(scanner.source))
        parse_tables(scanner)
    found: list[ComputationExtent] = []
    while (head := _accept_head(scanner)) is not None:
        start, name = head
        scanner.skip_group("the body of the computation")
        parse_thread(scanner)
        found.append(ComputationExtent(name, start, scanner.pos))
    return found


def _accept_head(scanner: Scanner) -> tuple[int, str] | None:
    """Step over what stands before the body of a computation, where one begins.

    Return where it begins and its name, None where no computation does.
    """
    before = scanner.pos
    scanner.skip_blanks()
    start = scanner.pos
    name = scanner.accept_match(_COMPUTATION)
    try:
        skip_signature(scanner)
    except ParseError:  # a text has only a part of it
        name = None
    scanner.skip_blanks()
    if name is not None and scanner.starts_with("{"):
        body = Scanner(scanner.source, scanner.pos + 1)
        body.skip_blanks()
        if _BODY.match(scanner.text, body.pos):
            return start, name["name"] or ""
    scanner.pos = before
    return None


def skip_signature(scanner: Scanner) -> None:
    """Step over `(parameters) -> shape` of a computation, where it stands.

    signature = "(" … ")" "->" shape
    """
    if scanner.starts_with("("):
        scanner.skip_group("the parameter list of the computation")
        scanner.expect("->", "after the computation's parameters")
        parse_shape(scanner)


def parse_thread(scanner: Scanner) -> str:
    """Read the thread of a computation behind its closing brace; the main one is not printed.

    thread = [ "," "execution_thread=" string ]
    """
    if scanner.starts_with("\n") or not scanner.accept_token(","):
        return "main"
    scanner.expect("execution_thread=", "after the computation")
    return unquote(scanner.expect_string("the execution thread"))
