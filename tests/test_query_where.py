"""`--where`: which rows it keeps, what unknown values do, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from sample_rows import FIELDS, Sample

from hlotool.errors import QueryError
from hlotool.table import Field, Unit
from hlotool.table.expression.compile import compile_where

FULL = Sample(
    name="all-gather.12",
    kind="loop",
    class_="temp",
    count=48,
    position=7,
    size_bytes=64 << 20,
    sent_bytes=100,
    known_sent_bytes=200,
    flops=10**12,
    ratio=0.5,
    share_of_peak=0.25,
    estimated_seconds=0.001,
    is_async=True,
    flags=("trivial", "multi-out"),
    members=(3, 5),
    note="it's",
)
UNKNOWN = replace(FULL, sent_bytes=None, flops=None, ratio=None, is_async=None, note=None)


def holds(text: str, row: Sample = FULL) -> bool:
    result = compile_where(text, FIELDS)(row)
    assert isinstance(result, bool)
    return result


@pytest.mark.parametrize(
    "text",
    [
        "size_bytes == 64MiB",
        "size_bytes >= 67.1 MB",
        "size_bytes < 0.1GiB",
        "share_of_peak == 25%",
        "share_of_peak > 0.2",
        "flops > 9.9e11",
        'name ~ "gather"',
        r'name ~ "^all-gather\.\d+$"',
        'name !~ "reduce"',
        'kind == "loop"',
        'kind != "input"',
        'kind in ["input", "loop"]',
        "kind not in ['input']",
        'class == "temp"',
        "position in [1, 7]",
        "count * 2 == 96",
        "size_bytes / 1MiB == 64",
        "known_sent_bytes - sent_bytes == sent_bytes",
        "-position == -7",
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "10 - 2 - 3 == 5",
        "100 / 10 / 2 == 5",
        "is_async",
        "is_async == true",
        "not is_conditional",
        "is_async and not is_conditional",
        "is_conditional or is_async",
        "is_async == (count > 1)",
        '"trivial" in flags',
        '"slow" not in flags',
        'flags ~ "^multi"',
        'flags !~ "slow"',
        "3 in members",
        "4 not in members",
        "note == 'it\\'s'",
        "note != null",
        "flags != null",
        "null == null",
        "true",
    ],
)
def test_holds(text: str) -> None:
    assert holds(text)
    assert not holds(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    [
        "sent_bytes == 100",
        "sent_bytes != 100",
        "sent_bytes < 100",
        "sent_bytes >= 0",
        "0 <= sent_bytes",
        "sent_bytes == sent_bytes",
        "sent_bytes + 1 > 0",
        "-sent_bytes < 0",
        "position / 0 > 1",
        "position / (position - 7) == 1",
        "sent_bytes in [100]",
        "sent_bytes not in [100]",
        'note ~ "."',
        'note !~ "."',
        'note == "x"',
        'note != "x"',
        "is_async",
        "is_async == false",
        "is_async != false",
        "sent_bytes != null",
        "1e200 * 1e200 * 0 == 0",
    ],
)
def test_a_comparison_with_the_unknown_is_false(text: str) -> None:
    assert not holds(text, UNKNOWN)
    assert holds(f"not ({text})", UNKNOWN)


@pytest.mark.parametrize(
    "text", ["sent_bytes == null", "null == note", "sent_bytes in [null, 1]", "1 / 0 == null"]
)
def test_null_is_asked_for(text: str) -> None:
    assert holds(text, UNKNOWN)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("name > 3", 1, "'>' compares numbers, found text", ""),
        ("3 < name", 5, "'<' compares numbers, found text", ""),
        ("is_async > 1", 1, "'>' compares numbers, found true or false", ""),
        ("flags >= 1", 1, "'>=' compares numbers, found a list", ""),
        ("position > null", 12, "'>' compares numbers, found null", ""),
        ("position == 'x'", 13, "this is text, but position is a number", ""),
        ("is_async == 1", 13, "this is a number, but is_async is true or false", ""),
        ("name == 3", 9, "this is a number, but name is text", ""),
        ("kind == all-gather", 9, "there is no field 'all-gather'", 'quotes: "all-gather"'),
        ("name ~ dot", 8, "there is no field 'dot'", 'text needs quotes: "dot"'),
        ("name ~ kind", 8, "'~' needs a regular expression in quotes", ""),
        ("position ~ '1'", 1, "'~' searches in text, found a number", ""),
        ("kind == 'lop'", 9, "kind is never 'lop'", "did you mean loop?"),
        ("kind in ['input', 'lop']", 19, "kind is never 'lop'", "did you mean loop?"),
        ("size_byte > 1", 1, "there is no field 'size_byte'", "did you mean size_bytes"),
        ("bytes > 1", 1, "there is no field 'bytes'", "size_bytes"),
        ("zzz > 1", 1, "there is no field 'zzz'", "there are name, kind, class"),
        ("count > 64MiB", 9, "this is a size, but count is not", ""),
        ("1KiB == position", 1, "this is a size, but position is not", ""),
        ("estimated_seconds > 1KiB", 21, "this is a size, but estimated_seconds is a time", ""),
        ("2ms < size_bytes", 1, "this is a time, but size_bytes is a size", ""),
        ("count in [1, 2s]", 14, "this is a time, but count is not", ""),
        (
            "estimated_seconds < 1ms + 2MB",
            27,
            "this is a size, but estimated_seconds is a time",
            "",
        ),
        ("size_bytes - 2ms > 0", 14, "this is a time, but what it is added to is a size", ""),
        ("size_bytes > 5%", 14, "this is a percentage, but size_bytes is not a ratio", ""),
        (
            "(size_bytes + 1KiB) / size_bytes > 2KiB",
            36,
            "this is a size, but (size_bytes + 1KiB) / size_bytes is not",
            "",
        ),
        ("size_bytes", 1, "expected a condition, found a number", "size_bytes > 0"),
        ("name", 1, "expected a condition, found text", ""),
        ("null", 1, "expected a condition, found null", ""),
        ("is_async and name", 14, "expected a condition, found text", ""),
        ("not position", 5, "expected a condition, found a number", "position > 0"),
        ("name + 1 > 2", 1, "'+' needs numbers, found text", ""),
        ("1 * name > 2", 5, "'*' needs numbers, found text", ""),
        ("-is_async", 2, "'-' needs numbers, found true or false", ""),
        ("flags == 'x'", 1, "'==' cannot compare lists", '"…" in flags'),
        ("flags in ['x']", 1, "a list cannot be in a list", '"…" in flags'),
        ("3 in flags", 1, "flags lists text, but this is a number", ""),
        ("'x' in members", 1, "members lists numbers, but this is text", ""),
        ("3 in position", 6, "'in' needs a list, as in [a, b], or a field that is one", ""),
        ("position in ['x']", 14, "this is text, but position is a number", ""),
        ("count() > 1", 1, "count() does not work on rows", "budgets"),
        ("name ~ '('", 9, "this is not a regular expression: missing )", ""),
        ("name ~ 'a[b'", 9, "this is not a regular expression: missing ]", ""),
        ("name ~ '*'", 9, "this is not a regular expression: no argument for repetition", ""),
    ],
)
def test_refuses(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        compile_where(text, FIELDS)
    error = caught.value
    assert error.message.startswith(message)
    assert error.start + 1 == column
    assert hint in error.hint
    assert bool(hint) == bool(error.hint)


def test_a_deeply_nested_regular_expression_is_refused() -> None:
    with pytest.raises(QueryError, match="this is not a regular expression"):
        compile_where(f"name ~ '{'(' * 10_000}'", FIELDS)


def test_measures_that_are_no_numbers_are_unknown() -> None:
    row = replace(FULL, note="text")
    measured = (Field("note", Unit.MEASURE, "a figure of the row's own unit"),)
    assert not compile_where("note > 1", measured)(row)
    assert compile_where("note == null", measured)(row)


CONDITIONS = st.sampled_from(
    [
        "size_bytes > 10",
        "size_bytes != 3",
        "sent_bytes >= 5",
        "sent_bytes == known_sent_bytes",
        "flops / sent_bytes > 1",
        'name ~ "a"',
        'note !~ "a"',
        'kind == "loop"',
        'note in ["a", "b"]',
        "note == null",
        "is_async",
        "is_async != true",
        '"x" in flags',
    ]
)
SMALL = st.integers(0, 20)
ROWS = st.builds(
    Sample,
    name=st.sampled_from(["a", "b"]),
    kind=st.sampled_from(["loop", "input"]),
    size_bytes=SMALL,
    sent_bytes=st.none() | SMALL,
    known_sent_bytes=SMALL,
    flops=st.none() | SMALL,
    is_async=st.none() | st.booleans(),
    flags=st.sampled_from([(), ("x",), ("x", "y")]),
    note=st.none() | st.sampled_from(["a", "c"]),
)


@given(CONDITIONS, CONDITIONS, ROWS)
def test_de_morgan(a: str, b: str, row: Sample) -> None:
    assert holds(f"not ({a} and {b})", row) == holds(f"not {a} or not {b}", row)
    assert holds(f"not ({a} or {b})", row) == holds(f"not {a} and not {b}", row)


@given(CONDITIONS, CONDITIONS, ROWS)
def test_a_filter_and_its_negation_divide_the_rows(a: str, b: str, row: Sample) -> None:
    condition = f"{a} and {b}"
    assert holds(condition, row) != holds(f"not ({condition})", row)


OPPOSITES = [("==", "!="), ("<", ">="), (">", "<=")]


@given(st.sampled_from(OPPOSITES), ROWS, SMALL)
def test_operators_are_opposites_where_all_is_known(
    pair: tuple[str, str], row: Sample, limit: int
) -> None:
    one, other = (holds(f"sent_bytes {operator} {limit}", row) for operator in pair)
    if row.sent_bytes is None:
        assert not one
        assert not other
    else:
        assert one != other


@given(ROWS, SMALL, SMALL, SMALL)
def test_arithmetic_is_exact(row: Sample, a: int, b: int, c: int) -> None:
    assume(row.sent_bytes is not None)
    value = row.size_bytes * a - b + c * 10**20
    assert holds(f"size_bytes * {a} - {b} + {c} * 1{'0' * 20} == {max(value, 0)}", row) or value < 0
