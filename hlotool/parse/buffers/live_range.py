"""Live ranges: the schedule XLA flattened, when each value lives, and XLA's own peak."""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import ParseError
from hlotool.ir.buffers import LiveRange, LiveRanges, PeakEntry, ValueKey
from hlotool.ir.values import ShapeIndex
from hlotool.parse.scanner import Scanner
from hlotool.source import Source

_INTEGER: Final = r"[0-9]{1,19}+"
_HEADER = re.compile(rf"\s*+HloLiveRange \(max ({_INTEGER})\):[ \t]*+\r?\n")
_ABSENT = re.compile(r"\s*+HloLiveRange not available[^\n]*+")
_SEQUENCE = re.compile(r" *+InstructionSequence:[ \t]*+\r?\n")
_STEP = re.compile(rf"\ {{4}}({_INTEGER}):([^\s{{]++)[ \t]*+\r?\n")
_RANGES = re.compile(r" *+BufferLiveRange:[ \t]*+\r?\n")
_RANGE = re.compile(
    rf"\ {{4}}([^\s{{:]++)(?:\{{([0-9,]*+)\}})?+:({_INTEGER})-({_INTEGER})[ \t]*+\r?\n"
)
_PEAK = re.compile(rf" *+Live ranges at ({_INTEGER}) \(peak\):[ \t]*+\r?(?:\n|\Z)")
_PEAK_ENTRY = re.compile(
    rf"\ {{4}}([^\s{{:]++)(?:\{{([0-9,]*+)\}})?+:\ ({_INTEGER})\ bytes"
    r"(?:\ \(cumulative:[^)\n]*+\))?+[ \t]*+\r?(?:\n|\Z)"
)
_CUT = "the file may be cut short"


def accept_live_ranges(source: Source, start: int = 0) -> LiveRanges | None:
    """Read the HloLiveRange section that begins at or after `start`, None without one.

    live_range = "HloLiveRange (max " integer "):" NL
                 "  InstructionSequence:" NL { "    " integer ":" name NL }
                 "  BufferLiveRange:" NL { "    " name index ":" integer "-" integer NL }
                 "  Live ranges at " integer " (peak):" NL { "    " name [ index ] ": "
                 integer " bytes" [ " (cumulative: …)" ] NL } { anything }

    Follows HloLiveRange::ToString (xla/hlo/utils/hlo_live_range.cc); ends are inclusive.
    Raises ParseError where a part is missing or contradicts another.
    """
    header = _HEADER.match(source.text, _find_section(source.text, start))
    if header is None:
        scanner = Scanner(source, start)
        if _ABSENT.match(source.text, start) or start or scanner.at_end():
            return None
        scanner.fail_expected("'HloLiveRange (max N):'")
    last = int(header[1])
    sequence, at = _parse_sequence(source, header.end())
    if last != len(sequence):
        raise ParseError(
            f"the sequence has {len(sequence)} instructions, not the {last} that 'max' says",
            source,
            header.start(1),
            header.end(1),
            _CUT,
        )
    ranges, at = _parse_ranges(source, at, last)
    position, entries = _parse_peak(source, at, last)
    return LiveRanges(sequence, last, ranges, position, entries, source)


def _find_section(text: str, start: int) -> int:
    """Return where the section begins in a file that also holds others."""
    if not start:
        return 0
    found = text.find("\nHloLiveRange ", max(start - 1, 0))
    return found if found >= 0 else len(text)


def _parse_sequence(source: Source, at: int) -> tuple[tuple[str, ...], int]:
    """Read the numbered instructions; the numbers must be 0, 1, 2, …."""
    at = _expect(source, at, _SEQUENCE, "'InstructionSequence:'").end()
    names: list[str] = []
    while match := _STEP.match(source.text, at):
        if int(match[1]) != len(names):
            message = f"expected position {len(names)}, found {match[1]}"
            raise ParseError(message, source, match.start(1), match.end(1), _CUT)
        names.append(match[2])
        at = match.end()
    return tuple(names), at


def _parse_ranges(source: Source, at: int, last: int) -> tuple[dict[ValueKey, LiveRange], int]:
    at = _expect(source, at, _RANGES, "'BufferLiveRange:'").end()
    ranges: dict[ValueKey, LiveRange] = {}
    while match := _RANGE.match(source.text, at):
        name, index, first, end = match.groups()
        found = LiveRange(int(first), int(end))
        if found.start > found.end or found.end > last:
            message = f"the range does not lie within 0-{last}, or ends before it starts"
            raise ParseError(message, source, match.start(3), match.end(4))
        ranges[name, _index(index)] = found
        at = match.end()
    return ranges, at


def _parse_peak(source: Source, at: int, last: int) -> tuple[int, tuple[PeakEntry, ...]]:
    match = _expect(source, at, _PEAK, "'name{index}:start-end' or 'Live ranges at … (peak):'")
    position = int(match[1])
    if position > last:
        message = f"the peak lies beyond the last position, {last}"
        raise ParseError(message, source, match.start(1), match.end(1))
    entries: list[PeakEntry] = []
    at = match.end()
    while entry := _PEAK_ENTRY.match(source.text, at):
        name, index, size = entry.groups()
        entries.append(PeakEntry(name, None if index is None else _index(index), int(size)))
        at = entry.end()
    if source.text.startswith("    ", at):
        Scanner(source, at + 4).fail_expected("'name{index}: N bytes'")
    return position, tuple(entries)


def _expect(source: Source, at: int, pattern: re.Pattern[str], what: str) -> re.Match[str]:
    match = pattern.match(source.text, at)
    if match is None:
        scanner = Scanner(source, at)
        scanner.skip_blanks()
        hint = _CUT if scanner.pos >= scanner.end else ""
        scanner.fail(f"expected {what}, found {scanner.describe_next()}", hint=hint)
    return match


def _index(text: str | None) -> ShapeIndex:
    return tuple(int(digits[:19]) for digits in text.split(",") if digits) if text else ()
