"""Shapes and layouts, by recursive descent; `ShapeCache` makes one object per spelling."""

from __future__ import annotations

import re

from hlotool.errors import ParseError
from hlotool.ir.shape import (
    COMBINED,
    DTYPE_BITS,
    UNBOUNDED,
    ArrayShape,
    Layout,
    Shape,
    TupleShape,
)
from hlotool.parse.scanner import Scanner
from hlotool.source import Source

_DTYPE = re.compile(r"[a-z]\w*+")
_DIMENSION = re.compile(r"(<=)?(\d{1,19})|\?")
_LAYOUT_OPENS = re.compile(r"\{(?:\s*+[\d:]|\})")
_LAYOUT_PART = re.compile(r"SC(?=\()|[DTLESPM](?=\()|[#*](?=\()")
_NUMBER_PART = re.compile(r"\(\s*+(\d{1,9})\s*+\)")


def parse_shape(scanner: Scanner) -> Shape:
    """Parse one shape (XLA: HloParserImpl::ParseShape).

    shape = array | "(" [ shape { "," shape } ] ")" | "b(" shape ")"
    array = dtype "[" [ dim { "," dim } ] "]" [ layout ]
    dim   = integer | "<=" integer | "?"

    A buffer `b(...)` reads as the array it wraps: same elements, same bytes.
    """
    scanner.skip_blanks()
    if scanner.starts_with("("):
        return _parse_tuple(scanner)
    if scanner.accept("b("):
        scanner.enter("shapes")
        shape = parse_shape(scanner)
        scanner.leave()
        scanner.expect(")", "after the buffer's shape")
        return shape
    return _parse_array(scanner)


def _parse_tuple(scanner: Scanner) -> TupleShape:
    scanner.enter("tuple shapes")
    scanner.expect("(", "before a tuple shape")
    elements: list[Shape] = []
    if not scanner.accept_token(")"):
        elements.append(parse_shape(scanner))
        while scanner.accept_token(","):
            elements.append(parse_shape(scanner))
        scanner.expect(")", "or ',' after an element of the tuple shape")
    scanner.leave()
    return TupleShape(tuple(elements))


def _parse_array(scanner: Scanner) -> ArrayShape:
    start = scanner.pos
    dtype = scanner.expect_match(_DTYPE, "a shape")
    if dtype not in DTYPE_BITS:
        scanner.fail(f"unknown element type {dtype!r}", start, scanner.pos)
    if not scanner.accept("["):
        scanner.fail_expected(f"'[' after the element type {dtype!r}")
    dims: list[int] = []
    dynamic: list[int] = []
    if not scanner.accept_token("]"):
        while True:
            scanner.skip_blanks()
            match = scanner.accept_match(_DIMENSION)
            if match is None:
                scanner.fail_expected("a dimension")
            if match[1] or not match[2]:
                dynamic.append(len(dims))
            dims.append(int(match[2]) if match[2] else UNBOUNDED)
            if not scanner.accept_token(","):
                break
        scanner.expect("]", "or ',' after a dimension")
    layout = None
    if _LAYOUT_OPENS.match(scanner.text, scanner.pos, scanner.end):
        layout = parse_layout(scanner, len(dims))
    return ArrayShape(dtype, tuple(dims), layout, tuple(dynamic))


def parse_layout(scanner: Scanner, rank: int) -> Layout:
    """Parse a layout (XLA: HloParserImpl::ParseLayout).

    layout = "{" [ integer { "," integer } ] [ ":" { part } ] "}"
    part   = "T" tile { tile } | "L(n)" | "E(n)" | "S(n)" | "M(n)" | other
    other  = ("D" | "#" | "*" | "SC" | "P") group { group }
    """
    start = scanner.pos
    scanner.expect("{", "before the layout")
    order: list[int] = []
    scanner.skip_blanks()
    if scanner.peek().isdigit():
        order.append(scanner.expect_integer("a dimension number"))
        while scanner.accept_token(","):
            order.append(scanner.expect_integer("a dimension number"))
    parts = _LayoutParts()
    if scanner.accept_token(":"):
        while not scanner.accept_token("}"):
            parts.parse_next(scanner)
    else:
        scanner.expect("}", "after the layout")
    if sorted(order) != list(range(rank)):
        scanner.fail(
            f"the layout orders {len(order)} dimensions, not each of the array's {rank} once",
            start,
            scanner.pos,
        )
    return Layout(
        tuple(order),
        tuple(parts.tiles),
        parts.numbers.get("S", 0),
        parts.numbers.get("E", 0),
        parts.numbers.get("L", 1),
        parts.numbers.get("M", 0),
        "".join(parts.rest),
    )


class _LayoutParts:
    """What stands behind the colon of a layout, gathered part by part."""

    def __init__(self) -> None:
        self.tiles: list[tuple[int, ...]] = []
        self.numbers: dict[str, int] = {}
        self.rest: list[str] = []

    def parse_next(self, scanner: Scanner) -> None:
        """Read one part, or raise where it is none."""
        start = scanner.pos
        letter = scanner.expect_match(_LAYOUT_PART, "a layout part or '}'")
        if letter == "T":
            while scanner.starts_with("("):
                self.tiles.append(_parse_tile(scanner))
        elif letter in {"L", "E", "S", "M"}:
            match = scanner.accept_match(_NUMBER_PART)
            if match is None:
                scanner.fail_expected(f"a number in parentheses after {letter!r}")
            self.numbers[letter] = int(match[1])
        else:
            while scanner.starts_with("("):
                scanner.skip_group(f"the layout part {letter!r}")
            self.rest.append(scanner.text[start : scanner.pos])


def _parse_tile(scanner: Scanner) -> tuple[int, ...]:
    """Parse `(8,128)` or `(2,*)`; tile sizes are positive."""
    start = scanner.pos
    entries: list[int] = []
    for text in scanner.skip_group("the tile").split(","):
        word = text.strip()
        if word == "*":
            entries.append(COMBINED)
        elif word.isdecimal() and 0 < len(word.lstrip("0")) < 10:
            entries.append(int(word))
        else:
            scanner.fail("expected positive tile sizes such as (8,128)", start, scanner.pos)
    return tuple(entries)


class ShapeCache(dict[str, Shape]):
    """Shapes by their text: the 9,917 instructions of a train step spell 423 shapes."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def find(self, text: str) -> Shape | None:
        """Return the shape spelled `text`, None if it is no shape; remember it."""
        shape = self.get(text)
        if shape is None:
            scanner = Scanner(Source(text))
            try:
                shape = parse_shape(scanner)
            except ParseError:
                return None
            if scanner.pos != len(text):
                return None
            self[text] = shape
        return shape
