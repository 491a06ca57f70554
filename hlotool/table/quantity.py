"""A number with a unit, as a user writes it: `80GiB`, `450 GB/s`, `5us`, `2%`.

    quantity = number unit
    number   = digits [ "." digits ] [ "e" [ "+" | "-" ] digits ]

The values of options are read here. A literal of an expression has the same units, but may be
written in more ways (`1_000`, `.5`), which only the grammar of expressions knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from hlotool.errors import UsageError
from hlotool.table.field import Unit
from hlotool.table.words import join_words

SIZES: Final = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "PiB": 1 << 50,
}
# In seconds; the letter mu is in Unicode twice, and keyboards have either.
TIMES: Final = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
PERCENT: Final = "%"
_SCALES: Final[dict[str, Fraction | int]] = {PERCENT: Fraction(1, 100), **SIZES, **TIMES}
# In which unit a figure is that may be written with one of these behind it.
UNITS: Final = {
    PERCENT: Unit.PERCENT,
    **dict.fromkeys(SIZES, Unit.BYTES),
    **dict.fromkeys(TIMES, Unit.SECONDS),
}
# What a bare number may have been meant to be.
_SIZE_UNITS: Final = ("GiB", "GB", "B")
_SPEED_UNITS: Final = ("GB/s", "B/s")
# No figure of a program comes near; what a user writes, or saved, is refused above it, so
# that sums, shares and differences of it are still numbers.
LARGEST_FIGURE: Final = 10**300
_QUANTITY: Final = re.compile(
    r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S*)\s*"
)
_SHARE: Final = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*")


def to_base_unit(number: float, unit: str) -> int | float:
    """Return bytes, seconds or a fraction; whole numbers as integers.

    Through `Fraction`, as `1.1 * 10**9` is not 1,100,000,000 in floating point.
    """
    exact = Fraction(repr(number)) * _SCALES[unit]
    return exact.numerator if exact.denominator == 1 else float(exact)


def parse_size(text: str, option: str) -> int:
    """Return a size in bytes; a lone K, M, G, T means KiB, MiB, …

    A bare number is refused: it may be GiB that are meant. Raises UsageError, with the option's
    name, for that and anything else.
    """
    number, unit = _split(text, option, _SIZE_UNITS)
    scale = SIZES.get(unit) or SIZES.get(f"{unit.upper()}iB")
    if not number or scale is None:
        raise UsageError(f"{option} {text!r} is not a size; write 80GiB, 16 GB or 1500000B.")
    return int(Fraction(number) * scale)


def parse_bandwidth(text: str, option: str) -> float:
    """Return bytes a second, more than 0: a size with `/s` or `ps` behind its unit.

    A lone G is none: it may be bits that are meant. Nor is a bare number, or a size. Raises
    UsageError for anything else.
    """
    number, unit = _split(text, option, _SPEED_UNITS)
    size = re.sub(r"(?<=B)(?:/s|ps)$", "", unit)
    value = float(number or 0) * SIZES.get(size.replace("k", "K"), 0)
    if value and size == unit:
        raise UsageError(f"{option} {text} is a size, no speed; write {number}{unit}/s.")
    if not value:
        raise UsageError(f"{option} {text}: expected bytes per second, as in 450GB/s.")
    return value


def parse_time(text: str, option: str) -> float:
    """Return seconds; the unit is one of TIMES. Raises UsageError for the rest."""
    number, unit = _split(text, option)
    if not number or unit not in TIMES:
        raise UsageError(f"{option} {text}: expected a time, as in 5us.")
    return float(Fraction(number) * TIMES[unit])


def find_share(text: str) -> Fraction | None:
    """Return a percentage as the exact part it stands for, None where the text is no percentage.

    A bare number is none: it would leave open whether a part or an amount is meant.
    """
    match = _SHARE.fullmatch(text)
    return Fraction(match[1]) / 100 if match else None


def _split(text: str, option: str, units: Sequence[str] = ()) -> tuple[str, str]:
    """Return number and unit, two times '' where the text does not begin with a number.

    Raises UsageError for a bare number that may have been meant in one of several `units`.
    """
    match = _QUANTITY.fullmatch(text)
    number, unit = (match[1], match[2]) if match else ("", "")
    if number and not unit and units:
        meant = join_words([f"{number}{each}" for each in units], "or")
        raise UsageError(f"{option} {number} has no unit; write {meant}.")
    return number, unit
