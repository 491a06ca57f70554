"""A dump printed to standard output: the files it would have been, taken apart.

XLA prints so when `--xla_dump_to` is `-`, or when only a format was asked for.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from hlotool.source import Source

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
    sections: list[StreamSection] = []
    copies: dict[str, int] = {}
    name, start = "", 0
    for edge, mark_name, begin, end in _marks(source.text):
        if name and (edge != "End" or mark_name == name):
            sections.append(_cut(source, name, copies, start, begin))
            name = ""
        if edge == "Begin":
            name, start = mark_name, end + 1
    return tuple(sections)


def _marks(text: str) -> list[tuple[str, str, int, int]]:
    """Return the marks in order, and one that stands for the end of the text."""
    marks = [(m["edge"], m["name"], m.start(), m.end()) for m in _MARK.finditer(text)]
    return [*marks, ("", "", len(text) + 1, len(text) + 1)]


def _cut(source: Source, name: str, copies: dict[str, int], start: int, end: int) -> StreamSection:
    """Cut one section out; XLA adds a newline before the end mark."""
    copy = copies.get(name, 0)
    copies[name] = copy + 1
    return StreamSection(name, copy, Source(source.text[start : end - 1], f"{source.name}[{name}]"))
