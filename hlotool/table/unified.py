"""Two texts as a unified diff, from lines that are marked already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.table.cells import Look
from hlotool.text import escape

Mark: TypeAlias = Literal["same", "removed", "added"]
_SIGNS: Final = {"same": " ", "removed": "-", "added": "+"}
_Tag: TypeAlias = Literal["replace", "delete", "insert", "equal"]  # difflib's words
_TAGS: dict[str, _Tag] = {"same": "equal", "removed": "delete", "added": "insert"}


class TextLine(Struct, frozen=True):
    """A line, and whether it is on both sides or on one of them."""

    mark: Mark
    text: str


class TextBlock(Struct, frozen=True):
    """Lines under a name, those of both sides together."""

    name: str
    lines: tuple[TextLine, ...]

    @property
    def differs(self) -> bool:
        """Whether any line is marked."""
        return any(line.mark != "same" for line in self.lines)


class _MarkedMatcher(SequenceMatcher[str]):
    """Difflib's grouping of changes into hunks, for changes that are known already."""

    def __init__(self, lines: Iterable[TextLine]) -> None:
        super().__init__()
        self._lines = lines

    def get_opcodes(self) -> list[tuple[_Tag, int, int, int, int]]:
        """Return a step for each run of lines with one mark."""
        steps = []
        left = right = 0
        for mark, run in groupby(self._lines, key=lambda line: line.mark):
            size, start = len(list(run)), (left, right)
            left += size if mark != "added" else 0
            right += size if mark != "removed" else 0
            steps.append((_TAGS[mark], start[0], left, start[1], right))
        return steps


def render_unified(
    sections: Iterable[TextBlock], labels: tuple[str, str], look: Look, context: int = 3
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


def _section(section: TextBlock, context: int, look: Look) -> Iterator[str]:
    left = [line for line in section.lines if line.mark != "added"]
    right = [line for line in section.lines if line.mark != "removed"]
    for hunk in _MarkedMatcher(section.lines).get_grouped_opcodes(context):
        (_, left_begin, _, right_begin, _), (_, _, left_end, _, right_end) = hunk[0], hunk[-1]
        old = _count(left_begin, left_end)
        new = _count(right_begin, right_end)
        yield look.dim(f"@@ -{old} +{new} @@ {escape(section.name)}")
        runs = [
            (tag, right[j1:j2] if tag == "insert" else left[i1:i2]) for tag, i1, i2, j1, j2 in hunk
        ]
        yield from _paint(runs, look)


def _count(begin: int, end: int) -> str:
    """Write which lines of a side a hunk has; of none, behind which line it stands."""
    return f"{begin + (end > begin)},{end - begin}"


def _paint(runs: Sequence[tuple[str, Sequence[TextLine]]], look: Look) -> Iterator[str]:
    """Write runs of lines with their signs, each in the colour of its side.

    Where as many lines were removed as added behind them, what differs in each pair stands out.
    """
    counterparts: Sequence[TextLine] = ()
    for number, (tag, run) in enumerate(runs):
        if tag == "delete":
            tag_after, after = runs[number + 1] if number + 1 < len(runs) else ("", ())
            counterparts = after if tag_after == "insert" and len(after) == len(run) else ()
        for place, line in enumerate(run):
            other = counterparts[place].text if tag != "equal" and counterparts else None
            yield _paint_line(line, other, look)
        counterparts = run if tag == "delete" and counterparts else ()


def _paint_line(line: TextLine, other: str | None, look: Look) -> str:
    """Write a line; of another that took its place, what that has not stands out."""
    text, mark = _SIGNS[line.mark] + escape(line.text), line.mark
    if other is None or not look.has_color:
        return look.paint(text, mark)
    other = _SIGNS[mark] + escape(other)
    # The same at the beginning and at the end is left aside; the end must not reach back into it.
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
