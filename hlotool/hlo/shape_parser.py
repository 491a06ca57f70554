"""Shapes and layouts as text: a descent, the authority, and a cache of one object a spelling.

A layout is what stands in braces behind an array's dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeVar

from hlotool.errors import ParseError
from hlotool.hlo.scanner import MOST_NESTED, Scanner
from hlotool.hlo.shape import COMBINED, DTYPE_BITS, UNBOUNDED, ArrayShape, Layout, Shape, TupleShape
from hlotool.text import Source

T = TypeVar("T")

_MOST: Final = 1 << 63
_PART = re.compile(r"SC(?=\()|[DTLESPM](?=\()|[#*](?=\()")
_NUMBER = re.compile(r"[0-9]{1,9}")


def is_countable(sizes: Iterable[int]) -> bool:
    """Say whether the product of sizes fits 64 bits, as XLA's counters do."""
    count = 1
    for size in sizes:
        count *= max(size, 1)
        if count >= _MOST:
            return False
    return True


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
    if _NUMBER.match(scanner.text, scanner.pos, scanner.end):
        order.append(scanner.expect_integer("a dimension number"))
        while scanner.accept_token(","):
            order.append(scanner.expect_integer("a dimension number"))
    tiles: list[tuple[int, ...]] = []
    numbers: dict[str, int] = {}
    rest: list[str] = []
    if scanner.accept_token(":"):
        while not scanner.accept_token("}"):
            scanner.skip_blanks()
            begin = scanner.pos
            letter = scanner.expect_match(_PART, "a layout part or '}'")
            if letter == "T":
                while scanner.starts_with("("):
                    tiles.append(_parse_tile(scanner))
            elif letter in {"L", "E", "S", "M"}:
                scanner.expect("(", f"after {letter!r}")
                numbers[letter] = int(scanner.expect_match(_NUMBER, f"a number for {letter!r}"))
                scanner.expect(")", f"after the number of {letter!r}")
            else:
                while scanner.starts_with("("):
                    scanner.skip_group(f"the layout part {letter!r}")
                rest.append(scanner.text[begin : scanner.pos])
    else:
        scanner.expect("}", "after the layout")
    if sorted(order) != list(range(rank)):
        message = f"the layout must name each of the array's {rank} dimensions once"
        scanner.fail(message, start, scanner.pos)
    return Layout(
        tuple(order),
        tuple(tiles),
        numbers.get("S", 0),
        numbers.get("E", 0),
        numbers.get("L", 1),
        numbers.get("M", 0),
        "".join(rest),
    )


def _parse_tile(scanner: Scanner) -> tuple[int, ...]:
    """Parse `(8,128)` or `(2,*)`; tile sizes are positive."""
    scanner.expect("(", "before the tile")
    start = scanner.pos
    entries: list[int] = []
    while not entries or scanner.accept_token(","):  # a tile is never empty
        is_combined = scanner.accept_token("*")
        entries.append(COMBINED if is_combined else scanner.expect_count("a tile size such as 128"))
    scanner.expect(")", "or ',' after a tile size")
    if 0 in entries:
        scanner.fail("tile sizes are positive", start, scanner.pos - 1)
    if not is_countable(entries):
        scanner.fail("the tile has more elements than 64 bits can count", start, scanner.pos - 1)
    return tuple(entries)


_DTYPE = re.compile(r"[a-z][a-z0-9]*+")
_DIMENSION = re.compile(r"(<=)?([0-9]{1,19})|\?")
_LAYOUT_OPENS = re.compile(r"\s*+\{(?=\s*+[0-9:])|\{(?=\})")

# An array as machines print it; dimensions of ten digits and more are left to the descent.
_ARRAY = re.compile(r"([a-z][a-z0-9]*+)\[((?:[0-9]{1,9},)*+[0-9]{1,9})?+\](\{[^{}\s]*+\})?+")
_FEW = 2  # dimensions of nine digits each that always fit 64 bits
# One array in a tuple, with the tuples that begin before and end after it; `()` holds none.
_STEP = re.compile(
    r"(?:/\*index=[0-9]++\*/)?+(\(*+)"
    r"([a-z][a-z0-9]*+\[[0-9,]*+\](?:\{[^{}\s]*+\})?+|(?<=\()(?=\)))"
    r"(\)*+)(?:, |\Z)"
)


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
    elements = scanner.parse_items(parse_shape, ")", "an element of the tuple shape")
    scanner.leave()
    return TupleShape(tuple(elements))


