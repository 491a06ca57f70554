"""Normalised text: both programs can be read back from it, and equal ones differ nowhere."""

from __future__ import annotations

import pytest
from diff_cases import BASE, CASES, Edit, read, renamed, reordered

from hlotool.compare.changes.text import write_texts
from hlotool.compare.match.structure import compare_structure, list_reached
from hlotool.errors import UsageError
from hlotool.table.unified import TextBlock


def texts(old: str, new: str, only: str = "") -> tuple[TextBlock, ...]:
    return write_texts(compare_structure(read(old), read(new)), only)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_instruction_is_a_line(case: Edit) -> None:
    other = case.text
    blocks = texts(BASE, other)
    marks = [line.mark for block in blocks for line in block.lines]
    old, new = (
        sum(len(one.instructions) for one in list_reached(read(text))) for text in (BASE, other)
    )
    assert len(marks) - marks.count("added") == old
    assert len(marks) - marks.count("removed") == new


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_equal_programs_have_equal_texts(case: Edit) -> None:
    text = case.text
    assert not any(block.differs for block in texts(text, reordered(renamed(text))))


def test_one_changed_line() -> None:
    other = BASE.replace("maximum", "minimum").replace("multiply(%q", "maximum(%q")
    lines = [line for block in texts(BASE, other) for line in block.lines if line.mark != "same"]
    assert [(line.mark, line.text.split(" = ")[1]) for line in lines] == [
        ("removed", "f32[64,128]{1,0} multiply(%parameter.0, %broadcast.0)"),
        ("added", "f32[64,128]{1,0} maximum(%parameter.0, %broadcast.0)"),
    ]


def test_one_computation() -> None:
    (block,) = texts(BASE, renamed(BASE), "scale")
    assert block.name == "scale"
    assert len(block.lines) == 5
    with pytest.raises(UsageError, match="neither program runs a computation called 'x'"):
        texts(BASE, BASE, "x")
