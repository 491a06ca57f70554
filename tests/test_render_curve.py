"""The drawn timeline: it fits its width, shows the highest levels, and marks the peak."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlotool.table.curve import draw_curve

LEAST = 40  # columns; below that labels and curve do not fit beside each other


@given(st.lists(st.integers(0, 1 << 40), max_size=300), st.integers(LEAST, 160))
def test_every_line_fits(levels: list[int], width: int) -> None:
    peak = levels.index(max(levels)) if levels else 0
    assert all(len(line) <= width for line in draw_curve(levels, peak, width))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=300), st.integers(LEAST, 120))
def test_the_peak_stands_under_its_mark(levels: list[int], width: int) -> None:
    peak = levels.index(max(levels))
    mark, highest, *_ = draw_curve(levels, peak, width)
    place = mark.index("▼")
    assert highest[place] == "█"
    assert f"peak at {peak}" in mark


def test_a_small_curve() -> None:
    assert draw_curve([0, 1024, 512, 512], 1, 28) == [
        "                ▼ peak at 1",
        "1.0 KiB ┤     █████",
        "        │     █████",
        "        │     █████",
        "        │     █████",
        "        │     █████",
        "  512 B ┤     ███████████████",
        "        │     ███████████████",
        "        │     ███████████████",
        "        │     ███████████████",
        "        │     ███████████████",
        "    0 B └────────────────────",
        "         0                  3",
    ]


def test_nothing_in_use() -> None:
    lines = draw_curve([0, 0], 0, LEAST)
    assert "█" not in "".join(lines)
