"""`--threshold`: by how much a figure may grow, and what `--exit-code` makes of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hlotool.cli import run
from hlotool.compare.changes.figures import MetricRow, Threshold, find_worse, parse_threshold
from hlotool.errors import UsageError
from hlotool.table import Unit

STEP = Path(__file__).parents[1] / "testdata" / "dumps" / "gpu_h100" / "mlp_train"
MIB = 1 << 20


def row(
    old: float | None, new: float, unit: Unit = Unit.BYTES, metric: str = "buffers.peak_bytes"
) -> MetricRow:
    delta = None if old is None else new - old
    bounds = (False, False, False, False, False, False)
    return MetricRow(metric, old, new, delta, None, None, *bounds, unit)


def test_limits_are_read() -> None:
    assert parse_threshold("2%,64MiB") == Threshold(Fraction(2, 100), 64 * MIB)
    assert parse_threshold("5s , 0.5 %") == Threshold(Fraction(5, 1000), None, 5.0)


@pytest.mark.parametrize("text", ["2", "2%,3%", "1MiB,2MiB", "%", "much", "-1%", "2%,", "inf%"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--threshold"):
        parse_threshold(text)


@pytest.mark.parametrize(
    ("old", "new", "text", "is_worse"),
    [
        (1000 * MIB, 1020 * MIB, "2%", False),
        (1000 * MIB, 1020 * MIB + 1, "2%", True),
        (1000 * MIB, 1064 * MIB, "2%,64MiB", False),
        (1000 * MIB, 1064 * MIB + 1, "2%,64MiB", True),
        (10_000 * MIB, 10_200 * MIB, "2%,64MiB", False),
        (0, 1, "2%", True),
        (0, 1, "2%,1MiB", False),
        (1000, 0, "0%", False),
        (None, 9, "0%", False),
        (1, 100 * MIB, "1us", False),
    ],
)
def test_the_looser_limit_counts(old: int | None, new: int, text: str, *, is_worse: bool) -> None:
    assert bool(find_worse([row(old, new)], parse_threshold(text))) == is_worse


def test_figures_without_an_amount_have_the_part_alone() -> None:
    flops = row(100, 103, Unit.FLOPS, "cost.total_flops_per_step")
    assert find_worse([flops], parse_threshold("2%,64MiB")) == (flops,)
    assert find_worse([flops], parse_threshold("64MiB")) == ()
    fusions = row(1, 100, Unit.COUNT, "fusions.fusion_count")
    assert find_worse([fusions], parse_threshold("2%")) == ()
    assert find_worse([flops], None) == ()


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    remat = f"{STEP}.remat"
    for arguments, code in (
        ((STEP, remat, "--threshold", "1%"), 0),
        ((STEP, remat, "--threshold", "1%", "--exit-code"), 1),
        ((STEP, remat, "--threshold", "60%", "--exit-code"), 0),
        ((remat, STEP, "--threshold", "0%", "--exit-code"), 0),
        ((STEP, STEP, remat, "--threshold", "60%", "--exit-code"), 2),
        ((f"a={STEP}", f"b={STEP}", f"c={remat}", "--threshold", "60%", "--exit-code"), 0),
        ((f"a={STEP}", f"b={STEP}", f"c={remat}", "--threshold", "1%", "--exit-code"), 1),
        ((f"a={STEP}", f"b={STEP}", f"c={remat}", "--exit-code"), 1),
    ):
        assert run(["diff", *map(str, arguments)]) == code, arguments
    assert "c is worse than --threshold allows: buffers.peak_bytes" in capsys.readouterr().out
