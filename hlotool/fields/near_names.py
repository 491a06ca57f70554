"""Which known names may be meant by a wrong one?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MOST_NEAR: Final = 4
_MOST_COMPARED: Final = 20_000  # letter by letter, which takes some 20 µs each


def find_near(name: str, known: Iterable[str]) -> list[str]:
    """Return the names most like a wrong one, then those that hold it; case does not count."""
    from difflib import get_close_matches  # noqa: PLC0415  only an error needs it

    names = list(known)
    folded = {candidate.lower(): candidate for candidate in names[:_MOST_COMPARED]}
    near = [folded[match] for match in get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    near += [each for each in names if len(name) > 1 and name.lower() in each and each not in near]
    return near[:_MOST_NEAR]


def either(names: list[str]) -> str:
    """Join names as a sentence does: `a`, `a or b`, `a, b or c`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
