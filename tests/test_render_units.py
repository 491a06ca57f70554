"""How values are written for eyes."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from hlotool.table import (
    BYTES,
    COUNT,
    MEASURE,
    Block,
    Field,
    Line,
    Range,
    Shown,
    Sum,
    Unit,
    figure,
)
from hlotool.table.document import Various
from hlotool.table.units import SIZES, UNITS, format_field, format_sum, format_value, render_line

K, M, G = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("value", "unit", "units", "text"),
    [
        (None, Unit.BYTES, "auto", "?"),
        (None, Unit.TEXT, "auto", "?"),
        (Various(3), Unit.NUMBER, "auto", "3 different"),
        (((0, 2), (1, 3)), Unit.LIST, "auto", "{{0,2},{1,3}}"),
        (0, Unit.BYTES, "auto", "0 B"),
        (1, Unit.BYTES, "auto", "1 B"),
        (1023, Unit.BYTES, "auto", "1,023 B"),
        (K, Unit.BYTES, "auto", "1.0 KiB"),
        (1536, Unit.BYTES, "auto", "1.5 KiB"),
        (M - 1, Unit.BYTES, "auto", "1.0 MiB"),
        (M, Unit.BYTES, "auto", "1.0 MiB"),
        (G - 1, Unit.BYTES, "auto", "1.0 GiB"),
        (80 * G, Unit.BYTES, "auto", "80.0 GiB"),
        (1000 * G, Unit.BYTES, "auto", "1000.0 GiB"),
        (3 << 40, Unit.BYTES, "auto", "3.0 TiB"),
        (1234567, Unit.BYTES, "B", "1,234,567"),
        (M, Unit.BYTES, "KiB", "1,024.00 KiB"),
        (M, Unit.BYTES, "MiB", "1.00 MiB"),
        (M, Unit.BYTES, "GiB", "0.00 GiB"),
        (0, Unit.COUNT, "auto", "0"),
        (12345, Unit.COUNT, "auto", "12,345"),
        (12345, Unit.NUMBER, "auto", "12345"),
        (48, Unit.TIMES, "auto", "×48"),
        (1, Unit.TIMES, "auto", ""),
        (0, Unit.FLOPS, "auto", "0"),
        (9999, Unit.FLOPS, "auto", "9,999"),
        (10_000, Unit.FLOPS, "auto", "10.0 k"),
        (2_612_345_678_901, Unit.FLOPS, "auto", "2.61 T"),
        (999_999_999_999, Unit.FLOPS, "auto", "1.00 T"),
        (2_612_345_678_901, Unit.FLOPS, "B", "2,612,345,678,901"),
        (0.0123, Unit.SECONDS, "auto", "12.3 ms"),
        (0.0, Unit.SECONDS, "auto", "0.00 s"),
        (0.41, Unit.PERCENT, "auto", "41.0 %"),
        (12.5, Unit.PERCENT, "auto", "1,250.0 %"),
        (0.1234, Unit.RATIO, "auto", "0.123"),
        (98.76, Unit.RATIO, "auto", "98.8"),
        (1234.5, Unit.RATIO, "auto", "1,234"),
        (3, Unit.RATIO, "auto", "3"),
        (math.nan, Unit.RATIO, "auto", "?"),
        (math.inf, Unit.RATIO, "auto", "?"),
        (True, Unit.FLAG, "auto", "yes"),
        (False, Unit.FLAG, "auto", "no"),
        (True, Unit.MEASURE, "auto", "yes"),
        ((), Unit.LIST, "auto", ""),
        (("a", "b"), Unit.LIST, "auto", "a, b"),
        ((0, 12345), Unit.LIST, "auto", "0, 12345"),
        ("text", Unit.TEXT, "auto", "text"),
        ("a\x1b[31mb\nc\td", Unit.TEXT, "auto", r"a\x1b[31mb\nc\td"),
    ],
)
def test_values(value: object, unit: Unit, units: str, text: str) -> None:
    assert format_value(value, unit, units) == text


@pytest.mark.parametrize(
    ("value", "text"), [(M, "+1.0 MiB"), (-M, "−1.0 MiB"), (0, "0 B"), (None, "?")]
)
def test_differences_have_a_sign(value: int | None, text: str) -> None:
    assert format_value(value, Unit.BYTES, is_signed=True) == text


@pytest.mark.parametrize(
    ("total", "text"),
    [
        (Sum(M), "1.0 MiB"),
        (Sum(M, is_lower_bound=True), "≥ 1.0 MiB"),
        (Sum(M, is_upper_bound=True), "≤ 1.0 MiB"),
        (Sum(M, is_lower_bound=True, is_upper_bound=True), "about 1.0 MiB"),
        (Sum(None, is_lower_bound=True), "?"),
    ],
)
def test_sums_carry_their_bounds(total: Sum, text: str) -> None:
    assert format_sum(total, Unit.BYTES) == text


def _show_sizes(row: Figure) -> object:
    pairs = zip(row.names, row.sizes, strict=True)
    return tuple(Shown(size, f"{name} ", BYTES) for name, (_, size) in pairs)


class Figure(Struct, frozen=True):
    """A record with a figure in a unit of its own, and totals with bounds."""

    value: Annotated[float | None, figure("a figure", MEASURE)] = 3.0
    unit: Unit = Unit.BYTES
    size_bytes: Annotated[int | None, figure("size", BYTES, null_text="–")] = 3 * M
    name: Annotated[str, figure("name")] = "n"
    sizes: Annotated[tuple[tuple[int, ...], ...], figure("sizes", shown=_show_sizes)] = ()
    names: tuple[str, ...] = ()
    is_lower_bound: bool = True


FIGURE = Block("figure", Figure, "a figure")


def test_null_may_say_that_there_is_none() -> None:
    field = FIGURE.field("size_bytes")
    assert format_field(field, Figure(size_bytes=None)) == "–"
    assert format_field(field, Figure(size_bytes=0)) == "0 B"


class Bare(Struct, frozen=True):
    """A record that does not tell a unit."""

    value: float


def test_a_measure_has_the_unit_of_its_row() -> None:
    field = FIGURE.field("value")
    assert format_field(field, Figure(2048)) == "2.0 KiB"
    assert format_field(field, Figure(0.5, Unit.PERCENT)) == "50.0 %"
    assert format_field(Field("value", Unit.MEASURE, "a figure"), Bare(0.5)) == "0.5"


def test_sizes_stand_behind_their_names() -> None:
    field, record = FIGURE.field("sizes"), Figure(sizes=((0, 3 * M), (6, 4)), names=("hbm", "six"))
    assert format_field(field, record) == "hbm 3.0 MiB, six 4 B"
    assert format_field(field, record, "B") == "hbm 3,145,728, six 4"
    assert format_field(field, Figure()) == ""


def test_prose_is_filled_from_a_record() -> None:
    line = Line("{name} {{is}} {size_bytes}!", FIGURE, Figure())
    assert render_line(line) == "n {is} ≥ 3.0 MiB!"
    assert render_line(line, "B") == "n {is} ≥ 3,145,728!"
    exact = Figure(size_bytes=None, is_lower_bound=False)
    assert render_line(Line("{size_bytes}", FIGURE, exact)) == "–"
    assert render_line(Line("{not filled}")) == "{not filled}"


@given(st.integers(0, 10**18), st.sampled_from(UNITS))
def test_sizes_are_true(size: int, units: str) -> None:
    text = format_value(size, Unit.BYTES, units)
    number, _, unit = text.partition(" ")
    scale = SIZES[unit or "B"]
    shown = float(number.replace(",", "")) * scale
    assert abs(shown - size) <= max(0.055 * scale, 1e-9 * size)
    assert units != "auto" or not re.match(r"1024\.0", text)


@given(st.integers(10_000, 10**17))
def test_operations_are_true(flops: int) -> None:
    number, unit = format_value(flops, Unit.FLOPS).split(" ")
    shown = float(number) * {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}[unit]
    assert abs(shown - flops) <= 0.006 * flops


@pytest.mark.parametrize(
    ("value", "shown", "text"),
    [
        (5, Range(3, 5), "3–5"),
        (5, 5, "5"),
        (None, Range(3, 5), "?"),
        (Range(3, 5), 4, "3–5"),
        (5, Shown(5, "~ "), "~ 5"),
        (0.1234, Shown(0.1234, unit=Unit.PERCENT, unlike=0.1233), "12.34 %"),
        (0.1234, Shown(0.1234, unit=Unit.PERCENT, unlike=-0.1234, digits=1), "12.34 %"),
    ],
)
def test_a_figure_may_be_shown_as_its_column_says(value: object, shown: object, text: str) -> None:
    field = Field("value", Unit.NUMBER, "a figure", shown=lambda _: shown)
    assert format_field(field, SimpleNamespace(value=value)) == text


def test_a_noun_follows_its_number() -> None:
    class Counted(Struct, frozen=True):
        count: Annotated[int, figure("how many", COUNT)]

    block = Block("counted", Counted, "a count")
    written = [
        render_line(Line("{count:loop}, {count}", block, Counted(each))) for each in (0, 1, 2000)
    ]
    assert written == ["0 loops, 0", "1 loop, 1", "2,000 loops, 2,000"]


def test_a_range_has_its_unit_once() -> None:
    assert format_value(Range(0.25, 0.5), Unit.PERCENT) == "25–50 %"
    assert format_value(Range(M, 3 * M), Unit.BYTES) == "1.0–3.0 MiB"
    assert format_value(Range(K, M), Unit.BYTES) == "1.0 KiB–1.0 MiB"
    assert format_value(Range(3, 20), Unit.NUMBER) == "3–20"
