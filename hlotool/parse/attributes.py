"""The attributes after an instruction's operands: split, not interpreted.

Two readers with one answer: a regex for what machines print on one line, and a descent
for everything, which is the authority and the only one that explains.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from hlotool.parse.scanner import QUOTED, STRING, Scanner
from hlotool.source import Source

_BRACES_DEPTH: Final = 6  # what backend_config's JSON needs; deeper goes the slow way


def _braces(depth: int) -> str:
    inner = rf"|{_braces(depth - 1)}" if depth else ""
    return rf"\{{(?:[^{{}}\"/]++|/(?!\*)|{STRING}{inner})*+\}}"


_GROUP: Final = rf"(?:{_braces(_BRACES_DEPTH)}|\[[^\[\]\"/]*+\]|\([^()\"/]*+\))"
_CHUNK: Final = rf"(?:[^\s,{{}}()\[\]\"'/=]++|=(?!=)|{STRING}|{_GROUP})"

# `, key=value`; a value of several words (`mesh[...] {'a'}`, `s32[2] {1,2}`) is left to the
# slow reader by the look-ahead.
_ATTRIBUTE = re.compile(rf", ([\w\-]++)=({_CHUNK}++)(?=, [\w\-]++=|\Z)")
_KEY = re.compile(r"([\w\-]++)=")
_PLAIN = re.compile(r"[^\s,{}()\[\]\"'/]++|/(?![/*])")
_CLOSED = re.compile(QUOTED, re.DOTALL)

# Values that hold a list of computations or one: `{` after these may open a body.
_BODY_KEYS: Final = frozenset(
    (
        "to_apply", "calls", "condition", "body", "select", "scatter", "true_computation",
        "false_computation", "branch_computations", "called_computations",
    )
)  # fmt: skip
_BODY_OPENS = re.compile(
    r"\{(?:\s|/\*.*?\*/)*+(?:ROOT\s|%?[A-Za-z_][\w.\-]*+\s++=|\{|%?[\w.\-]++\s*+\()", re.DOTALL
)


BodyReader = Callable[[str], str]


def read_attributes(source: Source, start: int, end: int) -> dict[str, str]:
    """Split `, key=value, key=value`; values keep their spelling, brackets and quotes.

    A key that occurs twice keeps its last value. Raises ParseError where the text stops
    being attributes.
    """
    attributes: dict[str, str] = {}
    pos = start
    match_next = _ATTRIBUTE.match
    text = source.text
    while pos < end:
        match = match_next(text, pos, end)
        if match is None:
            return read_attributes_slowly(Scanner(source, start, end))
        key, attributes[key] = match.groups()
        pos = match.end()
    return attributes


def read_attributes_slowly(scanner: Scanner) -> dict[str, str]:
    """Split attributes by hand, or raise where they stop being attributes."""
    attributes = parse_attributes(scanner)
    if not scanner.at_end():
        scanner.fail_expected("',' before the next attribute")
    return attributes


def parse_attributes(scanner: Scanner, read_bodies: BodyReader | None = None) -> dict[str, str]:
    """Read attributes as long as a comma announces one; stop before anything else.

    attributes = { "," key "=" value }

    With `read_bodies`, a computation's body in place of its name goes to that function,
    which steps over it and returns the name to keep.
    """
    attributes: dict[str, str] = {}
    while scanner.accept_token(","):
        key = _expect_key(scanner)
        scanner.skip_blanks()
        if read_bodies and _opens_body(scanner, key):
            attributes[key] = read_bodies(key)
        else:
            start = skip_value(scanner, key)
            attributes[key] = scanner.text[start : scanner.pos]
    return attributes


def find_value(scanner: Scanner, wanted: str) -> tuple[int, int] | None:
    """Return where the last value of a key stands, None where the key is absent."""
    found = None
    while scanner.accept_token(","):
        key = _expect_key(scanner)
        start = skip_value(scanner, key)
        if key == wanted:
            found = start, scanner.pos
    return found


def _expect_key(scanner: Scanner) -> str:
    scanner.skip_blanks()
    match = scanner.accept_match(_KEY)
    if match is None:
        scanner.fail_expected("an attribute name followed by '='")
    return match[1]


def _opens_body(scanner: Scanner, key: str) -> bool:
    """Say whether a `{` at the cursor, the value of `key`, opens a computation's body."""
    return key in _BODY_KEYS and bool(_BODY_OPENS.match(scanner.text, scanner.pos, scanner.end))


def skip_value(scanner: Scanner, key: str) -> int:
    """Step over one value and return where it starts; raise where it is none.

    value = chunk { chunk } { blank "{" … "}" }      (`mesh['a'=2] {'a'}`, `s32[2] {1,2}`)
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
    before = scanner.pos
    scanner.skip_blanks()
    while scanner.starts_with("{"):
        scanner.skip_group(f"the value of {key!r}")
        before = scanner.pos
        scanner.skip_blanks()
    scanner.pos = before
    return start


def _skip_chunks(scanner: Scanner, key: str) -> None:
    start = scanner.pos
    while char := scanner.peek():
        if char in "({[":
            scanner.skip_group(f"the value of {key!r}")
        elif char in {'"', "'"}:
            if scanner.accept_match(_CLOSED) is None:
                scanner.fail(f"the string of {key!r} is never closed")
        elif scanner.accept_match(_PLAIN) is None:
            break
    if scanner.pos == start:
        scanner.fail_expected(f"a value for {key!r}")
