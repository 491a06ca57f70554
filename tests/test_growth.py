"""Twice the input takes about twice the time: what `test_proportion` builds, in two sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from linear import assert_linear
from test_proportion import (
    BUFFERS,
    FUSIONS,
    HEADER,
    SUMMARY,
    branches,
    doubling_calls,
    entry,
    nested_fusions,
    tuple_of,
    views,
)

from hlotool.cli import run
from hlotool.text import parse_pattern

pytestmark = pytest.mark.hard


def operands(count: int) -> str:
    """Write a tuple with so many operands."""
    return HEADER + entry("", f"ROOT t = {tuple_of(count)} tuple({', '.join(['x'] * count)})")


def dimensions(count: int) -> str:
    """Write an array with so many dimensions."""
    shape = f"f32[{','.join(['1'] * count)}]"
    return HEADER + entry(f" b = {shape} reshape(x)")


TEXTS: dict[str, tuple[Callable[[int], str], int, list[list[str]]]] = {
    "branches": (branches, 2_000, [SUMMARY, BUFFERS]),
    "nested fusions": (nested_fusions, 30, [FUSIONS]),
    "calls that double": (doubling_calls, 30, [SUMMARY, BUFFERS, FUSIONS]),
    "operands": (operands, 20_000, [SUMMARY, BUFFERS]),
    "dimensions": (dimensions, 100_000, [SUMMARY, FUSIONS]),
    "results behind bitcasts": (lambda count: views(1_000, count), 3_000, [BUFFERS]),
}
PATTERNS = {"nested": "(a+)+$", "either": "(a|aa)+$", "counted": "(.*,){20}x"}


@pytest.mark.parametrize(("make", "size", "commands"), TEXTS.values(), ids=TEXTS)
def test_a_text_twice_as_long(
    make: Callable[[int], str], size: int, commands: list[list[str]], tmp_path: Path
) -> None:
    for count in (size, 2 * size):
        (tmp_path / f"{count}.txt").write_text(make(count))
    for command in commands:

        def ask(count: int, command: list[str] = command) -> None:
            assert run([*command, str(tmp_path / f"{count}.txt")]) == 0

        assert_linear(ask, size)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_name_twice_as_long(pattern: str) -> None:
    found = parse_pattern(pattern)

    def look(count: int) -> None:
        assert not found.is_found("a" * count + "b")

    assert_linear(look, 200_000)
