"""Live ranges: the schedule XLA flattened, when each value lives, and XLA's own peak."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from hlotool.errors import ParseError
from hlotool.ir.buffers import (
    BufferValue,
    LiveRange,
    LiveRanges,
    PeakEntry,
    ValueKey,
    format_position,
)
from hlotool.parse.buffers.allocation_line import ShapeIndices
from hlotool.parse.buffers.unknown_lines import UnknownLines
from hlotool.parse.scanner import Scanner
from hlotool.source import Source

_INTEGER: Final = r"[0-9]{1,19}+"
_HEADER = re.compile(rf"\s*+HloLiveRange \(max ({_INTEGER})\):[ \t]*+\r?\n")
_ABSENT = re.compile(r"\s*+HloLiveRange not available[^\n]*+")
_SEQUENCE = re.compile(r" *+InstructionSequence:[ \t]*+\r?\n")
_STEP = re.compile(
    rf"\ {{4}}({_INTEGER}):([^\s{{]++)[ \t]*+\r?\n"
    r"|[^\n]*+(?:\n|\Z)"  # a line of another kind
)
_RANGES = re.compile(r" *+BufferLiveRange:[ \t]*+\r?\n")
_RANGE = re.compile(
    rf"\ {{4}}([^\s{{:]++)(?:\{{([0-9,]*+)\}})?+:({_INTEGER})-({_INTEGER})[ \t]*+\r?\n"
    r"|[^\n]*+(?:\n|\Z)"  # a line of another kind
)
_PEAK = re.compile(rf" *+Live ranges at ({_INTEGER}) \(peak\):[ \t]*+\r?(?:\n|\Z)")
_PEAK_ENTRY = re.compile(
    rf"\ {{4}}([^\s{{:]++)(?:\{{([0-9,]*+)\}})?+:\ ({_INTEGER})\ bytes"
    rf"(?:\ \(cumulative:\ ({_INTEGER})[^)\n]*+\))?+[ \t]*+\r?(?:\n|\Z)"
)
_NO_PEAK = re.compile(r" *+Peak memory could not be determined[^\n]*+(?:\n|\Z)")
_BREAKDOWN = re.compile(r" *+Stack trace breakdown [^\n]*+(?:\n|\Z)(?:[ ]{4}[^\n]*+(?:\n|\Z)|\n)*+")
_ONE_OF_SEQUENCE: Final = "'number:name' or 'BufferLiveRange:'"
_ONE_OF_RANGES: Final = "'name{index}:start-end' or 'Live ranges at … (peak):'"
_CUT = "the file may be cut short"


def accept_live_ranges(
    source: Source,
    start: int,
    by_key: Mapping[ValueKey, BufferValue],
    unknown: UnknownLines,
    *,
    mixed_up: str,
) -> LiveRanges | None:
    """Read the HloLiveRange section that begins at or after `start`, None without one.

    live_range = "HloLiveRange (max " integer "):" NL
                 "  InstructionSequence:" NL { "    " integer ":" name NL }
                 "  BufferLiveRange:" NL { "    " name index ":" integer "-" integer NL }
                 ( peak | "  Peak memory could not be determined" … NL )
    peak       = "  Live ranges at " integer " (peak):" NL { "    " name [ index ] ": "
                 integer " bytes" [ " (cumulative: " integer " bytes)" ] NL }
                 [ "  Stack trace breakdown " … NL { "    " … NL } ]

    Follows HloLiveRange::ToString (xla/hlo/utils/hlo_live_range.cc); ends are inclusive. XLA
    gives no peak where a dimension has no bound. Each range goes to its value. Lines of other
    kinds go to `unknown`. Raises ParseError where a part is missing or contradicts another, and at
    a range of no value, with what may be `mixed_up`.
    """
    section = _find_section(source.text, start)
    header = _HEADER.match(source.text, section)
    if header is None:
        if _ABSENT.match(source.text, section) or section == len(source.text):
            return None
        scanner = Scanner(source, section)
        scanner.skip_blanks()
        scanner.fail_expected("'HloLiveRange (max N):'")
    last = int(header[1])
    sequence, at = _parse_sequence(source, header.end(), unknown)
    if last != len(sequence):
        raise ParseError(
            f"the sequence has {len(sequence)} instructions, not the {last} that 'max' says",
            source,
            header.start(1),
            header.end(1),
            _CUT,
        )
    at = _parse_ranges(source, at, last, by_key, unknown, mixed_up=mixed_up)
    position: int | None = None
    entries: tuple[PeakEntry, ...] = ()
    if match := _PEAK.match(source.text, at):
        position, entries, at = _parse_peak(source, match, last, unknown)
        _check_peak(source, match, position, entries, by_key)
    elif match := _NO_PEAK.match(source.text, at):
        at = match.end()
    if match := _BREAKDOWN.match(source.text, at):
        at = match.end()
    while at < len(source.text):
        at = unknown.pass_over(source, at, "the end of the live ranges")
    return LiveRanges(sequence, last, position, entries, source)


def _find_section(text: str, start: int) -> int:
    """Return where the section begins in a file that also holds others."""
    if not start:
        return 0
    found = text.find("\nHloLiveRange ", max(start - 1, 0))
    return found if found >= 0 else len(text)


def _parse_sequence(source: Source, at: int, unknown: UnknownLines) -> tuple[tuple[str, ...], int]:
    """Read the numbered instructions, 0, 1, 2, …, up to the heading of the ranges."""
    while not (heading := _SEQUENCE.match(source.text, at)):
        at = unknown.pass_over(source, at, "'InstructionSequence:'")
    at = heading.end()
    names: list[str] = []
    for match in _STEP.finditer(source.text, at):
        number, name = match.groups()
        if name is None:
            if heading := _RANGES.match(source.text, match.start()):
                at = heading.end()
                break
            unknown.pass_over(source, match.start(), _ONE_OF_SEQUENCE)
            continue
        if int(number) != len(names):
            message = f"expected position {len(names)}, found {number}"
            raise ParseError(message, source, match.start(1), match.end(1), _CUT)
        names.append(name)
    return tuple(names), at


def _parse_ranges(
    source: Source,
    at: int,
    last: int,
    by_key: Mapping[ValueKey, BufferValue],
    unknown: UnknownLines,
    *,
    mixed_up: str,
) -> int:
    """Read when each value is live, up to the heading of the peak, or what stands in its place."""
    indices = ShapeIndices()
    for match in _RANGE.finditer(source.text, at):
        name, index, first_text, end_text = match.groups()
        if name is None:
            at = match.start()
            if _PEAK.match(source.text, at) or _NO_PEAK.match(source.text, at):
                break
            unknown.pass_over(source, at, _ONE_OF_RANGES)
            continue
        first, end = int(first_text), int(end_text)
        if first > end or end > last:
            message = f"the range does not lie within 0-{last}, or ends before it starts"
            raise ParseError(message, source, match.start(3), match.end(4))
        key = name, indices[index or ""]
        value = by_key.get(key)
        if value is None:
            position = format_position(*key)
            message = f"{position!r} has a live range, but is in no allocation"
            raise ParseError(message, source, match.start(1), match.start(3) - 1, mixed_up)
        value.live = LiveRange(first, end)
    return at


def _parse_peak(
    source: Source, heading: re.Match[str], last: int, unknown: UnknownLines
) -> tuple[int, tuple[PeakEntry, ...], int]:
    """Read XLA's peak and what is live there; with unknown lines between, only if it adds up."""
    position = int(heading[1])
    if position > last:
        message = f"the peak lies beyond the last position, {last}"
        raise ParseError(message, source, heading.start(1), heading.end(1))
    entries: list[PeakEntry] = []
    indices = ShapeIndices()
    at, total, behind = heading.end(), "", False  # behind a line that is not known
    is_broken = False
    while at < len(source.text) and not _BREAKDOWN.match(source.text, at):
        if entry := _PEAK_ENTRY.match(source.text, at):
            name, index, size, total = entry.groups()
            place = None if index is None else indices[index]
            entries.append(PeakEntry(name, place, int(size)))
            is_broken |= behind
            at = entry.end()
            continue
        is_broken |= source.text.startswith("    ", at)
        before = unknown.count
        at = unknown.pass_over(source, at, "'name{index}: N bytes'")
        behind |= unknown.count > before
    if is_broken and str(sum(one.size_bytes for one in entries)) != total:
        unknown.refuse("what is live at XLA's peak is not its cumulative size")
    return position, tuple(entries), at


def _check_peak(
    source: Source,
    heading: re.Match[str],
    position: int,
    entries: tuple[PeakEntry, ...],
    by_key: Mapping[ValueKey, BufferValue],
) -> None:
    """Raise where the list at the peak is shorter than what is live there: XLA leaves none out."""
    ranges = [value.live for value in by_key.values() if value.live]
    live = len([one for one in ranges if one.start <= position <= one.end])
    if len(entries) < live:
        message = f"the list at the peak has {len(entries)} values, not the {live} that are live"
        raise ParseError(message, source, heading.start(1), heading.end(1), _CUT)
