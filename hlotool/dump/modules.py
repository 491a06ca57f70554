"""The modules of a text: where each begins and ends, what stands around them, what headers say.

A dump holds one module and nothing else. A test file of XLA may hold several, and so may a log;
what a log says before, between and behind them is no HLO and is left out. A dump that XLA printed
to standard output (when `--xla_dump_to` is `-`, or only a format was asked for) is taken apart
into the files it would have been.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import pairwise
from typing import Final

from msgspec import Struct

from hlotool.dump.text_kind import Detection, Heading, Prefix, TextKind, detect_kind, list_headings
from hlotool.hlo.fast_reader import LONGEST_HAND_WRITTEN
from hlotool.hlo.header_parser import find_module_end
from hlotool.hlo.scanner import NAME
from hlotool.table.words import count_noun
from hlotool.text import Source

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
        counts = [f"{count_noun(count, 'line')} {where}" for count, where in places if count]
        parts = [f"{' and '.join(counts)} the HLO are skipped"] if counts else []
        if self.prefix:
            parts.append(f"prefixes of lines, such as {self.prefix.strip()!r}, are left out")
        return (f"{self.modules[0].name}: {'; '.join(parts)}.",) if parts else ()


def split_modules(source: Source, detection: Detection) -> FoundModules:
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
    if len(text) <= LONGEST_HAND_WRITTEN and _SEPARATOR in text:
        return False
    # Whether `HloModule` stands behind the first word. Its first letter, rare in dumps, is found
    # in a twentieth of the time that the word takes.
    at = detection.begin
    for _ in range(_FEW):
        at = text.find(_HEADER[0], at + 1)
        if at < 0 or text.startswith(_HEADER, at):
            return at < 0
    return text.find(_HEADER, at) < 0


def _find_all_headings(text: str, detection: Detection) -> list[Heading]:
    """Return where modules begin, at the beginning and behind separators without a header too."""
    headings = list(list_headings(text))
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
    if (end := find_module_end(source, heading)) is None:
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


HEAD_BYTES: Final = 1 << 14  # the header line of most modules
LONG_HEAD_BYTES: Final = 1 << 22  # of those with thousands of parameters

ArrayText = tuple[str, tuple[str, ...]]  # element type, dimensions as printed

_NAME: Final = re.compile(r"\s*+HloModule\s++([^\s,]*+)")
_SCHEDULED: Final = re.compile(r",\s*+is_scheduled=true\b")
_LAYOUT: Final = re.compile(r",\s*+entry_computation_layout=\{")
_BRACE: Final = re.compile(r"[{}]")
_COUNT: Final = re.compile(r",\s*+(num_partitions|replica_count)=(\d{1,18}|\?)")
_COMMENT: Final = re.compile(r"/\*[^*]*+\*/")
_SHAPE_LAYOUT: Final = re.compile(r"\{[^{}]*+\}")
_ARRAY: Final = re.compile(r"([a-z]\w*+)\[([^\[\]]*+)\]")


class ModuleHead(Struct, frozen=True):
    """The header of a module text; None where it does not say."""

    name: str = ""
    is_scheduled: bool = False
    parameters: tuple[ArrayText, ...] | None = None  # arrays of the entry's parameters, flattened
    results: tuple[ArrayText, ...] | None = None
    num_partitions: int | None = 1
    replica_count: int | None = 1


def read_module_head(text: str, begin: int = 0, *, with_signature: bool = True) -> ModuleHead:
    """Read the header line of a module that starts at an offset; an empty head without one.

    The signature, most of the line, only where asked for.

    header = "HloModule " name { ", " key "=" value }

    Only the line is looked at, so a text may be cut off after it.
    """
    if (name := _NAME.match(text, begin)) is None:
        return ModuleHead()
    end = text.find("\n", begin)
    line = text[begin : end if end >= 0 else len(text)]
    # A proto need not say the counts; its header line has `?` then.
    counts = {key: None if value == "?" else int(value) for key, value in _COUNT.findall(line)}
    return ModuleHead(
        name[1],
        _SCHEDULED.search(line) is not None,
        *(_read_signature(line) if with_signature else (None, None)),
        counts.get("num_partitions", 1),
        counts.get("replica_count", 1),
    )


def _read_signature(line: str) -> tuple[tuple[ArrayText, ...] | None, tuple[ArrayText, ...] | None]:
    """Return the arrays of `entry_computation_layout={(...)->...}`, without layouts."""
    if (start := _LAYOUT.search(line)) is None:
        return None, None
    depth = 1
    for brace in _BRACE.finditer(line, start.end()):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            shapes = _COMMENT.sub("", line[start.end() : brace.start()])
            left, arrow, right = _SHAPE_LAYOUT.sub("", shapes).partition("->")
            return (read_arrays(left), read_arrays(right)) if arrow else (None, None)
    return None, None


def read_arrays(text: str) -> tuple[ArrayText, ...]:
    """Return the arrays named in a shape or a list of shapes, in order."""
    return tuple(
        (kind, tuple(dims.split(",")) if dims else ())
        for kind, dims in _ARRAY.findall(text.replace(" ", ""))
    )


_MARK: Final = re.compile(r"^\*\*\* (?P<edge>Begin|End) (?P<name>\S.*?) \*\*\*\r?$", re.MULTILINE)


class StreamSection(Struct, frozen=True):
    """One file of a stream. `copy` counts the files of this name before it."""

    name: str
    copy: int
    source: Source


def split_stream(source: Source) -> tuple[StreamSection, ...]:
    """Return the sections of a stream in order; what stands between them is left out.

    stream  := { other | section }
    section := "*** Begin " name " ***" NL text NL "*** End " name " ***" NL

    A section whose end mark is missing goes up to the next begin, or to the end of the
    stream. Lines count from the beginning of the section: its Source is named
    `STREAM[NAME]`. One name may occur several times, when several processes printed.
    """
    text = source.text
    marks = [(m["edge"], m["name"], m.start(), m.end()) for m in _MARK.finditer(text)]
    sections: list[StreamSection] = []
    copies: Counter[str] = Counter()
    name, start = "", 0
    # The last mark is none of the stream's: it ends a section that has no end.
    for edge, mark_name, begin, end in (*marks, ("", "", len(text) + 1, 0)):
        if name and (edge != "End" or mark_name == name):
            part = text[start : begin - 1]  # XLA adds a newline before the end mark
            sections.append(
                StreamSection(name, copies[name], Source(part, f"{source.name}[{name}]"))
            )
            copies[name] += 1
            name = ""
        if edge == "Begin":
            name, start = mark_name, end + 1
    return tuple(sections)
