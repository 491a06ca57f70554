"""What a budget comes to in one program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from hlotool.check.broken import explain_broken, find_bounds
from hlotool.check.estimates import find_measured, find_unestimated
from hlotool.check.limits import Limits, Number, compare_margin, find_margin, tidy
from hlotool.check.place import find_place, name_rows
from hlotool.check.results import RuleResult, Status
from hlotool.check.rule import VOCABULARY, Rule
from hlotool.compare.saved import SavedFigures
from hlotool.program.figures import ROW_LISTS
from hlotool.program.program import Program
from hlotool.query.compile import as_number
from hlotool.query.expression import Relation
from hlotool.query.measure import Measured, measure

Baseline: TypeAlias = Program | SavedFigures

_LISTED: Final = 3  # modules named where none is the one asked for
_NOTHING_MEASURED: Final = "no row matches, nothing was measured"
NO_BASELINE: Final = "there is no baseline; give --baseline, or write one with --update-baseline"
_NO_SAVED_ROWS: Final = "a saved baseline holds metrics, no rows; give a dump as --baseline"


def judge_rule(
    rule: Rule,
    program: Program,
    baseline: Baseline | None = None,
    missing: str = NO_BASELINE,
) -> RuleResult:
    """Evaluate one budget over one program, and over its baseline where a limit needs it.

    A figure that the dump does not tell, or that needs rows where there are none, has not
    been checked: `no-match`. `missing` says why there is no baseline. Raises what the
    analyses raise.
    """
    unknown = _find_unknown(rule, program)
    if unknown:
        return _result(rule, program, "no-match", reason=unknown)
    found = measure(rule.tree, VOCABULARY, program)
    if rule.limits is None:
        return _judge_condition(rule, program, found)
    earlier = _measure_baseline(rule, baseline, missing)
    return _judge_figure(rule, rule.limits, program, found, earlier)


def unmatched(rule: Rule, names: Sequence[str]) -> RuleResult:
    """Return the result of a budget that is about no module there is."""
    pattern = rule.module.text if rule.module else ""
    listed = ", ".join(sorted(names)[:_LISTED]) or "none"
    reason = f"no module is called {pattern!r}; there is {listed}"
    return not_judged(rule, None, "no-match", reason)


def not_judged(rule: Rule, module: str | None, status: Status, reason: str) -> RuleResult:
    """Return the result of a budget that was held against nothing, and why."""
    return RuleResult(
        name=rule.budget.title,
        module=module,
        expression=rule.says,
        status=status,
        severity=rule.budget.severity,
        message=rule.budget.message or None,
        reason=reason,
        unit=rule.unit,
    )


def _find_unknown(rule: Rule, program: Program) -> str:
    """Say what the dump does not tell, '' if it tells all that is asked."""
    measured = find_measured(rule.tree) if program.measured is None else ""
    if measured:
        return f"{measured} is not known, as no profile was given"
    estimated, _ = find_unestimated(rule.tree, program.machine)
    if estimated:
        note = program.note_chip().removesuffix(".")
        return f"{estimated} is not known" + (f", as {note}" if note else "")
    for path in sorted(rule.paths):
        if path in ROW_LISTS:
            if not program.knows_rows(path):
                return f"this dump does not tell of {path}"
        elif program.metric(path) is None:
            is_estimated = path.startswith("buffers.") and program.assignment is None
            hint = "; it has no buffer assignment, only buffers.estimated is known"
            return f"{path} is not known from this dump{hint if is_estimated else ''}"
    return ""


def _judge_condition(rule: Rule, program: Program, found: Measured) -> RuleResult:
    if rule.needs_rows() and not found.matched_count:
        return _result(rule, program, "no-match", reason=_NOTHING_MEASURED)
    operator = rule.tree.operator if isinstance(rule.tree, Relation) else ""
    return _result(
        rule,
        program,
        "pass" if found.value is True else "fail",
        found,
        actual=found.left,
        limit=found.right,
        margin=compare_margin(operator, found.left, found.right),
        reason="" if found.value is True else explain_broken(rule, program),
    )


def _judge_figure(
    rule: Rule,
    limits: Limits,
    program: Program,
    found: Measured,
    earlier: tuple[Number | None, str],
) -> RuleResult:
    """Hold a figure against its limits; those that need no baseline hold without it, too."""
    before, missing = earlier
    actual = as_number(found.value)
    if actual is None:
        return _result(rule, program, "no-match", reason=_NOTHING_MEASURED)
    margin = find_margin(actual, limits, before)
    kept: Status = "no-match" if missing else "pass"
    return _result(
        rule,
        program,
        kept if margin.holds else "fail",
        found,
        actual=actual,
        limit=margin.limit,
        margin=margin.left,
        baseline=before,
        reason=_explain(rule, program, limits.list_broken(actual, before), missing),
    )


def _explain(rule: Rule, program: Program, broken: Sequence[str], missing: str) -> str:
    """Say which limits are broken, or which rows were counted; and why one was not held."""
    if rule.counted:
        if rule.budget.kind == "forbid":
            return name_rows(rule.counted, program)
        return "no row matches" if broken else ""
    if not broken:
        return missing
    said = " and ".join(f"{name} {getattr(rule.budget, name)}" for name in broken)
    return f"beyond {said}" + (f"; no increase was checked, as {missing}" if missing else "")


def _measure_baseline(
    rule: Rule, baseline: Baseline | None, missing: str
) -> tuple[Number | None, str]:
    """Return the figure of the baseline, or why there is none; nothing where none is needed."""
    if not rule.needs_baseline:
        return None, ""
    if baseline is None:
        return None, missing
    for path in sorted(rule.paths):
        if path in ROW_LISTS and not baseline.knows_rows(path):
            is_saved = isinstance(baseline, SavedFigures)
            return None, _NO_SAVED_ROWS if is_saved else f"the baseline does not tell of {path}"
    found = as_number(measure(rule.tree, VOCABULARY, baseline).value)
    return found, "" if found is not None else f"the baseline does not tell of {rule.budget.text}"


def _result(
    rule: Rule,
    program: Program,
    status: Status,
    found: Measured | None = None,
    *,
    actual: Number | None = None,
    limit: Number | None = None,
    margin: Number | None = None,
    baseline: Number | None = None,
    reason: str = "",
) -> RuleResult:
    """Put a result together; `found` is what was measured, None where that does not count."""
    file, line = find_place(rule, program) if status == "fail" else (None, None)
    is_lower, is_upper = find_bounds(rule.tree, program, found) if found else (False, False)
    if status == "fail" and rule.budget.severity == "warning":
        reason = f"only a warning; {reason}" if reason else "only a warning"
    is_unsure = status == "pass" and is_lower and margin is not None
    if is_unsure and actual is not None and limit is not None and actual <= limit:
        reason = reason or "at least that much: a part is unknown"
    return RuleResult(
        status=status,
        name=rule.budget.title,
        module=program.name,
        expression=rule.says,
        actual=tidy(actual),
        limit=tidy(limit),
        margin=tidy(margin),
        baseline=tidy(baseline),
        severity=rule.budget.severity,
        matched_count=found.matched_count if found else None,
        is_lower_bound=is_lower,
        is_upper_bound=is_upper,
        reason=reason or None,
        message=(rule.budget.message or None) if status != "pass" else None,
        source_file=file,
        source_line=line,
        unit=rule.unit,
        digits=rule.digits,
    )
