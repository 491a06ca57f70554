"""Counts and lists in sentences are written as their examples say."""

from __future__ import annotations

import doctest

import pytest

from hlotool.table import words
from hlotool.table.words import count_noun, list_some


def test_examples() -> None:
    failed, tried = doctest.testmod(words)
    assert (failed, tried > 3) == (0, True)


@pytest.mark.parametrize(
    ("count", "written"),
    [(0, "0 rows are"), (1, "1 row is"), ("1", "1 row is"), (None, "? rows are")],
)
def test_the_verb_goes_with_the_count(count: int | str | None, written: str) -> None:
    assert count_noun(count, "row is", "rows are") == written


def test_no_names_are_no_text() -> None:
    assert list_some([]) == ""
