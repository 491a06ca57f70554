"""One computation: its header line and its body, by whichever reader fits."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hlotool.errors import ParseError
from hlotool.ir.module import Computation
from hlotool.parse.builder import Builder
from hlotool.parse.instruction import BodyReader
from hlotool.parse.line import read_lines
from hlotool.parse.scanner import NAME, Scanner
from hlotool.parse.shape import parse_shape

# What machines print: `[ENTRY ][%]name [(parameters) -> shape ]{` and a line's end.
_HEADER = re.compile(
    rf"\n*+(ENTRY )?+%?+({NAME}) "
    r"(?:\((?:[^()\n\"]++|\((?:[^()\n\"]++|\([^()\n\"]*+\))*+\))*+\) -> ([^\n]*?) )?\{\n"
)
_ENTRY = re.compile(r"ENTRY(?=[\s%{(])")
_NAME = re.compile(NAME)
_NO_NAMES = (
    "computation names are missing: this text was printed with print_ids off, and its operands "
    "cannot be told apart; dump it again with ids"
)


@dataclass(frozen=True, slots=True)
class _Head:
    """A computation's header: where the name stands, where the body begins."""

    name: str
    is_entry: bool
    start: int
    body: int


def read_computation(builder: Builder, pos: int) -> int:
    """Read the computation at `pos` (blanks before it are passed over); return its end.

    computation = ["ENTRY"] [name] [signature] "{" body ["," "execution_thread=" string]
    """
    text = builder.source.text
    head = _find_head(builder, pos) or parse_head(builder, Scanner(builder.source, pos))
    computation = Computation(head.name, builder.module, head.is_entry)
    known = len(builder.module.computations)
    end = _read_body_fast(builder, computation, head.body)
    if end is None:
        builder.forget_after(known)
        computation = Computation(head.name, builder.module, head.is_entry)
        scanner = Scanner(builder.source, head.body)
        BodyReader(builder, scanner, computation).read_to_close()
        end = scanner.pos
    scanner = Scanner(builder.source, end)
    if not text.startswith("\n", end):
        _parse_trailer(scanner, computation)
    builder.add_computation(computation, scanner, head.start)
    return scanner.pos


def read_computation_slowly(builder: Builder, pos: int) -> int:
    """Do as `read_computation` without the fast reader: the authority, for tests and repair."""
    scanner = Scanner(builder.source, pos)
    head = parse_head(builder, scanner)
    computation = Computation(head.name, builder.module, head.is_entry)
    BodyReader(builder, scanner, computation).read_to_close()
    _parse_trailer(scanner, computation)
    builder.add_computation(computation, scanner, head.start)
    return scanner.pos


def _find_head(builder: Builder, pos: int) -> _Head | None:
    """Read a header line as machines print it; None when it is not one."""
    match = _HEADER.match(builder.source.text, pos)
    if match is None:
        return None
    entry, name, result = match.groups()
    if result is not None and builder.shapes.find(result) is None:
        return None
    return _Head(name, entry is not None, match.start(2), match.end())


def parse_head(builder: Builder, scanner: Scanner) -> _Head:
    """Read a computation's header by hand, or raise where it is none.

    head      = ["ENTRY"] [name] [signature] "{"
    signature = "(" … ")" "->" shape
    """
    scanner.skip_blanks()
    is_entry = scanner.accept_match(_ENTRY) is not None
    scanner.skip_blanks()
    start = scanner.pos
    has_percent = scanner.accept("%")
    match = scanner.accept_match(_NAME)
    scanner.skip_blanks()
    if match is None and (has_percent or not scanner.starts_with("{")):
        if scanner.starts_with("("):
            scanner.fail(_NO_NAMES)
        scanner.fail_expected("a computation or the end of the file")
    if scanner.starts_with("("):
        scanner.skip_group("the parameter list of the computation")
        scanner.expect("->", "after the computation's parameters")
        _parse_result(builder, scanner)
    scanner.expect("{", "before the computation's instructions")
    name = match.group() if match else builder.unique_name("computation")
    return _Head(name, is_entry, start, scanner.pos)


def _parse_result(builder: Builder, scanner: Scanner) -> None:
    """Step over the result shape of a signature, which says nothing the root does not."""
    start = scanner.pos
    shape = parse_shape(scanner)
    builder.shapes.setdefault(scanner.text[start : scanner.pos].strip(), shape)


def _read_body_fast(builder: Builder, computation: Computation, start: int) -> int | None:
    """Read a body line by line, single instructions slowly where needed; return its end.

    None when the body is not what machines print (a string or bracket goes over the place
    where it seems to end) or a line does not read: the slow reader then has the word.
    """
    text = builder.source.text
    close = text.find("\n}", start - 1) + 1
    if (
        not close
        or text.count('"', start, close) % 2
        or text.count("{", start, close) != text.count("}", start, close)
    ):
        return None
    scanner = Scanner(builder.source, start)
    reader = BodyReader(builder, scanner, computation)
    shapes = builder.shapes
    while True:
        scanner.pos = read_lines(computation, reader.defined, shapes, scanner.pos, close)
        if scanner.pos >= close:
            return scanner.pos + 1 if scanner.pos == close else None
        try:
            scanner.skip_blanks()
            if scanner.pos < close:
                reader.read_instruction()
        except ParseError:
            return None


def _parse_trailer(scanner: Scanner, computation: Computation) -> None:
    """Read what may follow the closing brace.

    trailer = ["," "execution_thread=" string]
    """
    if scanner.accept_token(","):
        scanner.expect("execution_thread=", "after the computation")
        computation.execution_thread = scanner.expect_string("the execution thread")[1:-1]
