"""What a budget comes to in one program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from hlotool.check.limits import Number, RuleResult, Status, compare_margin, judge
from hlotool.check.names import NAMES
from hlotool.check.rule import Rule, needs_rows, operator_of
from hlotool.diff.saved import SavedFigures
from hlotool.program.program import Program
from hlotool.query.budget import Verdict, evaluate_budget, evaluate_value, parse_budget

_LISTED: Final = 3  # rows named in what a rule found

# The field by which the row that a finding points at is the largest.
_WEIGHTS: Final = {
    "buffers": "occupied_bytes",
    "collectives": "known_wire_bytes_per_run",
    "fusions": "known_bytes_accessed_per_run",
    "cost": "known_flops_per_run",
}
_ROWS_OF: Final = {"cost": "fusions"}


Baseline: TypeAlias = Program | SavedFigures


def judge_rule(rule: Rule, program: Program, baseline: Baseline | None = None) -> RuleResult:
    """Evaluate one budget over one program, and over its baseline where a limit needs it.

    A figure that the dump does not tell, or that needs rows where there are none, has not
    been checked: `no-match`. Raises what the analyses raise.
    """
    unknown = _find_unknown(rule, program)
    if unknown:
        return _result(rule, program, "no-match", reason=unknown)
    if rule.budget is not None:
        return _judge_condition(rule, program)
    return _judge_figure(rule, program, baseline)


def unmatched(rule: Rule, names: Sequence[str]) -> RuleResult:
    """Return the result of a budget that is about no module there is."""
    pattern = rule.module.pattern if rule.module else ""
    listed = ", ".join(sorted(names)[:_LISTED]) or "none"
    return RuleResult(
        rule.spec.name,
        None,
        rule.expression,
        "no-match",
        rule.severity,
        message=rule.spec.message or None,
        reason=f"no module is called {pattern!r}; there is {listed}",
        unit=rule.unit,
    )


def _find_unknown(rule: Rule, program: Program) -> str:
    """Say what the dump does not tell, '' if it tells all that is asked."""
    for path in sorted(rule.paths):
        if path in NAMES.row_lists:
            if not program.knows_rows(path):
                return f"this dump does not tell of {path}"
        elif program.metric(path) is None:
            hint = _no_assignment(program) if path.startswith("buffers.") else ""
            return f"{path} is not known from this dump{hint}"
    return ""


def _no_assignment(program: Program) -> str:
    if program.assignment is not None:
        return ""
    return "; it has no buffer assignment, only buffers.estimated is known"


def _judge_condition(rule: Rule, program: Program) -> RuleResult:
    if rule.budget is None:
        raise ValueError("a condition is wanted")
    verdict = evaluate_budget(rule.budget, program)
    if needs_rows(rule) and not verdict.matched_count:
        return _result(rule, program, "no-match", reason="no row matches, nothing was measured")
    margin = compare_margin(operator_of(rule), verdict.actual, verdict.limit)
    actual, limit, reason = verdict.actual, verdict.limit, ""
    if rule.rows:
        found = _matching(rule, program)
        if rule.spec.kind == "require":
            limit, margin = 1, (actual or 0) - 1
        reason = _name_rows(found) if rule.spec.kind == "forbid" else ""
    bounds = _bounds(rule, program, verdict)
    return _result(
        rule,
        program,
        "pass" if verdict.holds else "fail",
        actual=actual,
        limit=limit,
        margin=margin,
        matched_count=verdict.matched_count,
        bounds=bounds,
        reason=reason,
    )


def _judge_figure(rule: Rule, program: Program, baseline: Baseline | None) -> RuleResult:
    actual = evaluate_value(rule.value, NAMES, program, "metric")
    if actual is None:
        return _result(rule, program, "no-match", reason="no row matches, nothing was measured")
    before: Number | None = None
    if rule.limits.needs_baseline:
        before, missing = _measure_baseline(rule, baseline)
        if before is None:
            return _result(rule, program, "no-match", actual=actual, reason=missing)
    found = judge(actual, rule.limits, before)
    probe = evaluate_budget(parse_budget(f"({rule.value}) == 0", NAMES), program)
    return _result(
        rule,
        program,
        "pass" if found.holds else "fail",
        actual=actual,
        limit=found.limit,
        margin=found.margin,
        baseline=before,
        matched_count=probe.matched_count,
        bounds=_bounds(rule, program, probe),
    )


def _measure_baseline(rule: Rule, baseline: Baseline | None) -> tuple[Number | None, str]:
    """Return the figure of the baseline, or why there is none."""
    if baseline is None:
        return None, _NO_BASELINE
    if isinstance(baseline, SavedFigures) and not rule.paths.isdisjoint(NAMES.row_lists):
        return None, "a saved baseline holds metrics, no rows; give a dump as --baseline"
    found = evaluate_value(rule.value, NAMES, baseline, "metric")
    return found, "" if found is not None else f"the baseline does not tell of {rule.value}"


_NO_BASELINE: Final = "there is no baseline; give --baseline, or write one with --update-baseline"


def _result(
    rule: Rule,
    program: Program,
    status: Status,
    *,
    actual: Number | None = None,
    limit: Number | None = None,
    margin: Number | None = None,
    baseline: Number | None = None,
    matched_count: int | None = None,
    bounds: tuple[bool, bool] = (False, False),
    reason: str = "",
) -> RuleResult:
    place = _find_place(rule, program) if status == "fail" else (None, None)
    if status == "fail" and rule.severity == "warning":
        reason = f"only a warning; {reason}" if reason else "only a warning"
    is_unsure = status == "pass" and bounds[0] and margin is not None
    if is_unsure and actual is not None and limit is not None and actual <= limit:
        reason = reason or "at least that much: a part is unknown"
    return RuleResult(
        name=rule.spec.name,
        module=program.name,
        expression=rule.expression,
        status=status,
        severity=rule.severity,
        actual=_tidy(actual),
        limit=_tidy(limit),
        margin=_tidy(margin),
        baseline=_tidy(baseline),
        matched_count=matched_count,
        is_lower_bound=bounds[0],
        is_upper_bound=bounds[1],
        message=(rule.spec.message or None) if status != "pass" else None,
        reason=reason or None,
        source_file=place[0],
        source_line=place[1],
        unit=rule.unit,
    )


def _tidy(value: Number | None) -> Number | None:
    """Return a whole number as an integer: 300e6 bytes are 300000000."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bounds(rule: Rule, program: Program, verdict: Verdict) -> tuple[bool, bool]:
    """Say whether what was measured is a lower and an upper bound."""
    found = [(verdict.is_lower_bound, verdict.is_upper_bound)]
    found += [program.bounds(path) for path in rule.paths if path not in NAMES.row_lists]
    return any(lower for lower, _ in found), any(upper for _, upper in found)


