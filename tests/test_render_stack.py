"""The drawn timeline by groups: the curve of `draw_curve`, every cell of it in one group."""

from __future__ import annotations

import re

import pytest
from dump_files import TESTDATA
from hypothesis import given
from hypothesis import strategies as st

from hlotool.cli import run
from hlotool.table.curve import draw_curve, draw_stack

DUMP = TESTDATA / "dumps" / "gpu_h100" / "transformer_train"
PARTS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=200)


@given(PARTS, st.integers(40, 120))
def test_the_drawing_is_that_of_the_curve(parts: list[tuple[int, int]], width: int) -> None:
    levels = [sum(pair) for pair in parts]
    low, high = zip(*parts, strict=True)
    drawn = draw_curve(levels, 0, width)
    stacked = draw_stack(levels, {"low": low, "high": high}, 0, width, has_color=True)
    assert [line.template for line in stacked[:-2]] == drawn
    plain = draw_stack(levels, {"low": low, "high": high}, 0, width)
    cells = str.maketrans("▁▂▃▄▅▆▇█", "########")
    for line, text in zip(plain[1:-4], drawn[1:-2], strict=True):
        assert line.template.replace("o", "#") == text.translate(cells)


def test_a_small_stack() -> None:
    low, high = [0, 512, 0, 256], [0, 512, 512, 256]
    drawn = draw_stack([0, 1024, 512, 512], {"a": low, "b": high}, 1, 28)
    assert [line.template for line in drawn] == [
        "                ▼ peak at 1",
        *["1.0 KiB ┤     ooooo"],
        *["        │     ooooo"] * 4,
        *["  512 B ┤     #####oooooooooo"],
        *["        │     #####oooooooooo"],
        *["        │     #####ooooo#####"] * 3,
        "    0 B └────────────────────",
        "         0                  3",
        "         # a",
        "         o b",
    ]


def test_groups_of_a_program_have_colours(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["buffers", str(DUMP), "--timeline", "--by", "allocation_type"]
    assert run(options) == 0
    plain = capsys.readouterr().out
    assert re.search(r"┤.*o", plain)
    assert "# temp" in plain
    assert run([*options, "--color", "always"]) == 0
    assert "\x1b[34m█\x1b[0m temp" in capsys.readouterr().out
