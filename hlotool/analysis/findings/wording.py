"""How do findings write shares, names and places?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def percent(part: float, whole: float) -> str:
    """Write a part of a whole: `12 %`, `0.4 %`."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.0f} %" if value >= 1 else f"{value:.1f} %"


def name_all(names: Sequence[str]) -> str:
    """Write the first of some names and how many are like it: `all-gather.5 and 3 like it`."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} like it"


def write_source(file: str | None, line: int | None) -> str | None:
    """Write a place in the user's program as `file:line`."""
    if file is None:
        return None
    return f"{file}:{line}" if line else file


def first_source(places: Iterable[tuple[str | None, int | None]]) -> str | None:
    """Return the first place that is known."""
    return next((write_source(*place) for place in places if place[0] is not None), None)
