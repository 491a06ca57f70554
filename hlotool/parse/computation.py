"""One computation: its header line and its body, by whichever reader fits."""

from __future__ import annotations

import re

from msgspec import Struct

from hlotool.errors import ParseError
from hlotool.ir.computation import Computation
from hlotool.ir.shape import DTYPE_BITS
from hlotool.parse.body import BodyReader
from hlotool.parse.builder import Builder
from hlotool.parse.scanner import NAME
from hlotool.parse.shape import parse_shape
from hlotool.parse.strings import unquote
from hlotool.parse.styles import NO_NAMES

_INSIDE = r"[^()\n\"/]++|/\*index=[0-9]++\*/"  # of parentheses
_PARENS = rf"\((?:{_INSIDE}|\((?:{_INSIDE}|\((?:{_INSIDE})*+\))*+\))*+\)"
_SIZES = r"(?=[0-9,]{0,18}\])(?:[0-9]++(?:,[0-9]++)*+)?+"  # their product fits 64 bits
_ARRAY = rf"(?:{'|'.join(DTYPE_BITS)})\[{_SIZES}\]"
_ELEMENTS = rf"{_ARRAY}(?:, (?:/\*index=[0-9]++\*/)?+{_ARRAY})*+"

# What machines print: `[ENTRY ][%]name [(parameters) -> shape ]{` and a line's end. The shape
# says nothing the root does not; a simple one is passed over, others are read all the same.
_HEADER = re.compile(
    rf"\n*+(ENTRY )?+%?+({NAME}) "
    rf"(?:{_PARENS} -> (?:{_ARRAY}|\({_ELEMENTS}\)|([^\n]*?)) )?\{{\n"
)
_ENTRY = re.compile(r"ENTRY(?=[\s%{(])")
_NAME = re.compile(NAME)


class _Head(Struct, frozen=True):
    """A computation's header; `start` is where the name stands."""

    name: str
    is_entry: bool
    start: int


def read_computation(builder: Builder) -> None:
    """Read the next computation, in the way that is fast for it.

    computation = ["ENTRY"] [name] [signature] "{" body ["," "execution_thread=" string]
    """
    scanner = builder.scanner
    start = scanner.pos
    match = _HEADER.match(scanner.text, start)
    if match is None:
        read_computation_slowly(builder)
        return
    entry, name, result = match.groups()
    if result is not None and builder.shapes.find(result) is None:
        read_computation_slowly(builder)
        return
    computation = Computation(name, builder.module, entry is not None)
    known = len(builder.module.computations)
    scanner.pos = match.end() - 1
    try:
        BodyReader(builder, computation, match.start(2), by_line=True).read_to_close()
    except ParseError:
        builder.forget_after(known)
        scanner.pos = start
        read_computation_slowly(builder)
        return
    _finish(builder, computation, match.start(2))


def read_computation_slowly(builder: Builder) -> None:
    """Do as `read_computation` without the fast reader: the authority, for tests and repair."""
    builder.scanner.depth = 0  # the fast reader may have given up in the middle of something
    head = parse_head(builder)
    computation = Computation(head.name, builder.module, head.is_entry)
    BodyReader(builder, computation, head.start, by_line=False).read_to_close()
    _finish(builder, computation, head.start)


def _finish(builder: Builder, computation: Computation, start: int) -> None:
    """Read what may follow the closing brace, and register the computation.

    trailer = ["," "execution_thread=" string]
    """
    scanner = builder.scanner
    if not scanner.starts_with("\n") and scanner.accept_token(","):
        scanner.expect("execution_thread=", "after the computation")
        computation.execution_thread = unquote(scanner.expect_string("the execution thread"))
    builder.add_computation(computation, start)


def parse_head(builder: Builder) -> _Head:
    """Read a computation's header by hand, or raise where it is none.

    head      = ["ENTRY"] [name] [signature] "{"
    signature = "(" … ")" "->" shape
    """
    scanner = builder.scanner
    scanner.skip_blanks()
    is_entry = scanner.accept_match(_ENTRY) is not None
    scanner.skip_blanks()
    start = scanner.pos
    has_percent = scanner.accept("%")
    match = scanner.accept_match(_NAME)
    scanner.skip_blanks()
    if match is None and (has_percent or not scanner.starts_with("{")):
        if scanner.starts_with("("):
            scanner.fail(NO_NAMES)
        scanner.fail_expected("a computation or the end of the file")
    if scanner.starts_with("("):
        scanner.skip_group("the parameter list of the computation")
        scanner.expect("->", "after the computation's parameters")
        parse_shape(scanner)  # says nothing the root does not
    scanner.expect("{", "before the computation's instructions")
    name = match.group() if match else builder.unique_name("computation")
    return _Head(name, is_entry, start)
