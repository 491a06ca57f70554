"""Two texts as a unified diff, from lines that are marked already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hlotool.escape import escape
from hlotool.render.look import Look

_SIGNS = {"same": " ", "removed": "-", "added": "+"}
_COLORS = {"removed": "31", "added": "32"}


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
        body = []
        for line in lines[first:last]:
            left, right = _step(line, left, right)
            body.append(_colored(_SIGNS[line.mark] + escape(line.text), line.mark, look))
        at = last
        counts = left - start[0], right - start[1]
        old, new = (
            f"{begin + bool(count)},{count}" for begin, count in zip(start, counts, strict=True)
        )
        shown.append(look.dim(f"@@ -{old} +{new} @@ {escape(section.name)}"))
        shown += body
    return shown


def _colored(text: str, mark: str, look: Look) -> str:
    color = _COLORS.get(mark)
    return f"\x1b[{color}m{text}\x1b[0m" if look.has_color and color else text


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
