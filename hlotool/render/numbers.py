"""How is a number that is not negative written in its unit, with how many digits?

Tables and sentences have few digits. `digits` are so many more, where two figures would look alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.fields import Unit

_SCALES: Final = {
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}
_EXACT_BELOW: Final = 10_000  # counts of work are exact below this, 3 digits and a prefix above
_MOST_SIZE_DIGITS: Final = 3  # of a size; with more it is told in bytes


def format_number(value: float, unit: Unit, units: str, digits: int = 0) -> str:
    """Return the text of a number that is not negative."""
    if unit is Unit.BYTES:
        return _format_bytes(value, units, digits)
    if unit is Unit.FLOPS:
        is_exact = units == "B" or value < _EXACT_BELOW
        return _comma(value) if is_exact else _metric(value, "", digits)
    write = _WRITERS.get(unit)
    return str(value) if write is None else write(value, digits)


def _format_bytes(value: float, units: str, digits: int) -> str:
    """Return a size, in binary units unless asked; `B` is exact, a named one has two decimals."""
    if units == "B":
        return _comma(value)
    if value < 1 << 10 and units not in _SCALES:
        return f"{_comma(value)} B"
    if digits > _MOST_SIZE_DIGITS:
        return f"{_comma(value)} B"
    if units in _SCALES:
        return f"{value / _SCALES[units]:,.{2 + digits}f} {units}"
    import humanize  # noqa: PLC0415  only tables need it

    form = f"%.{1 + digits}f"
    text = humanize.naturalsize(value, binary=True, format=form)
    # 1023.96 KiB rounds to 1024.0 KiB: say 1.0 MiB
    is_next = text[:6] == "1024.0"
    return humanize.naturalsize(value * 1.0001, binary=True, format=form) if is_next else text


def _format_ratio(value: float, digits: int) -> str:
    """Return a ratio with three digits that matter."""
    if isinstance(value, int) or value >= 100:  # noqa: PLR2004
        return f"{value:,.{0 if isinstance(value, int) else digits}f}"
    return f"{value:.{3 + digits}g}"


def _metric(value: float, unit: str, digits: int) -> str:
    """Return a number with an SI prefix and three digits."""
    import humanize  # noqa: PLC0415  only tables need it

    rounded = float(f"{value:.{2 + digits}e}")  # first, or 999.9 G becomes 1000 G and not 1.00 T
    return humanize.metric(rounded, unit, 3 + digits).strip()


def _comma(value: float) -> str:
    """Return an exact number with a comma every three digits."""
    import humanize  # noqa: PLC0415  only tables need it

    return humanize.intcomma(value)


def _times(value: float) -> str:
    """Return how many equal things a row stands for; one needs no word."""
    return "" if value == 1 else f"×{value:,}"


_WRITERS: dict[Unit, Callable[[float, int], str]] = {
    Unit.SECONDS: lambda value, digits: _metric(value, "s", digits),
    Unit.PERCENT: lambda value, digits: f"{value * 100:,.{1 + digits}f} %",
    Unit.TIMES: lambda value, _: _times(value),
    Unit.RATIO: _format_ratio,
    Unit.MEASURE: _format_ratio,
    Unit.COUNT: lambda value, _: _comma(value),
}
