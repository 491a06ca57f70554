"""The helpers for tests: what they take, and what they say when they fail."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from hlotool.testing import assert_budget, assert_collectives

ROOT = Path(__file__).parents[1]
DUMP = ROOT / "testdata" / "dumps" / "gpu_h100" / "transformer_train"
TEXT = (ROOT / "testdata" / "diff" / "base.txt").read_text(encoding="utf-8")


class Compiled:
    """What JAX's `Lowered.compile()` returns, as far as it is used."""

    def __init__(self, stats: object) -> None:
        self.stats = stats

    def as_text(self) -> str:
        return TEXT

    def memory_analysis(self) -> object:
        if isinstance(self.stats, Exception):
            raise self.stats
        return self.stats


def test_a_path() -> None:
    assert_budget(DUMP, "buffers.temp_bytes <= 8GiB", "collectives.count() > 0")


def test_a_text() -> None:
    assert_budget(TEXT, "cost.matrix_flops < 1e9")
    assert_collectives(TEXT, {"all-gather": 1, "all-reduce": 1})


def test_a_compiled_function() -> None:
    stats = SimpleNamespace(temp_size_in_bytes=5000, argument_size_in_bytes=7)
    assert_budget(Compiled(stats), "buffers.temp_bytes == 5000", "buffers.argument_bytes == 7")


@pytest.mark.parametrize("stats", [None, NotImplementedError(), RuntimeError("no")])
def test_a_compiled_function_that_does_not_tell(stats: object) -> None:
    with pytest.raises(AssertionError, match=r"buffers\.temp_bytes is not known"):
        assert_budget(Compiled(stats), "buffers.temp_bytes <= 8GiB")


def test_failures_are_sentences() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_budget(TEXT, "cost.matrix_flops < 10", "collectives.count() <= 1", "1 < 2")
    assert str(caught.value).splitlines() == [
        "cost.matrix_flops < 10: is 4.19 M, 4.19 M beyond the limit of 10.",
        "collectives.count() <= 1: found 2, 1 beyond the limit of 1.",
    ]


def test_other_collectives_fail_unless_allowed() -> None:
    with pytest.raises(AssertionError, match="all-reduce: expected 0, found 1"):
        assert_collectives(TEXT, {"all-gather": 1})
    assert_collectives(TEXT, {"all-gather": 1}, allow_others=True)
    assert_collectives(TEXT, {"all-gather": 1}, where="message_bytes > 500KiB")


def test_a_wrong_count_names_the_collectives() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_collectives(TEXT, {"all-gather": 2, "all-reduce": 1})
    assert str(caught.value).splitlines() == [
        "all-gather: expected 2, found 1",
        "  gathered f32 head",
    ]
