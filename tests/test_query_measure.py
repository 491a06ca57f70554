"""Expressions over a program: metrics and figures made from rows, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from sample_rows import SAMPLES, Sample

from hlotool.errors import QueryError
from hlotool.table import Field, Unit
from hlotool.table.expression.check import Vocabulary, parse_condition, parse_number
from hlotool.table.expression.compile import Measured, measure
from hlotool.table.expression.nodes import Aggregate, find_reads

VOCABULARY = Vocabulary(
    {
        "buffers.temp_bytes": Field("buffers.temp_bytes", Unit.BYTES, "temp"),
        "buffers.peak_bytes": Field("buffers.peak_bytes", Unit.BYTES, "peak", is_nullable=True),
        "collectives.is_lower_bound": Field("is_lower_bound", Unit.FLAG, "whether unsure"),
    },
    {"collectives": SAMPLES, "summary.loops": SAMPLES},
)
ROWS = (
    Sample(name="a", kind="loop", size_bytes=10, sent_bytes=1, flops=5),
    Sample(name="b", kind="input", size_bytes=30, sent_bytes=2, flops=7),
    Sample(name="c", kind="loop", size_bytes=20, sent_bytes=None, known_sent_bytes=4, flops=None),
)


@dataclass
class Figures:
    """A scope over fixed figures that remembers what it was asked."""

    asked: list[str] = field(default_factory=list)
    rows_given: tuple[Sample, ...] = ROWS

    def metric(self, path: str) -> object:
        self.asked.append(path)
        return {"buffers.temp_bytes": 100, "collectives.is_lower_bound": True}.get(path)

    def rows(self, path: str) -> Sequence[object]:
        self.asked.append(path)
        return self.rows_given if path == "collectives" else ()


def measured(text: str, figures: Figures | None = None) -> Measured:
    return measure(parse_condition(text, VOCABULARY, "x"), figures or Figures())


@pytest.mark.parametrize(
    ("text", "actual", "limit"),
    [
        ("buffers.temp_bytes <= 100B", 100, 100),
        ("buffers.temp_bytes * 2 < 1KiB", 200, 1024),
        ("collectives.count() == 3", 3, 3),
        ('collectives.count(kind == "loop") < 3', 2, 3),
        ("collectives.count(sent_bytes == null) == 1", 1, 1),
        ("collectives.sum(size_bytes) == 60", 60, 60),
        ('collectives.sum(size_bytes, kind == "loop") == 30', 30, 30),
        ("collectives.sum(size_bytes * 2) == 120", 120, 120),
        ("collectives.max(size_bytes) == 30", 30, 30),
        ('collectives.max(size_bytes, kind == "loop") == 20', 20, 20),
        ("collectives.min(size_bytes) == 10", 10, 10),
        ("collectives.sum(size_bytes) / collectives.count() == 20", 20, 20),
        ("summary.loops.count() == 0", 0, 0),
        ("summary.loops.sum(size_bytes) == 0", 0, 0),
    ],
)
def test_holds(text: str, actual: float, limit: float) -> None:
    found = measured(text)
    assert (found.value, found.left, found.right) == (True, actual, limit)
    assert measured(f"not ({text})").value is False
    assert not found.is_lower_bound
    assert not found.is_upper_bound


@pytest.mark.parametrize(
    ("text", "actual"),
    [
        ("buffers.peak_bytes < 1GiB", None),
        ("summary.loops.max(size_bytes) < 1GiB", None),
        ("collectives.max(flops, sent_bytes == null) < 1", None),
    ],
)
def test_an_unknown_figure_holds_no_budget(text: str, actual: float | None) -> None:
    found = measured(text)
    assert found.value is False
    assert found.left is actual


@pytest.mark.parametrize(
    ("text", "actual", "is_lower", "is_upper"),
    [
        ("collectives.sum(sent_bytes) <= 9", 7, True, False),  # 4 once, in place of unknown
        ("collectives.sum(flops) <= 12", 12, True, False),
        ("collectives.sum(flops * 2) <= 24", 24, True, False),
        ("collectives.max(flops) <= 7", 7, True, False),
        ("collectives.min(flops) <= 5", 5, False, True),
    ],
)
def test_bounds(text: str, actual: float, is_lower: bool, is_upper: bool) -> None:
    found = measured(text)
    assert (found.left, found.is_lower_bound, found.is_upper_bound) == (
        actual,
        is_lower,
        is_upper,
    )


def test_what_may_not_happen_makes_an_upper_bound() -> None:
    rows = (*ROWS, Sample(size_bytes=1, is_conditional=True))
    assert measured("collectives.sum(size_bytes) < 99", Figures(rows_given=rows)).is_upper_bound


def test_rows_are_counted() -> None:
    found = measured('collectives.count(kind == "input") + collectives.count() > 0')
    assert found.matched_count == 4
    found = measured("buffers.temp_bytes > 0 and collectives.is_lower_bound")
    assert found.value is True
    assert (found.matched_count, found.left) == (None, None)


def test_reads_tell_what_must_be_computed() -> None:
    text = "not (buffers.temp_bytes > -1) or collectives.sum(size_bytes, position in [1]) < 3"
    reads = find_reads(parse_condition(text, VOCABULARY, "x"))
    paths = [one.rows if isinstance(one, Aggregate) else one.path for one in reads]
    assert paths == ["buffers.temp_bytes", "collectives"]


def test_nothing_is_asked_that_is_not_named() -> None:
    figures = Figures()
    measured("buffers.temp_bytes < 1", figures)
    assert set(figures.asked) == {"buffers.temp_bytes"}


def test_rows_are_asked_for_once() -> None:
    figures = Figures()
    measured("collectives.sum(size_bytes) <= 60", figures)
    assert figures.asked == ["collectives"]


@pytest.mark.parametrize(
    ("text", "value", "is_lower"),
    [
        ("buffers.temp_bytes * 110%", pytest.approx(110), False),
        ("buffers.peak_bytes", None, False),
        ("collectives.sum(sent_bytes)", 7, True),
        ("collectives.count() / 0", None, False),
    ],
)
def test_numbers(text: str, value: float | None, is_lower: bool) -> None:
    found = measure(parse_number(text, VOCABULARY, "x"), Figures())
    assert (found.value, found.is_lower_bound) == (value, is_lower)
    assert (found.left, found.right) == (None, None)


def test_only_what_decides_is_looked_at() -> None:
    found = measured("collectives.count() > 0 or collectives.sum(flops) > 0")
    assert (found.value, found.is_lower_bound, found.matched_count) == (True, False, 3)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        (
            "buffers.tmp_bytes < 1",
            1,
            "there is no metric 'buffers.tmp_bytes'",
            "mean buffers.temp_bytes",
        ),
        ("colectives.count() < 1", 1, "there is no row list 'colectives'", "mean collectives?"),
        ("count() < 1", 1, "count() needs a row list", "there are collectives, summary.loops"),
        ("collectives.sum(name) < 1", 17, "sum needs numbers, found text", ""),
        ("collectives.count(kind) < 1", 19, "expected a condition, found text", ""),
        ("collectives.count(knd == 'x') < 1", 19, "there is no field 'knd'", "kind"),
        ("collectives.count(count() > 1) < 1", 19, "count() does not work on rows", "budgets"),
        ("buffers.temp_bytes", 1, "expected a condition, found a number", "> 0"),
    ],
)
def test_refuses(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_condition(text, VOCABULARY, "hlotool.toml")
    error = caught.value
    assert (error.message, error.start + 1) == (message, column)
    assert hint in error.hint
    assert str(error).startswith("hlotool.toml: ")


def test_refuses_what_is_no_number() -> None:
    with pytest.raises(QueryError, match="expected a number"):
        parse_number("true", VOCABULARY, "x")
