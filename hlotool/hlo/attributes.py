"""The attributes after an instruction's operands: split into keys and raw values.

Two readers with one answer, so what one learns to read the other must know or leave alone:

* `read_attributes` is for a line that XLA printed. A regular expression takes it; where that stops,
  or a key comes twice, the line goes to the descent. `Instruction.attributes` asks it, late.
* `parse_attributes` is the descent, for texts of all forms: comments, line breaks, bodies of
  computations as values. It is the authority, and the only one that says what is wrong.

What a value means is in `attribute_values`; `Instruction` asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern
from typing import Final

from hlotool.errors import ParseError
from hlotool.hlo.opcodes import CALL_KEYS
from hlotool.hlo.scanner import NAME, QUOTED, STRING, Scanner
from hlotool.text import Source

_BRACES_DEPTH: Final = 6  # what backend_config's JSON needs; deeper goes the slow way


def _braces(depth: int) -> str:
    """Match braces with so many more levels of them inside; `re` has no recursion."""
    inner = rf"|{_braces(depth - 1)}" if depth else ""
    return rf"\{{(?:[^{{}}\"/]++|/(?!\*)|{STRING}{inner})*+\}}"


# A `/` outside of braces may begin a comment, which only the descent steps over.
_GROUP: Final = rf"(?:{_braces(_BRACES_DEPTH)}|\[[^\[\]\"/]*+\]|\([^()\"/]*+\))"
_CHUNK: Final = rf"(?:[^\s,{{}}()\[\]\"'/]++|{STRING}|{_GROUP})"

# `, key=value`; a value of several words (`mesh[...] {'a'}`, `s32[2] {1,2}`) is left to the
# descent by the look-ahead, and so is the one with a comma (`mesh[a=4], device_ids=…`).
_ATTRIBUTE = re.compile(rf", ({NAME})=({_CHUNK}++)(?=, (?!device_ids=){NAME}=|\Z)")
_KEY = re.compile(rf"({NAME})=")
_PLAIN = re.compile(r"[^\s,{}()\[\]\"'/]++|/(?![/*])")
_CLOSED_STRING = re.compile(QUOTED, re.DOTALL)
# What belongs to the value though a blank stands before it. Braces only on the same line: on the
# next, a computation without a name begins. A literal stands behind its shape.
_BRACES_BEHIND = re.compile(r"[ \t]*+\{")
_LITERAL_BEHIND = re.compile(r"[ \t]++(?=[^\s,{}/])")

_BODY_BEGINS = re.compile(rf"ROOT\s|%?{NAME}\s++=|%{NAME}=|\{{")

# `name = shape` at the beginning of a line. A value that has this in it, as one without its closing
# brace has, ran on into the next instructions; bodies, which have it too, are not read as values.
_NEXT_INSTRUCTION = re.compile(rf"\n[ \t]*+(?:ROOT )?+%?+{NAME} = (?:[a-z][a-z0-9]*+\[|\()")

ReadBodies = Callable[[str], str]


def read_attributes(source: Source, start: int, end: int) -> dict[str, str]:
    """Split `, key=value, key=value`; values keep their spelling, brackets and quotes.

    Raises ParseError where the text stops being attributes, or a key but `statistics` occurs twice.
    """
    attributes: dict[str, str] = {}
    count = 0
    pos = start
    match_next = _ATTRIBUTE.match
    text = source.text
    while pos < end:
        if (match := match_next(text, pos, end)) is None:
            break
        key, value = match.groups()
        attributes[intern(key)] = value  # few keys, many instructions
        count += 1
        pos = match.end()
    if pos < end or len(attributes) < count:  # fewer keys than values: one was given twice
        scanner = Scanner(source, start, end)
        attributes = parse_attributes(scanner)
        if not scanner.at_end():
            scanner.fail_expected("',' before the next attribute")
    return attributes


def parse_attributes(scanner: Scanner, read_bodies: ReadBodies | None = None) -> dict[str, str]:
    """Read attributes as long as a comma announces one; stop before anything else.

    attributes = { "," key "=" value }

    With `read_bodies`, a computation's body in place of its name goes to that function,
    which steps over it and returns the name to keep. Of two bodies under one key the last
    counts: canonical prints of a `reduce-scatter-start` have `calls={reducer}, calls={callee}`.
    So does the last of two `statistics=`, which XLA prints among the attributes and again at
    their end.
    """
    attributes: dict[str, str] = {}
    while scanner.accept_token(","):
        key = _expect_key(scanner)
        end = scanner.pos - 1
        scanner.skip_blanks()
        if read_bodies and _opens_body(scanner, key):
            attributes[key] = read_bodies(key)
        elif key in attributes and key != "statistics":
            scanner.fail(f"the attribute {key!r} is given twice", end - len(key), end)
        else:
            attributes[key] = _read_value(scanner, key)
    return attributes


def find_value(source: Source, start: int, wanted: str) -> tuple[int, int] | None:
    """Return where the last value of a key stands behind `start`; None where it is not written.

    Attributes may be known that stand nowhere: the index of `name#1`, an element of a tuple.
    """
    scanner = Scanner(source, start)
    found = None
    try:
        while scanner.accept_token(","):
            key = _expect_key(scanner)
            begin = skip_value(scanner, key)
            if key == wanted:
                found = begin, scanner.pos
    except ParseError:  # behind an operand written in place stands something else
        return None
    return found


def skip_value(scanner: Scanner, key: str) -> int:
    """Step over one value and return where it starts; raise where it is none.

    value = chunk { chunk } { " " "{" … "}" }        (`mesh['a'=2] {'a'}`, `s32[2] {1,2}`)
          | shape " " chunk                          (`literal=s32[] 1`)
    chunk = plain | string | "(" … ")" | "[" … "]" | "{" … "}"

    One attribute has a comma outside brackets: `mesh[…], device_ids=(…) {'a'}`.
    """
    scanner.skip_blanks()
    start = scanner.pos
    _skip_chunks(scanner, key)
    if key == "replica_groups" and scanner.text.startswith(("mesh", "@mesh"), start):
        before = scanner.pos
        if scanner.accept_token(",") and scanner.accept_token("device_ids="):
            _skip_chunks(scanner, key)
        else:
            scanner.pos = before
    if key == "literal" and scanner.accept_match(_LITERAL_BEHIND):
        _skip_chunks(scanner, key)
    while opener := _BRACES_BEHIND.match(scanner.text, scanner.pos, scanner.end):
        scanner.pos = opener.end() - 1
        scanner.skip_group(f"the value of {key!r}")
    return start


def _expect_key(scanner: Scanner) -> str:
    return scanner.expect_match(_KEY, "an attribute name followed by '='")[:-1]


def _opens_body(scanner: Scanner, key: str) -> bool:
    """Say whether a `{` at the cursor, the value of `key`, opens a computation's body.

    It may open a list of names as well: `calls={%f, %g}`.
    """
    if key not in CALL_KEYS or not scanner.starts_with("{"):
        return False
    start = scanner.pos
    scanner.pos += 1
    scanner.skip_blanks()
    begins = _BODY_BEGINS.match(scanner.text, scanner.pos, scanner.end) is not None
    scanner.pos = start
    return begins


def _read_value(scanner: Scanner, key: str) -> str:
    """Read one value; raise at its beginning where it is never closed.

    The brace that closes one may be missing lines above the place where the text stops making
    sense: an error there, or none at all, would send the user to the wrong instruction.
    """
    scanner.skip_blanks()
    start = scanner.pos
    try:
        skip_value(scanner, key)
        end = scanner.pos
    except ParseError as error:
        end = error.start
        if not _NEXT_INSTRUCTION.search(scanner.text, start, end):
            raise
    if _NEXT_INSTRUCTION.search(scanner.text, start, end):
        scanner.fail(f"the value of {key!r} is never closed", start, start + 1)
    return scanner.text[start:end]


def _skip_chunks(scanner: Scanner, key: str) -> None:
    start = scanner.pos
    while char := scanner.peek():
        if char in "({[":
            scanner.skip_group(f"the value of {key!r}")
        elif char in {'"', "'"}:
            if scanner.accept_match(_CLOSED_STRING) is None:
                scanner.fail(f"the string of {key!r} is never closed")
        elif scanner.accept_match(_PLAIN) is None:
            break
    if scanner.pos == start:
        scanner.fail_expected(f"a value for {key!r}")
