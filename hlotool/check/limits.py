"""What a budget comes to: the limit it sets, and how far from it a figure is.

Pure arithmetic on figures; `hlotool.budgets` finds them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

from hlotool.fields import Unit

Status: TypeAlias = Literal["pass", "fail", "no-match", "error"]
Severity: TypeAlias = Literal["error", "warning"]
Number: TypeAlias = int | float


class RuleResult(Struct, frozen=True):
    """One budget in one module.

    `margin` is what is left until the limit, negative where it is exceeded. `reason` says
    why nothing was checked, or what was found; `message` is what the budget's author says.
    `matched_count` counts rows that the budget looked at. The bounds say how sure `actual`
    is. `unit` is that of actual, limit, margin and baseline.
    """

    name: str
    module: str | None
    expression: str
    status: Status
    severity: Severity
    actual: Number | None = None
    limit: Number | None = None
    margin: Number | None = None
    baseline: Number | None = None
    matched_count: int | None = None
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    message: str | None = None
    reason: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    unit: Unit = Unit.NUMBER


class CheckFacts(Struct, frozen=True):
    """All budgets together."""

    ok: bool
    pass_count: int
    fail_count: int
    warning_count: int
    no_match_count: int
    error_count: int


class Limits(Struct, frozen=True):
    """The bounds of a figure; an increase is of the baseline, as a part of it or absolute.

    Where both kinds of increase are given, the looser counts: a part of little is noise,
    and a fixed amount of much is nothing.
    """

    max: Number | None = None
    min: Number | None = None
    max_increase: Fraction | None = None
    max_increase_abs: Number | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether an increase is limited."""
        return self.max_increase is not None or self.max_increase_abs is not None

    def upper(self, baseline: Number | None) -> Number | None:
        """Return the largest figure that passes, None for any."""
        bounds = [] if self.max is None else [self.max]
        if self.needs_baseline and baseline is not None:
            bounds.append(baseline + self._allowance(baseline))
        return min(bounds, default=None)

    def _allowance(self, baseline: Number) -> Number:
        part = Fraction(baseline) * (self.max_increase or 0)
        share = part.numerator // part.denominator if isinstance(baseline, int) else float(part)
        return max(share, self.max_increase_abs or 0)


class Judgement(Struct, frozen=True):
    """Whether a figure keeps its limits, against which of them, and by how much."""

    holds: bool
    limit: Number | None
    margin: Number | None


def judge(actual: Number, limits: Limits, baseline: Number | None) -> Judgement:
    """Hold a figure against its limits; the tightest of them is the one reported."""
    upper = limits.upper(baseline)
    found = []
    if upper is not None:
        found.append((upper - actual, upper))
    if limits.min is not None:
        found.append((actual - limits.min, limits.min))
    if not found:
        return Judgement(holds=True, limit=None, margin=None)
    margin, limit = min(found)
    return Judgement(margin >= 0, limit, margin)


def compare_margin(operator: str, actual: Number | None, limit: Number | None) -> Number | None:
    """Return what is left until a comparison turns; None for one that has no such measure."""
    if actual is None or limit is None:
        return None
    if operator in {"<", "<="}:
        return limit - actual
    if operator in {">", ">="}:
        return actual - limit
    return -abs(actual - limit) if operator == "==" else None


def count_results(results: tuple[RuleResult, ...]) -> CheckFacts:
    """Count the results by what they came to; only a budget that is an error fails a run."""
    failed = [one for one in results if one.status == "fail"]
    warnings = sum(one.severity == "warning" for one in failed)
    passed = sum(one.status == "pass" for one in results)
    unmatched = sum(one.status == "no-match" for one in results)
    broken = sum(one.status == "error" for one in results)
    fails = len(failed) - warnings
    return CheckFacts(
        not (fails or unmatched or broken), passed, fails, warnings, unmatched, broken
    )
