"""Limits and margins: pure arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.check.judge import compare_margin, measure_margin
from hlotool.check.results import RuleResult, count_results
from hlotool.check.rule import Limits

SIZES = st.integers(0, 2**60)
SHARES = st.fractions(0, 2)


@pytest.mark.parametrize(
    ("limits", "actual", "baseline", "holds", "limit", "margin"),
    [
        (Limits(max=10), 10, None, True, 10, 0),
        (Limits(max=10), 11, None, False, 10, -1),
        (Limits(min=3), 2, None, False, 3, -1),
        (Limits(min=3, max=10), 9, None, True, 10, 1),
        (Limits(min=3, max=10), 4, None, True, 3, 1),
        (Limits(max_increase=Fraction(2, 100)), 102, 100, True, 102, 0),
        (Limits(max_increase=Fraction(2, 100)), 103, 100, False, 102, -1),
        (Limits(max_increase=Fraction(2, 100)), 1, 0, False, 0, -1),
        (Limits(max_increase=Fraction(2, 100), max_increase_abs=5), 105, 100, True, 105, 0),
        (Limits(max_increase=Fraction(10, 100), max_increase_abs=5), 110, 100, True, 110, 0),
        (Limits(max=104, max_increase=Fraction(10, 100)), 105, 100, False, 104, -1),
        (Limits(max_increase_abs=0), 100, 100, True, 100, 0),
        (Limits(), 7, None, True, None, None),
    ],
)
def test_margins_of_limits(  # noqa: PLR0917  a table
    limits: Limits,
    actual: int,
    baseline: int | None,
    holds: bool,
    limit: int | None,
    margin: int | None,
) -> None:
    found = measure_margin(actual, limits, baseline)
    assert (found.holds, found.limit, found.left) == (holds, limit, margin)


@given(SIZES, SIZES, SHARES, SIZES)
def test_an_increase_is_exact_and_the_looser_counts(
    actual: int, baseline: int, share: Fraction, amount: int
) -> None:
    by_share = measure_margin(actual, Limits(max_increase=share), baseline)
    by_amount = measure_margin(actual, Limits(max_increase_abs=amount), baseline)
    both = measure_margin(actual, Limits(max_increase=share, max_increase_abs=amount), baseline)
    assert by_share.holds == (actual - baseline <= baseline * share)
    assert both.holds == (by_share.holds or by_amount.holds)


@pytest.mark.parametrize(
    ("operator", "margin"),
    [("<", 2), ("<=", 2), (">", -2), (">=", -2), ("==", -2), ("!=", None), ("", None)],
)
def test_margins_of_comparisons(operator: str, margin: int | None) -> None:
    assert compare_margin(operator, 3, 5) == margin
    assert compare_margin(operator, None, 5) is None


def test_warnings_do_not_fail_a_run() -> None:
    def result(status: str, severity: str = "error") -> RuleResult:
        return RuleResult(
            name="a",
            module="m",
            expression="e",
            status=status,  # type: ignore[arg-type]
            severity=severity,  # type: ignore[arg-type]
        )

    facts = count_results((result("pass"), result("fail", "warning")))
    assert (facts.ok, facts.pass_count, facts.warning_count) == (True, 1, 1)
    assert not count_results((result("fail"),)).ok
    assert not count_results((result("not-measured", "warning"),)).ok
    assert not count_results((result("error"),)).ok
    assert count_results(()).ok
