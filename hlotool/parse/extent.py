"""Where does a module end, in a text that goes on behind it?

Nothing inside a computation is looked at but brackets, strings and comments.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import ParseError
from hlotool.parse.header import parse_header
from hlotool.parse.scanner import NAME, Scanner
from hlotool.parse.shape import ShapeCache, parse_shape
from hlotool.parse.tables import parse_tables
from hlotool.source import Source

_NAME: Final = re.compile(rf"(?:ENTRY\s++)?+(?:%?{NAME}\s*+)?+(?=[{{(])")
_BODY: Final = re.compile(rf"ROOT\s|%?{NAME}\s*+=")


def find_module_end(source: Source, start: int, limit: int | None = None) -> int | None:
    """Return the offset behind the last computation of the module that begins at `start`.

    Nothing is read from `limit` on. None where something in the module is never closed, or its
    header does not read: whoever parses it can say what.
    """
    scanner = Scanner(source, start, limit)
    scanner.skip_blanks()
    try:
        if scanner.starts_with("HloModule"):
            parse_header(scanner, ShapeCache(source))
            parse_tables(scanner)
        end = scanner.pos
        while _accept_head(scanner):
            scanner.skip_group("the body of the computation")
            if not scanner.starts_with("\n") and scanner.accept_token(","):
                scanner.expect("execution_thread=", "after the computation")
                scanner.expect_string("the execution thread")
            end = scanner.pos
    except ParseError:
        return None
    return end


def _accept_head(scanner: Scanner) -> bool:
    """Step over what stands before the body of a computation, and say whether one begins there."""
    start = scanner.pos
    scanner.skip_blanks()
    found = scanner.accept_match(_NAME) is not None and _accept_signature(scanner)
    scanner.skip_blanks()
    if found and scanner.starts_with("{"):
        body = Scanner(scanner.source, scanner.pos + 1)
        body.skip_blanks()
        if _BODY.match(scanner.text, body.pos):
            return True
    scanner.pos = start
    return False


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
