"""One computation: its header line and its body, by whichever reader fits."""

from __future__ import annotations

import re

from hlotool.errors import ParseError
from hlotool.ir.module import Computation, Instruction
from hlotool.ir.shape import DTYPE_BITS
from hlotool.parse.builder import Builder
from hlotool.parse.instruction import BodyReader
from hlotool.parse.line import read_lines
from hlotool.parse.scanner import NAME, Scanner
from hlotool.parse.shape import parse_shape
from hlotool.records import record

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
_NO_NAMES = (
    "computation names are missing: this text was printed with print_ids off, and its operands "
    "cannot be told apart; dump it again with ids"
)


@record
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
    match = _HEADER.match(builder.source.text, pos)
    if match is None:
        return read_computation_slowly(builder, pos)
    entry, name, result = match.groups()
    if result is not None and builder.shapes.find(result) is None:
        return read_computation_slowly(builder, pos)
    computation = Computation(name, builder.module, entry is not None)
    known = len(builder.module.computations)
    end = _read_body(builder, computation, match.end())
    if end < 0:
        builder.forget_after(known)
        return read_computation_slowly(builder, pos)
    return _finish(builder, computation, match.start(2), end)


def read_computation_slowly(builder: Builder, pos: int) -> int:
    """Do as `read_computation` without the fast reader: the authority, for tests and repair."""
    scanner = Scanner(builder.source, pos)
    head = parse_head(builder, scanner)
    computation = Computation(head.name, builder.module, head.is_entry)
    BodyReader(builder, scanner, computation, {}).read_to_close()
    return _finish(builder, computation, head.start, scanner.pos)


def _finish(builder: Builder, computation: Computation, start: int, end: int) -> int:
    """Read what may follow the closing brace and register the computation; return the end.

    trailer = ["," "execution_thread=" string]
    """
    if not builder.source.text.startswith("\n", end):
        scanner = Scanner(builder.source, end)
        if scanner.accept_token(","):
            scanner.expect("execution_thread=", "after the computation")
            computation.execution_thread = scanner.expect_string("the execution thread")[1:-1]
            end = scanner.pos
    builder.add_computation(computation, start)
    return end


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
        parse_shape(scanner)  # says nothing the root does not
    scanner.expect("{", "before the computation's instructions")
    name = match.group() if match else builder.unique_name("computation")
    return _Head(name, is_entry, start, scanner.pos)


def _read_body(builder: Builder, computation: Computation, start: int) -> int:
    """Read a body line by line, single instructions slowly where needed; return its end.

    -1 when a line does not read, or a name is defined twice: the slow reader has the word.
    """
    defined: dict[str, Instruction] = {}
    pos = read_lines(computation, defined, builder.shapes, builder.kinds, start)
    scanner = Scanner(builder.source, pos)
    while not scanner.accept_token("}"):
        try:
            BodyReader(builder, scanner, computation, defined).read_instruction()
        except ParseError:
            return -1
        if scanner.accept("\n"):
            scanner.pos = read_lines(
                computation, defined, builder.shapes, builder.kinds, scanner.pos
            )
    return scanner.pos if len(defined) == len(computation.instructions) else -1
