"""Counts and lists in sentences: `1 line`, `2,000 lines`, `a, b and 3 more`, `a, b or c`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_ONE: Final = frozenset((1, "1"))


def plural(count: int | str | None, one: str, many: str = "") -> str:
    """Return the word that goes with a count, which may be written already or unknown.

    >>> plural(1, "line"), plural(None, "line"), plural("2.1k", "line is", "lines are")
    ('line', 'lines', 'lines are')
    """
    return one if count in _ONE else many or f"{one}s"


def count_noun(count: int | str | None, one: str, many: str = "") -> str:
    """Write a count, or take it as it is written, and what is counted behind it.

    >>> count_noun(1, "line"), count_noun(2000, "line"), count_noun(None, "line")
    ('1 line', '2,000 lines', '? lines')
    """
    number = f"{count:,}" if isinstance(count, int) else count
    return f"{number or '?'} {plural(count, one, many)}"


def list_some(names: Sequence[str], most: int = 3, more: str = " and {} more") -> str:
    """Write the first names; `more` is a template that says how many others there are.

    >>> list_some(["a", "b"]), list_some(["a", "b", "c"], 2), list_some(["a", "b"], 1, ", …")
    ('a, b', 'a, b and 1 more', 'a, …')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (more.format(rest) if rest > 0 else "")


def join_words(words: Sequence[str], conjunction: str) -> str:
    """Join words as a sentence does.

    >>> join_words(["a"], "or"), join_words(["a", "b", "c"], "or")
    ('a', 'a, b or c')
    """
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last
