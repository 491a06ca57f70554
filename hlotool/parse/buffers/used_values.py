"""The used values of a buffer assignment: who defines each value, and who uses it."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.ir.buffers import UsedValue
from hlotool.parse.scanner import Scanner
from hlotool.source import Source

_INTEGER: Final = r"[0-9]{1,19}+"
_HEAD: Final = rf"<(?P<number>{_INTEGER})[ ](?P<name>[^\s{{]++(?:\{{[0-9,]*+\}})?+)(?:[ ]\(phi\))?+"
_VALUE = re.compile(
    rf"""
    {_HEAD}[ ]@[0-9]++>\r?\n
    [ ]positions:\r?\n
    (?:[ ][ ][^\n]++\n)*+
    [ ]uses:\r?\n
    (?P<uses>(?:[ ][ ][^\n]++\n)*+)
    [ ]from[ ]instruction:[ ]
    """,
    re.VERBOSE,
)
_TOTAL = re.compile(rf"\s*+Total bytes used: ({_INTEGER})(?: \([^)\n]*+\))?+[ \t]*+\r?(?:\n|\Z)")
_HEADER = re.compile(r"\s*+Used values:[ \t]*+\r?(?:\n|\Z)")
# What may follow an instruction's text; until 2024 no newline came before the next value.
_NEXT = re.compile(
    rf"{_HEAD}[ ]@[0-9]++>\r?\n[ ]positions:|^HloLiveRange[ ]|\Z", re.MULTILINE | re.VERBOSE
)
_PARTS: Final = (
    (re.compile(_HEAD, re.VERBOSE), "a used value, '<number name @color>'"),
    (re.compile(r"[ ]@[0-9]++>\r?\n"), "' @color>' after the value's name"),
    (re.compile(r"[ ]positions:\r?\n(?:[ ][ ][^\n]++\n)*+"), "' positions:'"),
    (re.compile(r"[ ]uses:\r?\n(?:[ ][ ][^\n]++\n)*+"), "' uses:'"),
    (re.compile(r"[ ]from[ ]instruction:[ ]"), "' from instruction: '"),
)


def accept_total_bytes(source: Source, start: int) -> tuple[int | None, int]:
    """Read `Total bytes used: N (human)` if it comes next; return it and where it ends.

    The number, BufferAssignment::Stats::total_allocation_bytes, covers all spaces.
    """
    match = _TOTAL.match(source.text, start)
    return (int(match[1]), match.end()) if match else (None, start)


def accept_used_values(source: Source, start: int) -> dict[int, UsedValue] | None:
    """Read the section `Used values:` if it comes next, None if it does not.

    used  = "Used values:" NL { value }
    value = "<" integer " " name [ index ] [ " (phi)" ] " @" integer ">" NL
            " positions:" NL { "  " name [ " " index ] NL }
            " uses:" NL { "  " name ", operand " integer [ " " index ] NL | "  (none)" NL }
            " from instruction: " text [ NL ]

    Raises ParseError where an entry breaks off, as in a file cut short.
    """
    header = _HEADER.match(source.text, start)
    if header is None:
        return None
    used: dict[int, UsedValue] = {}
    text = source.text
    at = header.end()
    while text.startswith("<", at):
        match = _VALUE.match(text, at)
        if match is None:
            _fail(source, at)
        start, at = match.end(), _find_next(text, match.end())
        end = start + len(text[start:at].rstrip())
        uses = match["uses"]
        count = uses.count("\n") if uses.strip() != "(none)" else 0
        used[int(match["number"])] = UsedValue(
            match["name"], match.start("name"), count, start, end, source
        )
    _check_end(source, at)
    return used


def _find_next(text: str, at: int) -> int:
    """Find where the text of an instruction ends: it may hold newlines inside strings."""
    match = _NEXT.search(text, at)
    return match.start() if match else len(text)


def _check_end(source: Source, at: int) -> None:
    """Raise unless nothing, or the live ranges, follow the last entry."""
    scanner = Scanner(source, at)
    if not scanner.at_end() and not scanner.starts_with("HloLiveRange"):
        scanner.fail_expected("another used value, '<number name @color>'")


def _fail(source: Source, at: int) -> NoReturn:
    """Find which part of an entry is missing, and raise there."""
    scanner = Scanner(source, at)
    for pattern, what in _PARTS:
        if scanner.accept_match(pattern) is None:
            found = scanner.describe_next()
            hint = "the file may be cut short" if scanner.pos >= scanner.end else ""
            scanner.fail(f"expected {what}, found {found}", hint=hint)
    raise ParseError("this used value cannot be read", source, at, at + 1)
