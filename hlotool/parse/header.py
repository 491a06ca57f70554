"""The `HloModule` line: a name and a set of attributes in any order.

Source: xla/hlo/ir/hlo_module.cc (printing), hlo_parser.cc ParseHloModule (reading).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from hlotool.ir.module import Header
from hlotool.ir.shape import Shape, TupleShape
from hlotool.ir.values import Alias, Donor, ShapeIndex
from hlotool.parse.attributes import skip_value
from hlotool.parse.scanner import NAME, Scanner
from hlotool.parse.shape import ShapeCache, parse_shape
from hlotool.parse.strings import parse_string_map

T = TypeVar("T")

_NAME = re.compile(NAME)
_KEY = re.compile(r"([\w\-]++)=")
_BOOL = re.compile(r"true|false")
_KIND = re.compile(r"may-alias|must-alias")
# An alias of a whole parameter, as most are.
_ALIAS = re.compile(r" ?\{([0-9]{1,9}|)\}: \(([0-9]{1,9}), \{\}(?:, (may-alias|must-alias))?\)")


def parse_header(scanner: Scanner, shapes: ShapeCache) -> tuple[str, Header]:
    """Read `HloModule name, key=value…`; the name is '' in fingerprint prints.

    header = "HloModule" [name] { "," key "=" value }

    Keys this reader does not know are kept raw in `Header.attributes`.
    """
    scanner.expect("HloModule", "at the beginning of a module")
    scanner.skip_blanks()
    scanner.accept("%")
    name = scanner.accept_match(_NAME)
    spans: dict[str, tuple[int, int]] = {}
    while scanner.accept_token(","):
        scanner.skip_blanks()
        match = scanner.accept_match(_KEY)
        if match is None:
            scanner.fail_expected("an attribute of the module followed by '='")
        spans[match[1]] = skip_value(scanner, match[1]), scanner.pos
    return name.group() if name else "", _interpret(scanner, spans, shapes)


def _interpret(scanner: Scanner, spans: dict[str, tuple[int, int]], shapes: ShapeCache) -> Header:
    def at(key: str) -> Scanner | None:
        span = spans.get(key)
        return Scanner(scanner.source, *span) if span else None

    layout = at("entry_computation_layout")
    parameters, result = _parse_layout(layout, shapes) if layout else (None, None)
    aliases, donors = at("input_output_alias"), at("buffer_donor")
    frontend = at("frontend_attributes")
    return Header(
        is_scheduled=_parse_bool(at("is_scheduled")),
        replica_count=_parse_count(at("replica_count")),
        num_partitions=_parse_count(at("num_partitions")),
        aliases=tuple(parse_list(aliases, parse_alias)) if aliases else (),
        donors=tuple(parse_list(donors, _parse_donor)) if donors else (),
        entry_parameters=parameters,
        entry_result=result,
        frontend_attributes=parse_string_map(frontend) if frontend else {},
        attributes={key: scanner.text[start:end] for key, (start, end) in spans.items()},
    )


def _parse_bool(scanner: Scanner | None) -> bool:
    return scanner is not None and scanner.expect_match(_BOOL, "true or false") == "true"


def _parse_count(scanner: Scanner | None) -> int:
    """Read a number of replicas or partitions; 1 where the header has none."""
    if scanner is None:
        return 1
    start = scanner.pos
    count = scanner.expect_integer("a count")
    if count < 1:
        scanner.fail("expected a count of at least 1", start, scanner.pos)
    return count


def _parse_layout(scanner: Scanner, shapes: ShapeCache) -> tuple[tuple[Shape, ...], Shape]:
    """Read the entry's layout through the cache of shapes, by hand where that fails."""
    opened, _, rest = scanner.text[scanner.pos : scanner.end].partition(")->")
    if opened.startswith("{(") and rest.endswith("}"):
        parameters, result = shapes.find(opened[1:] + ")"), shapes.find(rest[:-1])
        if isinstance(parameters, TupleShape) and result is not None:
            return parameters.elements, result
    return parse_entry_layout(scanner)


def parse_entry_layout(scanner: Scanner) -> tuple[tuple[Shape, ...], Shape]:
    """Read the shapes of the entry's parameters and result, with layouts.

    entry_computation_layout = "{(" [ shape { "," shape } ] ")->" shape "}"
    """
    scanner.expect("{", "before the entry's layout")
    scanner.expect("(", "before the entry's parameters")
    parameters: list[Shape] = []
    if not scanner.accept_token(")"):
        parameters.append(parse_shape(scanner))
        while scanner.accept_token(","):
            parameters.append(parse_shape(scanner))
        scanner.expect(")", "or ',' after a parameter's shape")
    scanner.expect("->", "after the entry's parameters")
    result = parse_shape(scanner)
    scanner.expect("}", "after the entry's layout")
    return tuple(parameters), result


def parse_list(scanner: Scanner, parse_item: Callable[[Scanner], T]) -> list[T]:
    """Read `{ item, item }`."""
    scanner.expect("{", "before the list")
    items: list[T] = []
    if not scanner.accept_token("}"):
        items.append(parse_item(scanner))
        while scanner.accept_token(","):
            items.append(parse_item(scanner))
        scanner.expect("}", "or ',' after an entry of the list")
    return items


def parse_index(scanner: Scanner) -> ShapeIndex:
    """Read a shape index `{0, 1}`."""
    scanner.expect("{", "before a shape index")
    index: list[int] = []
    if not scanner.accept_token("}"):
        index.append(scanner.expect_integer("an index"))
        while scanner.accept_token(","):
            index.append(scanner.expect_integer("an index"))
        scanner.expect("}", "or ',' after an index")
    return tuple(index)


def parse_alias(scanner: Scanner) -> Alias:
    """Read `{output index}: (number, {index}[, may-alias|must-alias])`."""
    usual = scanner.accept_match(_ALIAS)
    if usual:
        element, parameter, kind_text = usual.groups()
        return Alias((int(element),) if element else (), int(parameter), (), kind_text or "")
    output = parse_index(scanner)
    scanner.expect(":", "after the output's index")
    scanner.expect("(", "before the aliased number")
    number = scanner.expect_integer("a number")
    scanner.expect(",", "after the number")
    index = parse_index(scanner)
    kind = ""
    if scanner.accept_token(","):
        kind = scanner.expect_match(_KIND, "may-alias or must-alias")
    scanner.expect(")", "after the alias")
    return Alias(output, number, index, kind)


def _parse_donor(scanner: Scanner) -> Donor:
    """Read `(parameter, {index})`."""
    scanner.expect("(", "before a donated parameter")
    parameter = scanner.expect_integer("a parameter number")
    scanner.expect(",", "after the parameter number")
    index = parse_index(scanner)
    scanner.expect(")", "after the donated parameter")
    return Donor(parameter, index)
