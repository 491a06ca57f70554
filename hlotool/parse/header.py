"""The `HloModule` line: a name and a set of attributes in any order.

Source: xla/hlo/ir/hlo_module.cc (printing), hlo_parser.cc ParseHloModule (reading).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from hlotool.ir.groups import MOST_DEVICES
from hlotool.ir.module import Header
from hlotool.ir.shape import Shape, TupleShape
from hlotool.ir.values import Alias, Donor, ShapeIndex
from hlotool.parse.attributes import skip_value
from hlotool.parse.scanner import NAME, Scanner
from hlotool.parse.shape import ShapeCache, parse_shape
from hlotool.parse.strings import parse_string_map

T = TypeVar("T")
_EntryLayout = tuple[tuple[Shape, ...], Shape]  # parameters and result

_NAME = re.compile(NAME)
_KEY = re.compile(rf"({NAME})=")
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
        key = scanner.expect_match(_KEY, "an attribute of the module followed by '='")[:-1]
        if key in spans:
            end = scanner.pos - 1
            scanner.fail(f"the attribute {key!r} is given twice", end - len(key), end)
        spans[key] = skip_value(scanner, key), scanner.pos
    return name.group() if name else "", _interpret(scanner, spans, shapes)


def _interpret(scanner: Scanner, spans: dict[str, tuple[int, int]], shapes: ShapeCache) -> Header:
    def read(key: str, parse: Callable[[Scanner], T], absent: T) -> T:
        if key not in spans:
            return absent
        value_scanner = Scanner(scanner.source, *spans[key])
        value = parse(value_scanner)
        value_scanner.expect_end()
        return value

    def parse_layout(value: Scanner) -> _EntryLayout | None:
        return find_entry_layout(value, shapes) or parse_entry_layout(value)

    layout = read("entry_computation_layout", parse_layout, None)
    return Header(
        is_scheduled=read("is_scheduled", _parse_bool, absent=False),
        replica_count=read("replica_count", _parse_count, 1),
        num_partitions=read("num_partitions", _parse_count, 1),
        aliases=read("input_output_alias", parse_aliases, ()),
        donors=read("buffer_donor", _parse_donors, ()),
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


def find_entry_layout(scanner: Scanner, shapes: ShapeCache) -> _EntryLayout | None:
    """Read the entry's layout as machines print it, through the cache of shapes."""
    begin, _, end = scanner.text[scanner.pos : scanner.end].partition(")->")
    if not begin.startswith("{(") or not end.endswith("}"):
        return None
    parameters, result = shapes.find(begin[1:] + ")"), shapes.find(end[:-1])
    if not isinstance(parameters, TupleShape) or result is None:
        return None
    scanner.pos = scanner.end
    return parameters.elements, result


def parse_entry_layout(scanner: Scanner) -> _EntryLayout:
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


def parse_aliases(scanner: Scanner) -> tuple[Alias, ...]:
    """Read `{ alias, alias }`."""
    return tuple(parse_list(scanner, parse_alias))


def _parse_donors(scanner: Scanner) -> tuple[Donor, ...]:
    return tuple(parse_list(scanner, _parse_donor))


def _parse_donor(scanner: Scanner) -> Donor:
    """Read `(parameter, {index})`."""
    scanner.expect("(", "before a donated parameter")
    parameter = scanner.expect_integer("a parameter number")
    scanner.expect(",", "after the parameter number")
    index = parse_index(scanner)
    scanner.expect(")", "after the donated parameter")
    return Donor(parameter, index)
