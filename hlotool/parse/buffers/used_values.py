"""The used values of a buffer assignment: who defines each value, and who uses it."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.ir.buffers import UsedValue
from hlotool.parse.buffers.unknown_lines import UnknownLines
from hlotool.parse.scanner import STRING, Scanner
from hlotool.source import Source

_INTEGER: Final = r"[0-9]{1,19}+"
_HEAD: Final = rf"<(?P<number>{_INTEGER})[ ](?P<name>[^\s{{]++(?:\{{[0-9,]*+\}})?+)(?:[ ]\(phi\))?+"
_FIRST_LINE: Final = rf"{_HEAD}[ ]@[0-9]++>\r?\n"
_INDEX: Final = r"(?:[ ]\{[0-9,]*+\})?+"
_POSITION: Final = rf"[ ][ ][^\s,]++{_INDEX}\r?\n"
_USE: Final = rf"[ ][ ](?:[^\s,]++,[ ]operand[ ][0-9]++{_INDEX}|\(none\))\r?\n"
_VALUE = re.compile(
    rf"""
    {_FIRST_LINE}
    [ ]positions:\r?\n
    (?:{_POSITION})*+
    [ ]uses:\r?\n
    (?P<uses>(?:{_USE})*+)
    [ ]from[ ]instruction:[ ]
    """,
    re.VERBOSE,
)
_TOTAL = re.compile(rf"\s*+Total bytes used: ({_INTEGER})(?: \([^)\n]*+\))?+[ \t]*+\r?(?:\n|\Z)")
_HEADER = re.compile(r"\s*+Used values:[ \t]*+\r?(?:\n|\Z)")
_BEGIN = re.compile(_FIRST_LINE, re.VERBOSE)
_POSITIONS: Final = " positions:"
_LINE = re.compile(
    rf"(?P<heading>[ ]\w[^\n:]*+:\r?\n)|(?P<uses>{_USE})|(?P<positions>{_POSITION})", re.VERBOSE
)
_FROM = re.compile(r"[ ]from[ ]instruction:[ ]")
_SECTION = re.compile(r"\s*+(?:Used values:|HloLiveRange )")
_INSTRUCTION = re.compile(rf"(?:[^\"\n]++|{STRING})*+", re.DOTALL)
_ANOTHER: Final = "another used value, '<number name @color>'"
_SECTIONS: Final = ["positions", "uses"]
_PARTS: Final = (
    (re.compile(_HEAD, re.VERBOSE), "a used value, '<number name @color>'"),
    (re.compile(r"[ ]@[0-9]++>\r?\n"), "' @color>' after the value's name"),
    (re.compile(r"[ ]positions:\r?\n(?:[ ][ ][^\n]++\n)*+"), "' positions:'"),
    (re.compile(r"[ ]uses:\r?\n(?:[ ][ ][^\n]++\n)*+"), "' uses:'"),
    (re.compile(r"[ ]from[ ]instruction:[ ]"), "' from instruction: '"),
)


def accept_total_bytes(source: Source, start: int, unknown: UnknownLines) -> tuple[int | None, int]:
    """Read `Total bytes used: N (human)` if it comes first; return it and where it ends.

    The number, BufferAssignment::Stats::total_allocation_bytes, covers all spaces.
    """
    match = _TOTAL.match(source.text, start)
    if match is None:
        return None, start
    at = match.end()
    while at < len(source.text) and not _SECTION.match(source.text, at):
        at = unknown.pass_over(source, at, "'Used values:'")
    return int(match[1]), at


def expect_used_values(source: Source, start: int) -> NoReturn:
    """Raise where the section `Used values:` had to begin: XLA prints it behind the total."""
    scanner = Scanner(source, start)
    scanner.skip_blanks()
    hint = "the file may be cut short" if scanner.at_end() else ""
    scanner.fail(f"expected 'Used values:', found {scanner.describe_next()}", hint=hint)


def accept_used_values(
    source: Source, start: int, unknown: UnknownLines
) -> dict[int, UsedValue] | None:
    """Read the section `Used values:` if it comes next, None if it does not.

    used  = "Used values:" NL { value }
    value = "<" integer " " name [ index ] [ " (phi)" ] " @" integer ">" NL
            " positions:" NL { "  " name [ " " index ] NL }
            " uses:" NL { "  " name ", operand " integer [ " " index ] NL | "  (none)" NL }
            " from instruction: " text [ NL ]

    Lines of other kinds go to `unknown`. Raises ParseError where an entry breaks off, as in a
    file cut short.
    """
    header = _HEADER.match(source.text, start)
    if header is None:
        return None
    used: dict[int, UsedValue] = {}
    text = source.text
    at = header.end()
    live_range = text.find("\nHloLiveRange ", at)
    last = live_range + 1 if live_range >= 0 else len(text)
    while at < last:
        if not text.startswith("<", at):
            at = unknown.pass_over(source, at, _ANOTHER)
            continue
        match = _VALUE.match(text, at)
        if match:
            uses, start = match["uses"], match.end()
        else:
            match, uses, start = _read_line_by_line(source, at, unknown)
        at = _find_next(text, start, last)
        end = _pass_over_tail(source, start, at, unknown)
        count = uses.count("\n") if uses.strip() != "(none)" else 0
        used[int(match["number"])] = UsedValue(
            match["name"], match.start("name"), count, start, end, source
        )
    return used


def _read_line_by_line(
    source: Source, at: int, unknown: UnknownLines
) -> tuple[re.Match[str], str, int]:
    """Read a value up to its instruction where lines of unknown kinds stand between.

    Return the match of its first line, the lines of its uses, and where the instruction begins.
    """
    text = source.text
    first = _BEGIN.match(text, at)
    if first is None:
        _fail(source, at)
    section, uses, seen, here = "", "", [], first.end()
    while not (begins := _FROM.match(text, here)):
        if here >= len(text) or text.startswith("<", here):
            _fail(source, at)
        line = _LINE.match(text, here)
        kind = line.lastgroup if line else None
        if line and kind == "heading":
            section = line.group().strip(" :\r\n")
            seen.append(section)
            here = line.end() if section in _SECTIONS else _pass_over(source, here, unknown)
        elif line and kind == section:
            uses += line.group() if kind == "uses" else ""
            here = line.end()
        else:
            here = _pass_over(source, here, unknown)
    if [one for one in seen if one in _SECTIONS] != _SECTIONS:
        _fail(source, at)
    return first, uses, begins.end()


def _pass_over(source: Source, at: int, unknown: UnknownLines) -> int:
    return unknown.pass_over(source, at, "' positions:', ' uses:' or ' from instruction:'")


def _find_next(text: str, at: int, end: int) -> int:
    """Find where the text of an instruction ends: it may hold newlines inside strings.

    That is where the next value begins, on a line of its own; until 2024 no newline came before.
    """
    while (at := text.find("<", at, end)) >= 0:
        first = _BEGIN.match(text, at)
        if first and (text[at - 1] == "\n" or text.startswith(_POSITIONS, first.end())):
            return at
        at += 1
    return end


def _pass_over_tail(source: Source, start: int, at: int, unknown: UnknownLines) -> int:
    """Return where the instruction between two offsets ends; step over the lines behind it."""
    text = source.text
    end = start + len(text[start:at].rstrip())
    if text.find("\n", start, end) < 0:
        return end
    own = _INSTRUCTION.match(text, start, end)
    if own is None or not text.startswith("\n", own.end()):
        return end  # a string is not closed: all belongs to the instruction
    here = own.end() + 1
    while here < at:
        here = unknown.pass_over(source, here, _ANOTHER)
    return own.end()


def _fail(source: Source, at: int) -> NoReturn:
    """Find which part of an entry is missing, and raise there."""
    scanner = Scanner(source, at)
    for pattern, what in _PARTS:
        if scanner.accept_match(pattern) is None:
            found = scanner.describe_next()
            hint = "the file may be cut short" if scanner.pos >= scanner.end else ""
            scanner.fail(f"expected {what}, found {found}", hint=hint)
    raise ParseError("this used value cannot be read", source, at, at + 1)
