"""Histories: what a line holds, which are refused, and since when a figure is what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from hlotool.api import load
from hlotool.check.config import Budget
from hlotool.check.history import (
    HISTORY_SCHEMA,
    HistoryLine,
    TrendRow,
    list_exceeded,
    list_trends,
    list_verdicts,
    measure_line,
    parse_time,
    read_lines,
    write_lines,
)
from hlotool.check.judge import judge_rule
from hlotool.check.rule import compile_rule
from hlotool.errors import InputError, UsageError
from hlotool.program.program import Program
from hlotool.table.curve import draw_sparkline, fit_encoding

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "testdata" / "check" / "history.jsonl"
TEMP = "buffers.temp_bytes"


def line(value: object, path: str = TEMP, **more: Any) -> HistoryLine:
    metrics: dict[str, Any] = {} if value is None else {path: value}
    return HistoryLine(module=more.pop("module", "f"), metrics=metrics, **more)


def trend(*values: object) -> TrendRow:
    """Follow one figure; None is a line without it."""
    lines = {
        number: line(value, commit=f"c{number}", time=None)
        for number, value in enumerate(values, 1)
    }
    (row,) = list_trends(lines)
    return row


def test_lines_are_read_again_and_fit_their_schema() -> None:
    dump = load(ROOT / "testdata" / "dumps" / "gpu_h100" / "pallas_kernel")
    program = Program("f", dump.module, dump.assignment)
    made = measure_line(program, "f @ #3")
    assert made.metrics[TEMP] == program.metric(TEMP) != 0
    assert "cost.traffic_bytes_per_step" in made.lower_bounds
    text = write_lines([made, made])
    assert text.count("\n") == 2
    assert read_lines(text.encode(), "h") == {1: made, 2: made}
    schema = json.loads((ROOT / "docs" / "schema" / "check-history.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(text.splitlines()[0]))


def test_a_line_says_what_the_budgets_came_to() -> None:
    dump = load(ROOT / "testdata" / "dumps" / "gpu_h100" / "pallas_kernel")
    program = Program("f", dump.module, dump.assignment)
    budgets = (
        Budget(name="a", metric=TEMP, max="0"),
        Budget(name="b", metric=TEMP, max="0", severity="warning"),
        Budget(metric=TEMP, min="0"),
    )
    results = [judge_rule(compile_rule(one), program) for one in budgets]
    made = measure_line(program, "f", results)
    assert (made.verdict, made.exceeded) == ("fail", ("a", "b"))
    assert measure_line(program, "f", results[1:]).verdict == "warning"
    assert measure_line(program, "f", results[2:]).verdict == "pass"
    assert measure_line(program, "f").verdict is None
    schema = json.loads((ROOT / "docs" / "schema" / "check-history.json").read_text("utf-8"))
    told = json.loads(write_lines([made]))
    jsonschema.Draft202012Validator(schema).validate(told)
    assert schema["properties"]["verdict"]["description"]


def test_since_when_a_module_passes() -> None:
    told = (None, "pass", "fail", "pass", None, "pass")
    lines = {
        number: line(1, verdict=verdict, commit=f"c{number}")
        for number, verdict in enumerate(told, 1)
    }
    lines[9] = line(1, module="g", verdict="fail", exceeded=("a",))
    lines[10] = line(1, module="h")
    first, second = list_verdicts(lines)
    assert (first.module, first.verdict, first.exceeded) == ("g", "fail", ("a",))
    assert (second.verdict, second.since_line, second.since_commit) == ("pass", 4, "c4")
    assert (second.fail_count, second.line_count) == (1, 4)


def test_since_when_each_budget_is_exceeded() -> None:
    told = (("a", "b"), ("b",), None, ("a", "b"), ("a", "b", "b"))
    lines = {
        number: line(1, verdict=None if names is None else "fail", exceeded=names or ())
        for number, names in enumerate(told, 1)
    }
    lines[6] = line(1, module="g", verdict="warning", exceeded=("a",), commit="c", time="t")
    lines[7] = line(1)
    other, later, earlier = list_exceeded(lines)
    assert (other.module, other.since_line, other.since_commit, other.since_time) == (
        ("g", 6, "c", "t")
    )
    assert (later.name, later.module, later.since_line, later.exceeded_count) == ("a", "f", 4, 3)
    assert (earlier.name, earlier.since_line, earlier.exceeded_count) == ("b", 1, 4)
    assert list_exceeded({1: lines[1], 2: line(1, verdict="pass")}) == ()


def test_lines_of_other_versions_are_read() -> None:
    text = write_lines([line(1)]).replace('"module"', '"more": [1], "module"')
    assert read_lines(f"\n{text}\n".encode(), "h") == {2: line(1)}


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b"3",
        b"\xff",
        b"[" * 100_000,
        b"1" * 10_000,
        b'{"schema": "hlotool/baseline/v1", "modules": {}}',
        json.dumps(to_builtins(line(1)) | {"schema": "hlotool/check-history/v3"}).encode(),
        json.dumps(to_builtins(line(1)) | {"metrics": {TEMP: "1"}}).encode(),
        json.dumps({"schema": HISTORY_SCHEMA, "module": "f"}).encode(),
    ],
)
def test_another_line_is_refused_with_its_number(broken: bytes) -> None:
    with pytest.raises(InputError, match=r"^h:3: hlotool check --history did not write this line"):
        read_lines(write_lines([line(1), line(2)]).encode() + broken, "h")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "1970-01-01T00:00:00Z"),
        ("1767603600", "2026-01-05T09:00:00Z"),
        ("99999999999", "5138-11-16T09:46:39Z"),
        ("2026-01-05", "2026-01-05"),
        ("2026-01-05T09:00:00+01:00", "2026-01-05T09:00:00+01:00"),
        ("2026-01-05T09:00:00Z", "2026-01-05T09:00:00Z"),
    ],
)
def test_times(text: str, expected: str) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01", "1e9", "-1", "999999999999", "٣"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--time "):
        parse_time(text)


@pytest.mark.parametrize(
    ("values", "since", "change", "delta"),
    [
        ((1,), None, None, 0),
        ((1, 1, 1), None, None, 0),
        ((1, 3, 3), 2, 2, 2),
        ((1, 3, 1), 3, -2, 0),
        ((1, None, 3), 3, 2, 2),  # since it is known again
        ((1, None, 1), None, None, 0),
        ((None, 2, 2), None, None, None),
        ((1, 2, None), 2, 1, None),
        ((1, float("nan"), float("inf"), 10**400, 2), 5, 1, 1),
        ((1, 1.5), 2, 0.5, 0.5),
    ],
)
def test_since_when(
    values: tuple[object, ...], since: int | None, change: float | None, delta: float | None
) -> None:
    row = trend(*values)
    assert (row.since_line, row.last_change, row.delta) == (since, change, delta)
    assert row.since_commit == (f"c{since}" if since else None)
    assert len(row.values) == len(values)
    assert row.unknown_count == row.values.count(None)


def test_modules_are_followed_each_for_itself() -> None:
    lines = {1: line(1), 2: line(9, module="g"), 4: line(2), 5: line(8, module="g"), 6: line(2)}
    rows = list_trends(lines)
    assert [(row.module, row.since_line) for row in rows] == [("g", 5), ("f", 4)]
    assert [row.values for row in rows] == [(9, 8), (1, 2, 2)]


def test_a_metric_of_another_name_is_another() -> None:
    lines = {1: line(1), 2: line(1, "buffers.later_bytes"), 3: line(2, "buffers.later_bytes")}
    later, temp = list_trends(lines)
    assert (temp.metric, temp.values, temp.last) == (TEMP, (1, None, None), None)
    assert (later.metric, later.values, later.first) == ("buffers.later_bytes", (None, 1, 2), None)


def test_times_of_another_machine_are_unknown() -> None:
    path = "collectives.exposed_seconds"
    lines = {
        number: line(value, path, machine=machine)
        for number, (value, machine) in enumerate([(1.0, "a"), (5.0, "b"), (2.0, "a")], 1)
    }
    (row,) = list_trends(lines)
    assert (row.values, row.since_line) == ((1.0, None, 2.0), 3)


def test_bounds_stay_bounds() -> None:
    lines = {1: line(1), 2: line(3, lower_bounds=(TEMP,)), 3: line(4)}
    (row,) = list_trends(lines)
    assert not row.is_last_lower_bound
    assert not row.is_delta_lower_bound
    assert (row.is_change_lower_bound, row.is_change_upper_bound) == (False, True)
    (row,) = list_trends({1: lines[1], 2: lines[2]})
    assert (row.is_last_lower_bound, row.is_delta_lower_bound) == (True, True)
    assert (row.is_change_lower_bound, row.is_change_upper_bound) == (True, False)


def test_sparklines() -> None:
    assert draw_sparkline([0, 1, 50, 99, 100, None, 100]) == "▁▂▅▇█?█"
    assert draw_sparkline([7, 7]) == "▁▁"
    assert draw_sparkline([]) == ""
    assert draw_sparkline([None]) == "?"
    assert draw_sparkline(range(100)) == draw_sparkline(range(60, 100))


@given(st.lists(st.integers(-(10**300), 10**300) | st.floats(-1e299, 1e299) | st.none()))
def test_any_figures_are_drawn(values: list[float | None]) -> None:
    drawn = draw_sparkline(values)
    assert len(drawn) == min(len(values), 40)
    assert [each == "?" for each in drawn] == [each is None for each in values[-40:]]


def test_a_terminal_without_blocks_gets_ascii() -> None:
    text = draw_sparkline(range(8))
    assert text == "▁▂▃▄▅▆▇█"
    assert fit_encoding(text, "utf-8") == text
    assert fit_encoding(text, "cp437") != text
    for encoding in ("ascii", "latin-1", None, "unheard-of"):
        drawn = fit_encoding(text, encoding)
        assert drawn.isascii()
        assert len(set(drawn)) == len(drawn) == 8


def test_the_history_of_the_documentation_is_one() -> None:
    assert len(read_lines(HISTORY.read_bytes(), "h")) == 8
