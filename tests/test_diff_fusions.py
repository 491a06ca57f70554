"""Fusions that changed, were split or merged: cases are edits of testdata/diff/base.txt."""

from __future__ import annotations

import pytest
from diff_cases import BASE, DIFF, Edit, parse, read_edits, renamed

from hlotool.compare.inputs import DiffSide
from hlotool.compare.report import DiffOptions, compare_programs
from hlotool.program.program import Program

CASES = read_edits(DIFF / "fusions.cases")
ONLY = DiffOptions(only=("fusions",))


def found_fusions(old: str, new: str) -> list[str]:
    """Compare two texts, and write down which fusions changed, as cases do."""
    before, after = (DiffSide(Program("step", parse(text))) for text in (old, new))
    lines = []
    for row in compare_programs(before, after, ONLY).fusions:
        form = f" {row.form}" if row.form else ""
        what = f": {row.what}" if row.what else ""
        lines.append(f"{row.change}{form}: {row.name}{what}")
    return sorted(lines)


def test_there_are_cases() -> None:
    assert len(CASES) > 4


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_became_of_fusions(case: Edit) -> None:
    assert found_fusions(BASE, case.text) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_other_way_round(case: Edit) -> None:
    """What was split one way is merged the other; what was added is removed."""
    there, back = found_fusions(BASE, case.text), found_fusions(case.text, BASE)
    words = {"changed split": "changed merged", "added": "removed"}
    starts = [line.split(":")[0] for line in there]
    assert sorted(words.get(start, start) for start in starts) == sorted(
        line.split(":")[0] for line in back
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_names_do_not_count(case: Edit) -> None:
    assert found_fusions(case.text, renamed(case.text)) == []