def _parse_array(scanner: Scanner) -> ArrayShape:
    start = scanner.pos
    if (dtype := scanner.expect_match(_DTYPE, "a shape")) not in DTYPE_BITS:
        scanner.fail(f"unknown element type {dtype!r}", start, scanner.pos)
    if not scanner.accept_token("["):
        scanner.fail_expected(f"'[' after the element type {dtype!r}")
    dimensions = scanner.parse_items(_parse_dimension, "]", "a dimension")
    dims = tuple(size for size, _ in dimensions)
    dynamic = tuple(number for number, (_, is_dynamic) in enumerate(dimensions) if is_dynamic)
    if not is_countable(dims):
        scanner.fail("the array has more elements than 64 bits can count", start, scanner.pos)
    if opens := scanner.accept_match(_LAYOUT_OPENS):
        scanner.pos = opens.end() - 1
    layout = parse_layout(scanner, len(dims)) if opens else None
    return ArrayShape(dtype, dims, layout, dynamic)


def _parse_dimension(scanner: Scanner) -> tuple[int, bool]:
    """Read one dimension: its size or bound, and whether it is dynamic."""
    scanner.skip_blanks()
    if (match := scanner.accept_match(_DIMENSION)) is None:
        scanner.fail_expected("a dimension")
    bounded, size = match.groups()
    return (int(size), bounded is not None) if size else (UNBOUNDED, True)


class ShapeCache(dict[str, Shape]):
    """Shapes by their text: the 9,917 instructions of a train step spell 423 shapes.

    Spellings that machines print are read by regex; what is no shape raises KeyError.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self._layouts: dict[str, Layout | None] = {}

    def __missing__(self, text: str) -> Shape:
        shape = self._read_tuple(text) if text[:1] == "(" else self._read_array(text)
        shape = shape or _parse_whole(text, parse_shape)
        if shape is None:
            raise KeyError(text)
        self[text] = shape
        return shape

    def find(self, text: str) -> Shape | None:
        """Return the shape spelled `text`, None if it is no shape; remember it."""
        try:
            return self[text]
        except KeyError:
            return None

    def parse_next(self, scanner: Scanner) -> Shape:
        """Read the shape at the cursor, an array among others by its text; raise if it is none."""
        scanner.skip_blanks()
        match = _ARRAY.match(scanner.text, scanner.pos, scanner.end)
        if match and scanner.text.startswith((",", ")"), match.end(), scanner.end):
            shape = self.find(match[0])
            if shape is not None:
                scanner.pos = match.end()
                return shape
        return parse_shape(scanner)

    def _read_tuple(self, text: str) -> Shape | None:
        """Read a tuple of arrays and tuples; None when it is not as machines print it."""
        begun: list[list[Shape]] = [[]]
        pos = 0
        while pos < len(text):
            if (step := _STEP.match(text, pos)) is None:
                return None
            opened, array_text, closed = step.groups()
            begun.extend([] for _ in opened)
            if (array := self.find(array_text)) is not None:
                begun[-1].append(array)
            if (array_text and array is None) or not len(closed) < len(begun) < MOST_NESTED:
                return None
            for _ in closed:
                done = TupleShape(tuple(begun.pop()))
                begun[-1].append(done)
            pos = step.end()
        whole = begun[0]
        return whole[0] if len(begun) == len(whole) == 1 and text[-1] == ")" else None

    def _read_array(self, text: str) -> ArrayShape | None:
        """Read an array with fixed dimensions; None for any other."""
        if (match := _ARRAY.fullmatch(text)) is None:
            return None
        dtype, sizes, layout_text = match.groups()
        dims = tuple(map(int, sizes.split(","))) if sizes else ()
        if dtype not in DTYPE_BITS or (len(dims) > _FEW and not is_countable(dims)):
            return None
        if layout_text is None:
            return ArrayShape(dtype, dims)
        if layout_text not in self._layouts:
            parse = partial(parse_layout, rank=len(dims))
            self._layouts[layout_text] = _parse_whole(layout_text, parse)
        layout = self._layouts[layout_text]
        if layout is None or len(layout.minor_to_major) != len(dims):
            return None
        return ArrayShape(dtype, dims, layout)


def _parse_whole(text: str, parse: Callable[[Scanner], T]) -> T | None:
    """Parse a text that is a value and nothing else; None when it is not."""
    scanner = Scanner(Source(text))
    try:
        value = parse(scanner)
    except ParseError:
        return None
    return value if scanner.pos == len(text) else None
