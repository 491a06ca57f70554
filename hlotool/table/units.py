"""Values with their units: how they are written for eyes, and in prose, and how users write them.

Written are 1.2 GiB, 2.61 T, 12,345, 41.0 %, ×48, yes, ?. Tables and sentences have few digits;
exact figures are JSON's and CSV's. `digits` are so many more, where two figures would look alike. A
`Line` of prose is a template whose names in braces become figures of its record.

Read are the values of options: `80GiB`, `450 GB/s`, `5us`, `2%`.

    quantity = number unit
    number   = digits [ "." digits ] [ "e" [ "+" | "-" ] digits ]

A literal of an expression has the same units, but may be written in more ways (`1_000`, `.5`),
which only the grammar of expressions knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from string import Formatter
from typing import Final

from hlotool.errors import UsageError
from hlotool.table.document import Line, Range, Sum, Various
from hlotool.table.field import Field, Shown, Unit
from hlotool.table.words import count_noun, join_words
from hlotool.text import escape

UNKNOWN: Final = "?"
UNITS: Final = ("auto", "decimal", "B", "KiB", "MiB", "GiB", "kB", "MB", "GB")
_SCALED: Final = frozenset({"auto", "decimal"})  # each size in the unit that suits it
_EXACT_BELOW: Final = 10_000  # counts of work are exact below this, 3 digits and a prefix above
_MOST_SIZE_DIGITS: Final = 3  # of a size; with more it is told in bytes
_MOST_DIGITS: Final = 14  # more than usual; no float has more
_PLAIN: Final = frozenset({str, int, float, bool})
_LEAST_WIDTH: Final = 20  # of a terminal, for prose


def render_line(line: Line, units: str = "auto") -> str:
    """Return the text of a line of prose.

    line = { text | "{" field name [ ":" noun ] "}" | "{{" | "}}" }
    """
    if line.block is None or line.record is None:
        return escape(line.template)
    is_upper = getattr(line.record, "is_upper_bound", False) is True
    parts = []
    for text, name, noun, _ in Formatter().parse(line.template):
        parts.append(text)
        if name is not None:
            field = line.block.field(name)
            shown = format_field(field, line.record, units)
            if field.is_summable and not field.is_exact:
                is_lower = bool(getattr(line.record, field.lower_flag, False))
                shown = format_bounds(shown, is_lower=is_lower, is_upper=is_upper)
            parts.append(count_noun(shown, noun) if noun else shown)
    return escape("".join(parts))


def wrap(text: str, width: int | None, indent: str = "") -> str:
    """Break a line between words where it is wider than the terminal; the rest is indented."""
    if width is None or len(text) <= width or not text.strip():
        return text
    from textwrap import wrap as break_lines  # noqa: PLC0415  most lines fit

    margin = text[: len(text) - len(text.lstrip())]
    lines = break_lines(
        text.strip(),
        max(width, _LEAST_WIDTH),
        initial_indent=margin,
        subsequent_indent=margin + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def format_column(
    field: Field, values: Sequence[object], records: Sequence[object], units: str
) -> list[str]:
    """Return the texts of one field of many records.

    Of plain values each different one is written once: a table of thousands of rows has few. They
    are of one type then, as 1 is equal to 1.0 and to True, which are written otherwise.
    """
    kinds = set(map(type, values)) - {type(None)}
    is_plain = len(kinds) <= 1 and kinds <= _PLAIN and field.unit is not Unit.MEASURE
    if not is_plain or field.shown is not None or field.null_from:
        pairs = zip(values, records, strict=True)
        return [_format(field, value, record, units) for value, record in pairs]
    texts = {value: _format(field, value, None, units) for value in {*values, None}}
    return [texts[value] for value in values]


def format_field(field: Field, record: object, units: str = "auto") -> str:
    """Return the text of one field of a record."""
    return _format(field, field.getter()(record), record, units)


def _format(field: Field, value: object, record: object, units: str) -> str:
    if value is None and field.null_from:
        value = getattr(record, field.null_from)
    if value is None:
        return field.null_text
    if (unit := field.unit) is Unit.MEASURE:
        unit = getattr(record, "unit", Unit.RATIO)
    if field.shown is not None and not isinstance(value, Range | Various):
        value = field.shown(record)  # which a folded row, that has no value of its own, is not
    digits = field.extra_digits if units in _SCALED else 0
    return format_value(value, unit, units, is_signed=field.is_signed, digits=digits)


def format_value(
    value: object, unit: Unit, units: str = "auto", *, is_signed: bool = False, digits: int = 0
) -> str:
    """Return the text of a value in its unit, with `digits` more than usual; None is `?`."""
    if type(value) is str:  # most cells of a long table
        return escape(value)
    if value is None:
        return UNKNOWN
    if isinstance(value, Various):
        return str(value)
    if isinstance(value, Shown):
        unit = value.unit or unit
        digits = _count_digits(value, unit, units)
        text = format_value(value.value, unit, units, is_signed=is_signed, digits=digits)
        return value.prefix + text
    if isinstance(value, Range):
        return _format_range(value, unit, units, is_signed=is_signed)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return _format_list(value, units)
    if not isinstance(value, int | float):
        return escape(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return UNKNOWN
    sign = "−" if value < 0 else "+" if is_signed and value > 0 else ""
    write = _WRITERS.get(unit)
    return sign + (write(abs(value), units, digits) if write else str(abs(value)))


def format_sizes(sizes: Sequence[float], units: str = "auto") -> tuple[str, ...]:
    """Return the texts of sizes that are compared, in one unit: that of the smallest.

    Where the largest would have more than seven digits in it, each has its own.

    >>> format_sizes([1_073_636_966, 1_116_104_294]), format_sizes([0, 4, 1 << 32])
    (('1,023.9 MiB', '1,064.4 MiB'), ('0 B', '4 B', '4.0 GiB'))
    """
    texts = tuple(format_value(one, Unit.BYTES, units) for one in sizes)
    known = sorted(filter(None, map(abs, sizes)))
    name = format_value(known[0], Unit.BYTES).partition(" ")[2] if known else ""
    if units != "auto" or name not in SIZES or known[-1] >= SIZES[name] * 10_000:
        return texts
    return tuple(
        format_value(one, Unit.BYTES, name, digits=-1) if one else text
        for one, text in zip(sizes, texts, strict=True)
    )


def _count_digits(shown: Shown, unit: Unit, units: str) -> int:
    """Return how many more digits than usual tell a figure from the one that it is held against.

    A sign alone tells nothing: −0.0 % is none.
    """
    value, other = shown.value, shown.unlike
    if isinstance(value, int | float) and other is not None and abs(value) != abs(other):
        for digits in range(shown.digits, _MOST_DIGITS):
            texts = [format_value(abs(each), unit, units, digits=digits) for each in (value, other)]
            if texts[0] != texts[1]:
                return digits
    return shown.digits


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


def _format_list(value: Sequence[object], units: str) -> str:
    """Return the items with commas between; of lists, as XLA prints groups: {{0,1},{2,3}}."""
    if not (groups := [one for one in value if isinstance(one, tuple | list)]):
        return ", ".join(format_value(item, Unit.LIST, units) for item in value)
    inner = [",".join(format_value(item, Unit.LIST) for item in group) for group in groups]
    return "{" + ",".join(f"{{{group}}}" for group in inner) + "}"


def format_sum(total: Sum, unit: Unit, units: str = "auto", *, is_signed: bool = False) -> str:
    """Return a total with `≥` where a part is unknown and `≤` where one might not happen."""
    if total.value is None:
        return UNKNOWN
    text = format_value(total.value, unit, units, is_signed=is_signed)
    return format_bounds(text, is_lower=total.is_lower_bound, is_upper=total.is_upper_bound)


def format_bounds(text: str, *, is_lower: bool, is_upper: bool) -> str:
    """Put the bounds before a figure: `≥ 1.2 GiB`; both together say `about`."""
    if is_lower and is_upper:
        return f"about {text}"
    if is_upper and text in {"0", "0 B"}:
        return text
    return f"{'≥' if is_lower else '≤'} {text}" if is_lower or is_upper else text


def _format_bytes(value: float, units: str, digits: int) -> str:
    """Write a size, in binary units unless asked; `B` is exact, a named one has two decimals."""
    if units == "B":
        return f"{value:,}"
    is_binary = units != "decimal"
    step = 1 << 10 if is_binary else 1000
    if digits > _MOST_SIZE_DIGITS or (value < step and units not in SIZES):
        return f"{value:,} B"
    if units in SIZES:
        return f"{value / SIZES[units]:,.{2 + digits}f} {units}"
    import humanize  # noqa: PLC0415  only tables need it

    form = f"%.{1 + digits}f"
    text = humanize.naturalsize(value, binary=is_binary, format=form)
    # 1023.96 KiB rounds to 1024.0 KiB: say 1.0 MiB
    is_next = text.startswith(f"{step}.0")
    return humanize.naturalsize(value * 1.0001, binary=is_binary, format=form) if is_next else text


def _format_work(value: float, units: str, digits: int) -> str:
    is_exact = units == "B" or value < _EXACT_BELOW
    return f"{value:,}" if is_exact else _metric(value, "", digits)


def _format_ratio(value: float, _: str, digits: int) -> str:
    """Write a ratio with three digits that matter."""
    if isinstance(value, int) or value >= 100:  # noqa: PLR2004
        return f"{value:,.{0 if isinstance(value, int) else digits}f}"
    return f"{value:.{3 + digits}g}"


def _metric(value: float, unit: str, digits: int) -> str:
    """Write a number with an SI prefix and three digits."""
    import humanize  # noqa: PLC0415  only tables need it

    rounded = float(f"{value:.{2 + digits}e}")  # first, or 999.9 G becomes 1000 G and not 1.00 T
    return humanize.metric(rounded, unit, 3 + digits).strip()


# Of a number that is not negative, by its unit, `--units` and how many more digits than usual.
_WRITERS: Final[dict[Unit, Callable[[float, str, int], str]]] = {
    Unit.BYTES: _format_bytes,
    Unit.FLOPS: _format_work,
    Unit.SECONDS: lambda value, _, digits: _metric(value, "s", digits),
    Unit.PERCENT: lambda value, _, digits: f"{value * 100:,.{1 + digits}f} %",
    Unit.TIMES: lambda value, *_: "" if value == 1 else f"×{value:,}",  # one needs no word
    Unit.RATIO: _format_ratio,
    Unit.MEASURE: _format_ratio,
    Unit.COUNT: lambda value, *_: f"{value:,}",
}


SIZES: Final[dict[str, int]] = {
    "B": 1,
    "kB": 1000,
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTPE", 1)},
    **{f"{prefix}iB": 1 << 10 * power for power, prefix in enumerate("KMGTPE", 1)},
}
# In seconds; the letter mu is in Unicode twice, and keyboards have either.
_POWERS: Final = {"s": 0, "ms": 3, "us": 6, "µs": 6, "μs": 6, "ns": 9}
TIMES: Final = {unit: Fraction(1, 10**power) for unit, power in _POWERS.items()}
PERCENT: Final = "%"
_SCALES: Final[dict[str, Fraction | int]] = {PERCENT: Fraction(1, 100), **SIZES, **TIMES}
# In which unit a figure is that may be written with one of these behind it.
SUFFIXES: Final = {
    PERCENT: Unit.PERCENT,
    **dict.fromkeys(SIZES, Unit.BYTES),
    **dict.fromkeys(TIMES, Unit.SECONDS),
}
# What a bare number may have been meant to be.
_SIZE_UNITS: Final = ("GiB", "GB", "B")
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


def find_units(text: str) -> str:
    """Return the units in which an answer repeats what was typed: decimal where a size is.

    >>> find_units("2GB"), find_units("peak_bytes <= 2 MB"), find_units("2 GiB"), find_units("2G")
    ('decimal', 'decimal', 'auto', 'auto')
    """
    return "decimal" if re.search(r"\d\s*[kKMGTP]B\b", text) else "auto"


def parse_bandwidth(text: str, option: str) -> float:
    """Return bytes a second, more than 0: a size with `/s` or `ps` behind its unit.

    A lone G is none: it may be bits that are meant. Nor is a bare number, or a size. Raises
    UsageError for anything else.
    """
    number, unit = _split(text, option, ("GB/s", "B/s"))
    size = re.sub(r"(?<=B)(?:/s|ps)$", "", unit)
    value = float(number or 0) * SIZES.get(size.replace("k", "K"), 0)
    if value and size == unit:
        raise UsageError(f"{option} {text} is a size, not a speed; write {number}{unit}/s.")
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
