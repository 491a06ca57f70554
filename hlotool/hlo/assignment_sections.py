"""The sections of a buffer assignment behind its allocations: used values and live ranges.

Used values say who defines each value, and who uses it. Live ranges are the schedule XLA
flattened, when each value lives, and XLA's own peak. Newer compilers print lines that no reader
here has met: `UnknownLines` counts them, and refuses the first where what is read does not add up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn

from msgspec import Struct, field

from hlotool.errors import ParseError
from hlotool.hlo import buffers
from hlotool.hlo.attribute_values import read_metadata
from hlotool.hlo.attributes import read_attributes
from hlotool.hlo.buffers import BufferValue, LiveRange, UsedValue, ValueKey
from hlotool.hlo.opcodes import sugared_opcode
from hlotool.hlo.scanner import STRING, Scanner
from hlotool.hlo.shape_parser import parse_shape
from hlotool.hlo.values import Metadata, ShapeIndex
from hlotool.text import Source

INTEGER: Final = r"[0-9]{1,19}+"
CUT: Final = "the file may be cut short"


class UnknownLines:
    """How many lines were passed over, and what was expected in the place of the first."""

    def __init__(self) -> None:
        self.count = 0
        self._first: tuple[Source, int, str] | None = None

    def pass_over(self, source: Source, at: int, expected: str) -> int:
        """Step over the line at an offset and return where the next begins.

        Blank lines and comments do not count. Raises ParseError at the end of the text, and for a
        last line without its newline: it may be one of a known kind, cut short.
        """
        end = source.text.find("\n", at)
        line = source.text[at : end if end >= 0 else len(source.text)].strip()
        if end < 0:
            if self._first is None or line:
                refuse_at(source, at, expected)
            self.refuse(f"the text ends without {expected}")
        if line and not line.startswith("//"):
            self.count += 1
            self._first = self._first or (source, at, expected)
        return end + 1

    def refuse(self, why: str) -> None:
        """Raise ParseError at the first line that was passed over; nothing if there is none."""
        if self._first is not None:
            hint = f"this line has an unknown kind, and the rest does not add up: {why}"
            refuse_at(*self._first, hint)


def refuse_at(source: Source, at: int, expected: str, hint: str = "") -> NoReturn:
    """Raise where something else was expected; a text that ends there may be cut."""
    scanner = Scanner(source, at)
    if scanner.at_end():
        hint = hint or CUT
    scanner.fail(f"expected {expected}, found {scanner.describe_next()}", hint=hint)


class ShapeIndices(dict[str, ShapeIndex]):
    """Shape indices by their text, `0,1`; few are ever spelled."""

    def __missing__(self, text: str) -> ShapeIndex:
        """Read an index and keep it."""
        index = tuple(int(digits[:19]) for digits in text.split(",") if digits)
        self[text] = index
        return index


_HEADER = re.compile(rf"\s*+HloLiveRange \(max ({INTEGER})\):[ \t]*+\r?\n")
_ABSENT = re.compile(r"\s*+HloLiveRange not available[^\n]*+")
_SEQUENCE = re.compile(r" *+InstructionSequence:[ \t]*+\r?\n")
_STEP = re.compile(
    rf"\ {{4}}({INTEGER}):([^\s{{]++)[ \t]*+\r?\n"
    r"|[^\n]*+(?:\n|\Z)"  # a line of another kind
)
_RANGES = re.compile(r" *+BufferLiveRange:[ \t]*+\r?\n")
_RANGE = re.compile(
    rf"\ {{4}}([^\s{{:]++)(?:\{{([0-9,]*+)\}})?+:({INTEGER})-({INTEGER})[ \t]*+\r?\n"
    r"|[^\n]*+(?:\n|\Z)"  # a line of another kind
)
_PEAK = re.compile(rf" *+Live ranges at ({INTEGER}) \(peak\):[ \t]*+\r?(?:\n|\Z)")
_PEAK_ENTRY = re.compile(
    rf"\ {{4}}([^\s{{:]++)(?:\{{([0-9,]*+)\}})?+:\ ({INTEGER})\ bytes"
    rf"(?:\ \(cumulative:\ ({INTEGER})[^)\n]*+\))?+[ \t]*+\r?(?:\n|\Z)"
)
# XLA gives no peak where a dimension has no bound.
_NO_PEAK = re.compile(r" *+Peak memory could not be determined[^\n]*+(?:\n|\Z)")
_BREAKDOWN = re.compile(r" *+Stack trace breakdown [^\n]*+(?:\n|\Z)(?:[ ]{4}[^\n]*+(?:\n|\Z)|\n)*+")
_ONE_OF_SEQUENCE: Final = "'number:name' or 'BufferLiveRange:'"
_ONE_OF_RANGES: Final = "'name{index}:start-end' or 'Live ranges at … (peak):'"


class LiveRangeReader(Struct):
    """Reads the HloLiveRange section; each range goes to its value in `by_key`.

    `mixed_up` says what may be wrong where a range is of no value.
    """

    source: Source
    by_key: Mapping[ValueKey, BufferValue]
    unknown: UnknownLines
    mixed_up: str
    indices: ShapeIndices = field(default_factory=ShapeIndices)

    def read(self, start: int) -> buffers.LiveRanges | None:
        """Read the section that begins at or after `start`, None without one.

        live_range = "HloLiveRange (max " integer "):" NL
                     "  InstructionSequence:" NL { "    " integer ":" name NL }
                     "  BufferLiveRange:" NL { "    " name index ":" integer "-" integer NL }
                     ( peak | "  Peak memory could not be determined" … NL )
        peak       = "  Live ranges at " integer " (peak):" NL { "    " name [ index ] ": "
                     integer " bytes" [ " (cumulative: " integer " bytes)" ] NL }
                     [ "  Stack trace breakdown " … NL { "    " … NL } ]

        Follows HloLiveRange::ToString (xla/hlo/utils/hlo_live_range.cc); ends are inclusive.
        Lines of other kinds go to `unknown`. Raises ParseError where a part is missing or
        contradicts another, and at a range of no value.
        """
        text = self.source.text
        section = text.find("\nHloLiveRange ", start - 1) if start else 0  # others may stand before
        section = len(text) if section < 0 else section
        if (header := _HEADER.match(text, section)) is None:
            if _ABSENT.match(text, section) or section == len(text):
                return None
            scanner = Scanner(self.source, section)
            scanner.skip_blanks()
            scanner.fail_expected("'HloLiveRange (max N):'")
        last = int(header[1])
        sequence, at = self._read_sequence(header.end())
        if last != len(sequence):
            message = (
                f"the sequence has {len(sequence)} instructions, not the {last} that 'max' says"
            )
            raise ParseError(message, self.source, *header.span(1), CUT)
        at = self._read_ranges(at, last)
        position: int | None = None
        entries: list[buffers.PeakEntry] = []
        total: int | None = None
        if match := _PEAK.match(text, at):
            position = int(match[1])
            entries, total, at = self._read_peak(match, position, last)
        elif match := _NO_PEAK.match(text, at):
            at = match.end()
        if match := _BREAKDOWN.match(text, at):
            at = match.end()
        while at < len(text):
            at = self.unknown.pass_over(self.source, at, "the end of the live ranges")
        return buffers.LiveRanges(sequence, last, position, tuple(entries), total, self.source)

    def _read_sequence(self, at: int) -> tuple[tuple[str, ...], int]:
        """Read the numbered instructions, 0, 1, 2, …, up to the heading of the ranges."""
        while not (heading := _SEQUENCE.match(self.source.text, at)):
            at = self.unknown.pass_over(self.source, at, "'InstructionSequence:'")
        at = heading.end()
        names: list[str] = []
        for match in _STEP.finditer(self.source.text, at):
            number, name = match.groups()
            if name is not None:
                if int(number) != len(names):
                    message = f"expected position {len(names)}, found {number}"
                    raise ParseError(message, self.source, *match.span(1), CUT)
                names.append(name)
            elif heading := _RANGES.match(self.source.text, match.start()):
                at = heading.end()
                break
            else:
                self.unknown.pass_over(self.source, match.start(), _ONE_OF_SEQUENCE)
        return tuple(names), at

    def _read_ranges(self, at: int, last: int) -> int:
        """Read when each value is live, up to the heading of the peak, or what is in its place."""
        for match in _RANGE.finditer(self.source.text, at):
            name, index, first_text, end_text = match.groups()
            if name is None:
                at = match.start()
                if _PEAK.match(self.source.text, at) or _NO_PEAK.match(self.source.text, at):
                    break
                self.unknown.pass_over(self.source, at, _ONE_OF_RANGES)
                continue
            first, end = int(first_text), int(end_text)
            if first > end or end > last:
                message = f"the range is outside 0-{last}, or ends before it starts"
                raise ParseError(message, self.source, match.start(3), match.end(4))
            key = name, self.indices[index or ""]
            if (value := self.by_key.get(key)) is None:
                message = (
                    f"{buffers.format_position(*key)!r} has a live range, but is in no allocation"
                )
                end = match.start(3) - 1
                raise ParseError(message, self.source, match.start(1), end, self.mixed_up)
            value.live = LiveRange(first, end)
        return at

    def _read_peak(
        self, heading: re.Match[str], position: int, last: int
    ) -> tuple[list[buffers.PeakEntry], int | None, int]:
        """Read what is live at XLA's peak, and what it comes to, if its last line says so.

        With unknown lines between, only if it adds up.
        """
        if position > last:
            message = f"the peak is beyond the last position, {last}"
            raise ParseError(message, self.source, *heading.span(1))
        entries: list[buffers.PeakEntry] = []
        at, total, behind = heading.end(), "", False  # behind a line that is not known
        is_broken = False
        while at < len(self.source.text) and not _BREAKDOWN.match(self.source.text, at):
            if entry := _PEAK_ENTRY.match(self.source.text, at):
                name, index, size, total = entry.groups()
                place = None if index is None else self.indices[index]
                entries.append(buffers.PeakEntry(name, place, int(size)))
                is_broken |= behind
                at = entry.end()
                continue
            is_broken |= self.source.text.startswith("    ", at)
            before = self.unknown.count
            at = self.unknown.pass_over(self.source, at, "'name{index}: N bytes'")
            behind |= self.unknown.count > before
        if is_broken and str(sum(one.size_bytes for one in entries)) != total:
            self.unknown.refuse("the values at XLA's peak do not add up to its cumulative size")
        # XLA leaves nothing out, so a list that is shorter than what is live is cut.
        ranges = [value.live for value in self.by_key.values() if value.live]
        live = len([one for one in ranges if one.start <= position <= one.end])
        if len(entries) < live:
            found = f"{len(entries)} values, not the {live} that are live"
            message = f"the list at the peak has {found}"
            raise ParseError(message, self.source, *heading.span(1), CUT)
        return entries, int(total) if total else None, at


_HEAD: Final = rf"<(?P<number>{INTEGER})[ ](?P<name>[^\s{{]++(?:\{{[0-9,]*+\}})?+)(?:[ ]\(phi\))?+"
_FIRST_LINE: Final = rf"{_HEAD}[ ]@[0-9]++>\r?\n"
_INDEX: Final = r"(?:[ ]\{[0-9,]*+\})?+"
_POSITION: Final = rf"[ ][ ][^\s,]++{_INDEX}\r?\n"
_USE: Final = rf"[ ][ ](?:[^\s,]++,[ ]operand[ ][0-9]++{_INDEX}|\(none\))\r?\n"
# A value without lines of unknown kinds: one match up to its instruction. Others take many steps.
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
_TOTAL = re.compile(rf"\s*+Total bytes used: ({INTEGER})(?: \([^)\n]*+\))?+[ \t]*+\r?(?:\n|\Z)")
_HEADER_USED_VALUES = re.compile(r"\s*+Used values:[ \t]*+\r?(?:\n|\Z)")
_BEGIN = re.compile(_FIRST_LINE, re.VERBOSE)
_LINE = re.compile(
    rf"(?P<heading>[ ]\w[^\n:]*+:\r?\n)|(?P<uses>{_USE})|(?P<positions>{_POSITION})", re.VERBOSE
)
_FROM = re.compile(r"[ ]from[ ]instruction:[ ]")
_SECTION = re.compile(r"\s*+(?:Used values:|HloLiveRange )")
# The text of an instruction on one line; its strings, of source lines say, may hold newlines.
_INSTRUCTION = re.compile(rf"(?:[^\"\n]++|{STRING})*+", re.DOTALL)
_ANOTHER: Final = "another used value, '<number name @color>'"
_ONE_OF_VALUE: Final = "' positions:', ' uses:' or ' from instruction:'"
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
    if (match := _TOTAL.match(source.text, start)) is None:
        return None, start
    at = match.end()
    while at < len(source.text) and not _SECTION.match(source.text, at):
        at = unknown.pass_over(source, at, "'Used values:'")
    return int(match[1]), at


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
    if (header := _HEADER_USED_VALUES.match(source.text, start)) is None:
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
        if match := _VALUE.match(text, at):
            uses, start = match["uses"], match.end()
        else:
            match, uses, start = _read_line_by_line(source, at, unknown)
        at = _end_of_value(text, start, last)
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
    if (first := _BEGIN.match(text, at)) is None:
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
            known = section in _SECTIONS
            here = line.end() if known else unknown.pass_over(source, here, _ONE_OF_VALUE)
        elif line and kind == section:
            uses += line.group() if kind == "uses" else ""
            here = line.end()
        else:
            here = unknown.pass_over(source, here, _ONE_OF_VALUE)
    if [one for one in seen if one in _SECTIONS] != _SECTIONS:
        _fail(source, at)
    return first, uses, begins.end()


def _end_of_value(text: str, at: int, end: int) -> int:
    """Return where the text of an instruction ends: it may hold newlines inside strings.

    That is where the next value begins, on a line of its own; until 2024 no newline came before.
    """
    while (at := text.find("<", at, end)) >= 0:
        first = _BEGIN.match(text, at)
        if first and (text[at - 1] == "\n" or text.startswith(" positions:", first.end())):
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
            hint = CUT if scanner.pos >= scanner.end else ""
            scanner.fail(f"expected {what}, found {scanner.describe_next()}", hint=hint)
    raise ParseError("this used value cannot be read", source, at, at + 1)


_OPCODE = re.compile(r"[a-z][\w\-]*+")


def find_definition(used: UsedValue) -> buffers.Definition | None:
    """Return opcode and metadata of `name = shape opcode(operands), attributes`.

    None where the text is not that: it repeats what the module says, and no figure hangs
    on it.
    """
    scanner = Scanner(used.source, used.start, used.end)
    try:
        scanner.expect_name("the name of the instruction")
        scanner.expect("=", "after the name")
        parse_shape(scanner)
        opcode = scanner.expect_match(_OPCODE, "an opcode")
        scanner.skip_blanks()
        if scanner.peek() != "(":
            return None
        scanner.skip_group("the operand list")
        attributes = read_attributes(used.source, scanner.pos, used.end)
    except ParseError:
        return None
    opcode, _ = sugared_opcode(opcode) or (opcode, "")
    return buffers.Definition(opcode, read_metadata(attributes.get("metadata", "{}")) or Metadata())
