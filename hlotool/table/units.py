"""How is a number that is not negative written in its unit, with how many digits?

Tables and sentences have few digits. `digits` are so many more, where two figures would look alike.

How a value is written for eyes: 1.2 GiB, 2.61 T, 12,345, 41.0 %, ×48, yes, ?.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from hlotool.table.field import Field, Unit
from hlotool.table.rows import VARIOUS, Range, Sum
from hlotool.text import escape

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

UNKNOWN = "?"
UNITS = ("auto", "B", "KiB", "MiB", "GiB", "kB", "MB", "GB")
_PLAIN: Final = frozenset({str, int, float, bool})
_MOST_DIGITS: Final = 14  # more than usual; no float has more


def format_field(field: Field, record: object, units: str = "auto") -> str:
    """Return the text of one field of a record."""
    return format_field_value(field, field.getter()(record), record, units)


def format_column(
    field: Field, values: Sequence[object], records: Sequence[object], units: str
) -> list[str]:
    """Return the texts of one field of many records; of plain values, each different one once."""
    kinds = set(map(type, values)) - {type(None)}
    is_plain = len(kinds) <= 1 and kinds <= _PLAIN  # of one type: 1 is not 1.0
    if is_plain and not (field.names_from or field.unit_from or field.range_from):
        unit, digits = _choose_unit(field, units)
        is_signed = field.is_signed
        texts = {
            value: format_value(value, unit, units, is_signed=is_signed, digits=digits)
            for value in set(values)
        }
        texts[None] = field.null_text
        return [texts[value] for value in values]
    return [
        format_field_value(field, value, record, units)
        for value, record in zip(values, records, strict=True)
    ]


def format_field_value(field: Field, value: object, record: object, units: str) -> str:
    """Return the same where the field's value in the record is known."""
    if value is None:
        return field.null_text
    if field.names_from and isinstance(value, tuple):
        return _format_sizes(value, getattr(record, field.names_from), units)
    unit, digits = _choose_unit(field, units)
    if field.unit_from:
        unit = getattr(record, field.unit_from)
        digits = _find_digits(field, value, record, unit, units)
    least = getattr(record, field.range_from) if field.range_from else None
    if isinstance(value, int) and isinstance(least, int) and least != value:
        value = Range(least, value)
    return format_value(value, unit, units, is_signed=field.is_signed, digits=digits)


def _choose_unit(field: Field, units: str) -> tuple[Unit, int]:
    """Return the unit of a field whose records do not tell it, and how many more digits it has."""
    unit = Unit.RATIO if field.unit is Unit.MEASURE else field.unit
    return unit, int(field.is_fine and units == "auto")


def _find_digits(field: Field, value: object, record: object, unit: Unit, units: str) -> int:
    """Return how many more digits than usual tell a figure from the one that it is held against."""
    least = getattr(record, field.digits_from) if field.digits_from else 0
    other = getattr(record, field.apart_from) if field.apart_from else None
    if not isinstance(value, int | float) or not isinstance(other, int | float):
        return int(least)
    if abs(value) == abs(other):
        return int(least)
    for digits in range(least, _MOST_DIGITS):  # a sign alone tells nothing: −0.0 % is none
        texts = {format_value(abs(each), unit, units, digits=digits) for each in (value, other)}
        if len(texts) > 1:
            return digits
    return int(least)


def format_value(
    value: object, unit: Unit, units: str = "auto", *, is_signed: bool = False, digits: int = 0
) -> str:
    """Return the text of a value in its unit, with `digits` more than usual; None is `?`."""
    if type(value) is str:  # most cells of a long table
        return escape(value)
    if value is None:
        return UNKNOWN
    if value is VARIOUS:
        return VARIOUS.value
    if isinstance(value, Range):
        return _format_range(value, unit, units, is_signed=is_signed)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return _format_list(value)
    if not isinstance(value, int | float):
        return escape(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return UNKNOWN
    text = format_number(abs(value), unit, units, digits)
    sign = "−" if value < 0 else "+" if is_signed and value > 0 else ""
    return sign + text


def _format_range(value: Range, unit: Unit, units: str, *, is_signed: bool) -> str:
    """Return both ends, their unit once where it is the same: `12.0–97.7 MiB`, `30–49 %`."""
    if unit is Unit.PERCENT:
        ends = f"{value.least * 100:,.0f}", f"{value.most * 100:,.0f}"
        return f"{'–'.join(dict.fromkeys(ends))} %"
    least, most = (
        format_value(end, unit, units, is_signed=is_signed) for end in (value.least, value.most)
    )
    number, _, name = least.partition(" ")
    return f"{number if most.endswith(f' {name}') else least}–{most}" if least != most else most


def _format_list(value: Sequence[object]) -> str:
    """Return the items with commas between; of lists, as XLA prints groups: {{0,1},{2,3}}."""
    groups = [one for one in value if isinstance(one, tuple | list)]
    if not groups:
        return ", ".join(format_value(item, Unit.LIST) for item in value)
    inner = [",".join(format_value(item, Unit.LIST) for item in group) for group in groups]
    return "{" + ",".join(f"{{{group}}}" for group in inner) + "}"


def _format_sizes(sizes: Sequence[tuple[int, int]], names: Sequence[str], units: str) -> str:
    """Return sizes behind what they are the sizes of: `hbm 1.2 GiB, vmem 3.0 MiB`."""
    return ", ".join(
        f"{name} {format_value(size, Unit.BYTES, units)}"
        for name, (_, size) in zip(names, sizes, strict=True)
    )


def format_sum(total: Sum, unit: Unit, units: str = "auto", *, is_signed: bool = False) -> str:
    """Return a total with `≥` where a part is unknown and `≤` where one may not happen."""
    if total.value is None:
        return UNKNOWN
    return format_bounds(
        format_value(total.value, unit, units, is_signed=is_signed),
        is_lower=total.is_lower_bound,
        is_upper=total.is_upper_bound,
    )


def format_bounds(text: str, *, is_lower: bool, is_upper: bool) -> str:
    """Put the bounds before a figure: `≥ 1.2 GiB`; both together say `about`."""
    if is_lower and is_upper:
        return f"about {text}"
    return f"{'≥' if is_lower else '≤'} {text}" if is_lower or is_upper else text
