"""Layouts: what stands in braces behind an array's dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from hlotool.ir.shape import COMBINED, Layout
from hlotool.parse.scanner import Scanner

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
    parts = _LayoutParts()
    if scanner.accept_token(":"):
        while not scanner.accept_token("}"):
            parts.parse_next(scanner)
    else:
        scanner.expect("}", "after the layout")
    if sorted(order) != list(range(rank)):
        scanner.fail(
            f"the layout must name each of the array's {rank} dimensions once",
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
        scanner.skip_blanks()
        start = scanner.pos
        letter = scanner.expect_match(_PART, "a layout part or '}'")
        if letter == "T":
            while scanner.starts_with("("):
                self.tiles.append(_parse_tile(scanner))
        elif letter in {"L", "E", "S", "M"}:
            scanner.expect("(", f"after {letter!r}")
            self.numbers[letter] = int(scanner.expect_match(_NUMBER, f"a number for {letter!r}"))
            scanner.expect(")", f"after the number of {letter!r}")
        else:
            while scanner.starts_with("("):
                scanner.skip_group(f"the layout part {letter!r}")
            self.rest.append(scanner.text[start : scanner.pos])


def _parse_tile(scanner: Scanner) -> tuple[int, ...]:
    """Parse `(8,128)` or `(2,*)`; tile sizes are positive."""
    scanner.expect("(", "before the tile")
    start = scanner.pos
    entries: list[int] = []
    while True:
        if scanner.accept_token("*"):
            entries.append(COMBINED)
        else:
            entries.append(scanner.expect_count("a tile size such as 128"))
        if not scanner.accept_token(","):
            break
    scanner.expect(")", "or ',' after a tile size")
    if 0 in entries:
        scanner.fail("tile sizes are positive", start, scanner.pos - 1)
    if not is_countable(entries):
        scanner.fail("the tile has more elements than 64 bits count", start, scanner.pos - 1)
    return tuple(entries)