def _matching(rule: Rule, program: Program) -> list[object]:
    keeps = rule.condition
    return [row for row in program.rows(rule.rows) if keeps is None or keeps(row)]


def _name_rows(rows: Sequence[object]) -> str:
    """Name the first few rows."""
    names = [_name_of(row) for row in rows[:_LISTED]]
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return ", ".join(name for name in names if name) + more


def _name_of(row: object) -> str:
    for name in ("name", "value", "opcode", "parameter_name", "dtype"):
        found = getattr(row, name, None)
        if isinstance(found, str):
            return found
    return ""


def _find_place(rule: Rule, program: Program) -> tuple[str | None, int | None]:
    """Return the source line of what weighs most in what the budget measures."""
    if rule.rows:
        rows = _matching(rule, program)
        block = rule.rows.partition(".")[0]
    else:
        block = min(rule.paths, default="").partition(".")[0]
        path = _ROWS_OF.get(block, block)
        rows = list(program.rows(path)) if path in NAMES.row_lists else []
    weight = _WEIGHTS.get(block, "")
    rows.sort(key=lambda row: -(getattr(row, weight, 0) or 0))
    for row in rows:
        file, line = getattr(row, "source_file", None), getattr(row, "source_line", None)
        if isinstance(file, str) and isinstance(line, int):
            return file, line
    return None, None
