"""Where does a module end, in a text that goes on behind it?

Nothing inside a computation is looked at but brackets, strings and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hlotool.errors import ParseError
from hlotool.hlo.header_parser import parse_header, parse_tables
from hlotool.hlo.scanner import NAME, Scanner
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.text import Source

_NAME: Final = re.compile(rf"(?:ENTRY\s++)?+(?:%?(?P<name>{NAME})\s*+)?+(?=[{{(])")
_BODY: Final = re.compile(rf"ROOT\s|%?{NAME}\s*+=")


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
        end = _skip_head(scanner)
        for each in _list_computations(scanner):
            end = each.end
    except ParseError:
        return None
    return end


def list_computations(source: Source, start: int) -> tuple[ComputationExtent, ...]:
    """Return the computations of the module that begins at `start`; raise ParseError as a parser.

    Nothing inside them is read.
    """
    scanner = Scanner(source, start)
    _skip_head(scanner)
    return tuple(_list_computations(scanner))


def _skip_head(scanner: Scanner) -> int:
    """Step over the header and the tables of a module, and return the offset behind them."""
    scanner.skip_blanks()
    if scanner.starts_with("HloModule"):
        parse_header(scanner, ShapeCache(scanner.source))
        parse_tables(scanner)
    return scanner.pos


def _list_computations(scanner: Scanner) -> Iterator[ComputationExtent]:
    """Yield the computations that follow one another."""
    while (head := _accept_head(scanner)) is not None:
        start, name = head
        scanner.skip_group("the body of the computation")
        if not scanner.starts_with("\n") and scanner.accept_token(","):
            scanner.expect("execution_thread=", "after the computation")
            scanner.expect_string("the execution thread")
        yield ComputationExtent(name, start, scanner.pos)


def _accept_head(scanner: Scanner) -> tuple[int, str] | None:
    """Step over what stands before the body of a computation, where one begins.

    Return where it begins and its name, None where no computation does.
    """
    before = scanner.pos
    scanner.skip_blanks()
    start = scanner.pos
    name = scanner.accept_match(_NAME)
    found = name is not None and _accept_signature(scanner)
    scanner.skip_blanks()
    if name is not None and found and scanner.starts_with("{"):
        body = Scanner(scanner.source, scanner.pos + 1)
        body.skip_blanks()
        if _BODY.match(scanner.text, body.pos):
            return start, name["name"] or ""
    scanner.pos = before
    return None


def _accept_signature(scanner: Scanner) -> bool:
    """Step over `(parameters) -> shape` where it stands; say no where a text has only a part."""
    if not scanner.starts_with("("):
        return True
    try:
        scanner.skip_group("the parameter list of the computation")
        scanner.expect("->", "after the computation's parameters")
        parse_shape(scanner)
    except ParseError:
        return False
    return True
