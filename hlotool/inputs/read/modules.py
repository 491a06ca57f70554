"""Which modules does a text hold, and what stands around them?

A dump holds one module and nothing else. A test file of XLA may hold several, and so may a
log; what a log says before, between and behind them is no HLO and is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Final

from msgspec import Struct

from hlotool.inputs.read.headings import Heading, find_headings
from hlotool.inputs.read.prefix import Prefix
from hlotool.inputs.read.text_kind import Detection, TextKind, detect_kind
from hlotool.parse.extent import find_module_end
from hlotool.parse.instructions.fast_lines import LONGEST_HAND_WRITTEN
from hlotool.parse.scanner import NAME
from hlotool.source import Source

_HEADER: Final = "HloModule"
_SEPARATOR: Final = "// -----"  # of modules in one file, where XLA's tools split it
_SEPARATOR_LINE: Final = re.compile(rf"^{_SEPARATOR}[ \t]*+$", re.MULTILINE)
_LAST_PART: Final = 200  # characters looked at for the last line
_FEW: Final = 1000  # letters looked at one by one
_COMMENTS: Final = re.compile(r"(?:\s++|//[^\n]*+|/\*(?s:.*?)\*/)*+")
# What ends the string of a program that a module stands in, at the module's last brace.
_STRING_END: Final = re.compile(r"""[ \t]*+(?:\)\w*+"|["'`])""")
_OTHER_LINE: Final = re.compile(r"^(?![ \t]*+(?://|$))", re.MULTILINE)  # neither blank nor comment
# A line that only HLO has: what holds one is not left out, and the parser names its place.
_HLO_LINE: Final = re.compile(
    rf"^[ \t]*+(?:ENTRY\s|(?:ROOT[ \t]++)?+%?+{NAME}[ \t]++=[ \t]*+(?:\(|[a-z]\w*+\[))"
    rf"|^%?+{NAME}[ \t]*+\([^\n]*->[^\n]*\{{[ \t]*+$",
    re.MULTILINE,
)


class FoundModules(Struct, frozen=True):
    """The modules of a text in order, each as the lines it stands in, and what was left out.

    `before_count` are the lines before the first module, `behind_count` those behind any.
    `prefix` is one of the prefixes that were blanked out, '' where there was none.
    """

    modules: tuple[Source, ...]
    before_count: int = 0
    behind_count: int = 0
    prefix: str = ""

    def notes(self) -> tuple[str, ...]:
        """Say in a sentence what was left out, nothing if nothing was."""
        places = ((self.before_count, "before"), (self.behind_count, "behind"))
        counts = [f"{_count_lines(count)} {where}" for count, where in places if count]
        parts = [f"{' and '.join(counts)} the HLO are passed over"] if counts else []
        if self.prefix:
            parts.append(f"prefixes of lines, such as {self.prefix.strip()!r}, are left out")
        return (f"{self.modules[0].name}: {'; '.join(parts)}.",) if parts else ()


def find_modules(source: Source, detection: Detection) -> FoundModules:
    """Return the modules of a text that is said to hold one; a dump comes back as it is.

    text   := module { "// -----" NL module } | { other | prefix "HloModule" … }
    module := [ "HloModule" … ] computation { computation }

    A module ends with its last computation. Where that cannot be told, because something is
    never closed or what follows looks like HLO, it goes on to the next module or the next mark.
    What was made of a proto is one module, whatever stands in it.
    """
    if source.counts is not None or _is_plain(source.text, detection):
        return FoundModules((source,))
    text = source.text
    headings = _leave_out_inner(source, _find_all_headings(text, detection))
    starts = [_line_start(text, one.position) for one in headings]
    edges = sorted((*starts, *(mark.start() for mark in _SEPARATOR_LINE.finditer(text)), len(text)))
    modules: list[Source] = []
    behind_count, line, counted = 0, source.first_line, 0
    for heading, (start, following) in zip(headings, pairwise((*starts, len(text))), strict=True):
        line += text.count("\n", counted, start)
        counted = start
        edge = edges[bisect_right(edges, start)]
        part = text[start:edge]
        if heading.prefix:
            part = Prefix(heading.prefix).blank_out(part)
        cut = _find_tail(Source(part, source.name, line), heading.position - start)
        behind_count += _count_others(part[cut:]) + _count_others(text[edge:following])
        modules.append(Source(part[:cut], source.name, line, source.counts))
    prefix = next((one.prefix for one in headings if one.prefix), "")
    return FoundModules(tuple(modules), _count_others(text[: starts[0]]), behind_count, prefix)


def _is_plain(text: str, detection: Detection) -> bool:
    """Whether a text is one module and nothing else, as far as a glance tells."""
    last_line = text[-_LAST_PART:].rstrip().rpartition("\n")[2]
    if detection.has_preamble or not last_line.startswith("}"):
        return False
    if _STRING_END.match(last_line, 1):
        return False
    may_be_split = len(text) <= LONGEST_HAND_WRITTEN and _SEPARATOR in text
    return not may_be_split and not _mentions_another(text, detection.begin)


def _mentions_another(text: str, begin: int) -> bool:
    """Whether `HloModule` stands in a text behind its first word.

    Its first letter, rare in dumps, is found in a twentieth of the time that the word takes.
    """
    at = begin
    for _ in range(_FEW):
        at = text.find(_HEADER[0], at + 1)
        if at < 0 or text.startswith(_HEADER, at):
            return at >= 0
    return text.find(_HEADER, at) >= 0


def _find_all_headings(text: str, detection: Detection) -> list[Heading]:
    """Return where modules begin, at the beginning and behind separators without a header too."""
    headings = list(find_headings(text))
    positions = [one.position for one in headings]
    ends = [mark.end() for mark in _SEPARATOR_LINE.finditer(text)]
    for place, following in zip([detection.begin, *ends], [*ends, len(text)], strict=True):
        number = bisect_left(positions, place)
        header = _line_start(text, positions[number]) if number < len(positions) else following
        part = text[place : min(header, following)]
        found = detect_kind(part)
        if found.kind is TextKind.MODULE or _HLO_LINE.search(part):
            headings.append(Heading(place + found.begin))
    return sorted(headings, key=lambda one: one.position)


def _leave_out_inner(source: Source, headings: list[Heading]) -> list[Heading]:
    """Leave out what looks like a header inside a module: recovery tables hold modules.

    Where something is never closed, nothing tells; it is looked for once, as that takes time.
    """
    marks = [*(mark.start() for mark in _SEPARATOR_LINE.finditer(source.text)), len(source.text)]
    kept: list[Heading] = []
    end: int | None = 0
    for heading in headings:
        if end is None or heading.position >= end:
            kept.append(heading)
            if end is not None and not heading.prefix:
                limit = marks[bisect_right(marks, heading.position)]
                end = find_module_end(source, heading.position, limit)
    return kept


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _find_tail(source: Source, heading: int) -> int:
    """Return where what follows a module and is none of it begins, or the end.

    That is a line, or what closes the string of a program on the last line of the module.
    """
    text = source.text
    end = find_module_end(source, heading)
    if end is None:
        return len(text)
    comments = _COMMENTS.match(text, end)
    other = comments.end() if comments else end
    start = end if _STRING_END.match(text, end) else text.rfind("\n", 0, other) + 1
    if other == len(text) or start < end or _HLO_LINE.search(text, start):
        return len(text)
    return start


def _count_others(text: str) -> int:
    """Count the lines that hold something, comments left out."""
    return len(_OTHER_LINE.findall(text)) if text else 0


def _count_lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"
