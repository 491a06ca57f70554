"""Two texts as a unified diff, from lines that are marked already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol

from hlotool.table.cells import Look
from hlotool.text import escape

_SIGNS = {"same": " ", "removed": "-", "added": "+"}


class Marked(Protocol):
    """A line, and on which side it stands."""

    @property
    def mark(self) -> str:
        """One of same, removed, added."""

    @property
    def text(self) -> str:
        """The line."""


class Section(Protocol):
    """Lines under a name."""

    @property
    def name(self) -> str:
        """What the lines are of."""

    @property
    def lines(self) -> Sequence[Marked]:
        """The lines in order."""


def render_unified(
    sections: Iterable[Section], labels: tuple[str, str], look: Look, context: int = 3
) -> str:
    """Return the changed lines of every section with some lines around them.

    `@@ -a,b +c,d @@ name` counts lines within the section. '' if nothing differs.
    """
    hunks = [line for section in sections for line in _section(section, max(0, context), look)]
    if not hunks:
        return ""
    head = [
        look.bold(escape(f"{sign} {label}"))
        for sign, label in zip(("---", "+++"), labels, strict=True)
    ]
    return "".join(f"{line}\n" for line in head + hunks)


def _section(section: Section, context: int, look: Look) -> list[str]:
    lines = section.lines
    shown: list[str] = []
    left = right = at = 0
    for first, last in _hunks([line.mark != "same" for line in lines], context):
        while at < first:
            left, right = _step(lines[at], left, right)
            at += 1
        start = left, right
        for line in lines[first:last]:
            left, right = _step(line, left, right)
        body = _paint(lines[first:last], look)
        at = last
        counts = left - start[0], right - start[1]
        old, new = (
            f"{begin + bool(count)},{count}" for begin, count in zip(start, counts, strict=True)
        )
        shown.append(look.dim(f"@@ -{old} +{new} @@ {escape(section.name)}"))
        shown += body
    return shown


def _paint(lines: Sequence[Marked], look: Look) -> list[str]:
    """Write lines with their signs, each in the colour of its side.

    Where as many lines were removed as added behind them, what differs in each pair stands out.
    """
    made: list[str] = []
    runs = [(mark, list(run)) for mark, run in groupby(lines, key=lambda line: line.mark)]
    partners: list[Marked] = []
    for number, (mark, run) in enumerate(runs):
        after = runs[number + 1] if number + 1 < len(runs) else ("", [])
        if mark == "removed":
            partners = after[1] if after[0] == "added" and len(after[1]) == len(run) else []
        for place, line in enumerate(run):
            other = partners[place].text if mark != "same" and place < len(partners) else None
            made.append(_paint_line(line, other, look))
        partners = run if mark == "removed" and partners else []
    return made


def _paint_line(line: Marked, other: str | None, look: Look) -> str:
    """Write a line; of another that took its place, what that has not stands out."""
    text, mark = _SIGNS[line.mark] + escape(line.text), line.mark
    if other is None or not look.has_color:
        return look.paint(text, mark)
    other = _SIGNS[mark] + escape(other)
    begin = _count_shared(text, other)
    end = len(text) - _count_shared(text[begin:][::-1], other[begin:][::-1])
    if (begin, end) == (len(_SIGNS[mark]), len(text)):  # nothing is the same
        return look.paint(text, mark)
    parts = (text[:begin], mark), (text[begin:end], mark, "changed"), (text[end:], mark)
    return "".join(look.paint(part, *tones) for part, *tones in parts)


def _count_shared(text: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(text), len(other)))


def _step(line: Marked, left: int, right: int) -> tuple[int, int]:
    return left + (line.mark != "added"), right + (line.mark != "removed")


def _hunks(changed: Sequence[bool], context: int) -> list[tuple[int, int]]:
    """Join changed places that are near each other into ranges with context."""
    ranges: list[tuple[int, int]] = []
    for place, is_changed in enumerate(changed):
        if not is_changed:
            continue
        first, last = max(0, place - context), min(len(changed), place + context + 1)
        if ranges and first <= ranges[-1][1]:
            ranges[-1] = ranges[-1][0], last
        else:
            ranges.append((first, last))
    return ranges
