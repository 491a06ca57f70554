"""Which known names may be meant by a wrong one?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

_MOST_NEAR: Final = 4
_MOST_COMPARED: Final = 20_000  # letter by letter, which takes some 20 µs each
_MOST_ALIKE: Final = 3
_CANDIDATES: Final = 12  # of which the most alike may begin with another letter, and are not near
# How alike names are that are near, from 0 to 1; those who mistype mostly begin right.
_LEAST: Final = 0.55
_LEAST_OF_ANOTHER_LETTER: Final = 0.7


def find_near(name: str, known: Iterable[str]) -> list[str]:
    """Return the names most like a wrong one, then those that hold it, else its own parts.

    Case does not count.
    """
    wrong, names = name.lower(), list(known)
    folded = {candidate.lower(): candidate for candidate in names[:_MOST_COMPARED]}
    near = [folded[match] for match in _find_alike(wrong, folded)]
    if len(wrong) > 1:
        holding = (one for one in names if wrong in one.lower())
        near += sorted(holding, key=lambda one: not one.lower().startswith(wrong))
    if not near:
        words = wrong.replace("_", "-")
        ends = ((one, one.lower().replace("_", "-")) for one in names)
        near = [
            one for one, end in ends if words.startswith(f"{end}-") or words.endswith(f"-{end}")
        ]
    near = list(dict.fromkeys(near))
    return near[:_MOST_NEAR]


def _find_alike(wrong: str, known: Collection[str]) -> list[str]:
    """Return the names that are spelled nearly so, the nearest first."""
    from difflib import SequenceMatcher, get_close_matches  # noqa: PLC0415  only an error needs it

    found = get_close_matches(wrong, known, n=_CANDIDATES, cutoff=_LEAST)
    alike = (
        one
        for one in found
        if one[:1] == wrong[:1]
        or SequenceMatcher(None, one, wrong).ratio() >= _LEAST_OF_ANOTHER_LETTER
    )
    return list(islice(alike, _MOST_ALIKE))


def either(names: list[str]) -> str:
    """Join names as a sentence does: `a`, `a or b`, `a, b or c`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
