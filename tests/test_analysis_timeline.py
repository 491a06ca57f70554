"""The timeline and its separate peaks, against their definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlotool.analysis.memory.intervals import Curve
from hlotool.analysis.memory.timeline import SEPARATING_PART, choose_peaks, timeline

LEVELS = st.lists(st.integers(0, 40), max_size=14)


def make_curve(levels: list[int]) -> Curve:
    """Leave out positions where nothing changes, as curves do."""
    positions = [
        place for place, level in enumerate(levels) if level != (levels[place - 1] if place else 0)
    ]
    return Curve(tuple(positions), tuple(levels[place] for place in positions))


@given(LEVELS)
def test_every_position_has_its_level(levels: list[int]) -> None:
    sequence = tuple(f"i{place}" for place in range(max(len(levels) - 1, 0)))
    rows = timeline(make_curve(levels), sequence)
    expected = levels or [0]
    assert [row.bytes for row in rows] == expected
    assert [row.position for row in rows] == list(range(len(expected)))
    assert [row.instruction for row in rows] == [*sequence, None]


def test_peaks_are_separated_by_a_tenth() -> None:
    curve = make_curve([0, 100, 95, 99, 50, 98, 90, 100, 0, 10, 8, 10])
    rows = choose_peaks(curve, tuple("abcdefghijkl"), 9)
    assert [(row.position, row.bytes, row.instruction) for row in rows] == [
        (1, 100, "b"),
        (7, 100, "h"),
        (9, 10, "j"),
        (11, 10, "l"),
    ]
    assert [row.position for row in choose_peaks(curve, (), 2)] == [1, 7]


@given(LEVELS)
def test_the_first_peak_is_the_highest(levels: list[int]) -> None:
    curve = make_curve(levels)
    rows = choose_peaks(curve, (), 100)
    assert bool(rows) == any(levels)
    if rows:
        assert (rows[0].bytes, rows[0].position) == curve.peak()


@given(LEVELS)
def test_memory_falls_by_a_tenth_between_any_two(levels: list[int]) -> None:
    rows = choose_peaks(make_curve(levels), (), 100)
    for one in rows:
        for other in rows:
            if one.position < other.position:
                lowest = min(levels[one.position : other.position + 1])
                smaller = min(one.bytes, other.bytes)
                assert (smaller - lowest) * SEPARATING_PART >= smaller


def test_a_long_staircase_ends_in_time() -> None:
    levels = [*range(1, 100_000), *range(100_000, 0, -1)]
    assert len(choose_peaks(make_curve(levels), (), 5)) == 1
