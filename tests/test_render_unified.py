"""Unified diffs of lines that are marked already: both sides can be read back."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hlotool.table.cells import Look
from hlotool.table.unified import Mark, TextBlock, render_unified
from hlotool.table.unified import TextLine as Line

MARKS: dict[str, Mark] = {" ": "same", "-": "removed", "+": "added"}


lines = st.lists(
    st.builds(Line, st.sampled_from(tuple(MARKS.values())), st.text("abc ", max_size=3))
)


@given(lines, st.integers(0, 4))
def test_hunks_count_their_lines_and_lose_no_change(given_lines: list[Line], context: int) -> None:
    text = render_unified([TextBlock("f", tuple(given_lines))], ("a", "b"), Look(), context)
    shown = text.splitlines()
    if all(line.mark == "same" for line in given_lines):
        assert not text
        return
    assert shown[:2] == ["--- a", "+++ b"]
    hunks = re.split(
        r"^@@ -(\d+),(\d+) \+(\d+),(\d+) @@ f$", "\n".join(shown[2:]), flags=re.MULTILINE
    )
    found: list[Line] = []
    for place in range(1, len(hunks), 5):
        start, left, _, right = map(int, hunks[place : place + 4])
        body = [Line(MARKS[line[0]], line[1:]) for line in hunks[place + 4].split("\n") if line]
        counts = Counter(line.mark for line in body)
        assert counts["same"] + counts["removed"] == left
        assert counts["same"] + counts["added"] == right
        first = [line for line in given_lines if line.mark != "added"][max(0, start - 1) :]
        assert [line for line in body if line.mark != "added"] == first[:left]
        found += body
    changed = [line for line in given_lines if line.mark != "same"]
    assert [line for line in found if line.mark != "same"] == changed


def test_colour() -> None:
    section = TextBlock("f", (Line("removed", "x\x1b[2J"), Line("added", "y")))
    text = render_unified([section], ("a", "b"), Look(has_color=True))
    assert "\x1b[31m-x\\x1b[2J\x1b[0m" in text
    assert "\x1b[32m+y\x1b[0m" in text


def test_what_changed_in_a_line_stands_out() -> None:
    given_lines = [
        *(Line("removed", "f32[8] a"), Line("removed", "same b")),
        *(Line("added", "f32[16] a"), Line("added", "same b2")),
        *(Line("removed", "alone"), Line("same", "x"), Line("added", "alone, too")),
    ]
    text = render_unified([TextBlock("f", tuple(given_lines))], ("a", "b"), Look(has_color=True))
    assert "\x1b[31m-f32[\x1b[0m\x1b[31;7m8\x1b[0m\x1b[31m] a\x1b[0m" in text
    assert "\x1b[32m+f32[\x1b[0m\x1b[32;7m16\x1b[0m\x1b[32m] a\x1b[0m" in text
    assert "\x1b[31m-same b\x1b[0m\n" in text
    assert "\x1b[32m+same b\x1b[0m\x1b[32;7m2\x1b[0m\n" in text
    assert "\x1b[31m-alone\x1b[0m\n" in text
    assert "\x1b[32m+alone, too\x1b[0m\n" in text
