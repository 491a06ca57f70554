"""One budget, compiled: what it measures, what it allows, where it applies."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from msgspec import Struct, field

from hlotool.check.config import RuleSpec
from hlotool.check.limits import Limits, Number, Severity
from hlotool.check.names import NAMES, find_unit
from hlotool.errors import QueryError, UsageError
from hlotool.fields import Unit
from hlotool.program.figures import ROW_LISTS
from hlotool.query.budget import Budget, Scope, evaluate_value, parse_budget
from hlotool.query.expression import Aggregate, Comparison
from hlotool.query.grammar import parse_expression
from hlotool.query.names import suggest
from hlotool.query.where import compile_where
from hlotool.source import Source

_ROWS: Final = re.compile(
    r"\s*(?P<rows>[a-z_]+(?:\.[a-z_]+)*)\s*(?::(?P<condition>.*))?", re.DOTALL
)
_WORDS: Final = {"max": "at most", "min": "at least", "max_increase": "at most",
                 "max_increase_abs": "at most"}  # fmt: skip


class Rule(Struct, frozen=True):
    """A budget that makes sense. Exactly one of `budget` and `value` is there.

    `budget` is a condition; `value` a figure that `limits` bound. `rows` and `condition` are
    those of `forbid` and `require`, and tell which rows a finding is about.
    """

    spec: RuleSpec
    expression: str
    unit: Unit
    module: re.Pattern[str] | None
    budget: Budget | None = None
    value: str = ""
    limits: Limits = field(default_factory=Limits)
    rows: str = ""
    condition: Callable[[object], bool] | None = None

    @property
    def severity(self) -> Severity:
        """Whether exceeding it fails a run."""
        return "warning" if self.spec.severity == "warning" else "error"

    @property
    def paths(self) -> frozenset[str]:
        """The metrics and row lists that it speaks of."""
        if self.budget is not None:
            return self.budget.paths()
        return parse_budget(f"({self.value}) == 0", NAMES).paths()

    def applies_to(self, module: str) -> bool:
        """Say whether the budget is about a module of that name."""
        return self.module is None or self.module.search(module) is not None


def compile_rule(spec: RuleSpec, config: str = "") -> Rule:
    """Check a budget and make it ready to be evaluated.

    Raises QueryError, which names the budget, where an expression does not parse or names
    what does not exist, and UsageError for a bad pattern or limit.
    """
    place = f"{config}:{spec.line}" if config and spec.line else "--budget"
    module = _compile_pattern(spec.module, place)
    if spec.kind == "metric":
        tree = parse_expression(spec.text, f"{place}: metric")
        _check_number(spec, place)
        unit = find_unit(tree)
        return Rule(spec, _describe_limits(spec), unit, module, value=spec.text,
                    limits=_read_limits(spec, place))  # fmt: skip
    if spec.kind == "expression":
        budget = parse_budget(spec.text, NAMES, place)
        return Rule(spec, spec.text, find_unit(budget.tree), module, budget)
    rows, condition = _split_rows(spec, f"{place}: {spec.kind}")
    operator = "== 0" if spec.kind == "forbid" else "> 0"
    budget = parse_budget(f"{rows}.count({condition}) {operator}", NAMES, f"{place}: {spec.kind}")
    keeps = (
        compile_where(condition, ROW_LISTS[rows].fields, f"{place}: {spec.kind}")
        if condition
        else None
    )
    expression = f"{spec.kind} {rows}" + (f": {condition}" if condition else "")
    return Rule(spec, expression, Unit.COUNT, module, budget, rows=rows, condition=keeps)


def needs_rows(rule: Rule) -> bool:
    """Say whether a budget means nothing without a row: it sums, or takes an extreme."""
    if rule.budget is None:
        text, name = f"({rule.value}) == 0", "metric"
        tree = parse_expression(text, name)
    else:
        tree = rule.budget.tree
    pending: list[object] = [tree]
    while pending:
        one = pending.pop()
        if isinstance(one, Aggregate):
            if one.value is not None:
                return True
        else:
            pending += getattr(one, "operands", ())
            pending += [getattr(one, name) for name in _PARTS if hasattr(one, name)]
    return False


def operator_of(rule: Rule) -> str:
    """Return the operator of a budget that is one comparison, '' for any other."""
    tree = rule.budget.tree if rule.budget else None
    return tree.operator if isinstance(tree, Comparison) else ""


_PARTS: Final = ("left", "right", "operand")


def _check_number(spec: RuleSpec, place: str) -> None:
    """Refuse a metric that is no number, at its place."""
    evaluate_value(spec.text, NAMES, _Nothing(), f"{place}: metric")


class _Nothing:
    """A scope that knows no figure, for checking an expression alone."""

    def metric(self, path: str) -> object:
        """Return None, for every metric."""
        del path
        return None

    def rows(self, path: str) -> tuple[object, ...]:
        """Return no rows."""
        del path
        return ()


_NOTHING: Final[Scope] = _Nothing()


def _split_rows(spec: RuleSpec, place: str) -> tuple[str, str]:
    """Split `collectives: kind == "all-gather"` into the list and the condition."""
    match = _ROWS.fullmatch(spec.text)
    rows = match["rows"] if match else ""
    if rows not in ROW_LISTS:
        source = Source(spec.text, place)
        end = match.end("rows") if match else len(spec.text)
        raise QueryError(
            f"there is no list of rows {rows!r}" if rows else 'expected "rows: condition"',
            source, match.start("rows") if match else 0, end, suggest(rows, ROW_LISTS),
        )  # fmt: skip
    return rows, (match["condition"] or "").strip() if match else ""


def _read_limits(spec: RuleSpec, place: str) -> Limits:
    return Limits(
        max=_read_limit(spec.max, f"{place}: max"),
        min=_read_limit(spec.min, f"{place}: min"),
        max_increase=_read_share(spec.max_increase, f"{place}: max_increase"),
        max_increase_abs=_read_limit(spec.max_increase_abs, f"{place}: max_increase_abs"),
    )


def _read_limit(text: str, place: str) -> Number | None:
    if not text:
        return None
    found = evaluate_value(text, NAMES, _NOTHING, place)
    if found is None:
        raise UsageError(f"{place}: expected a number or a size, found {text!r}.")
    return int(found) if float(found).is_integer() else found


def _read_share(text: str, place: str) -> Fraction | None:
    """Read `2%`; a bare number would leave open whether it is a part or an amount."""
    if not text:
        return None
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*", text)
    if match is None:
        raise UsageError(f"{place}: expected a percentage such as 2%, found {text!r}.")
    return Fraction(match[1]) / 100


def _compile_pattern(text: str, place: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise UsageError(f"{place}: module {text!r} is no regular expression: {error}.") from error


def _describe_limits(spec: RuleSpec) -> str:
    """Write a metric and its limits as a budget would say them."""
    bounds = (("<=", spec.max), (">=", spec.min))
    parts = [f"{spec.text} {sign} {bound}" for sign, bound in bounds if bound]
    increases = [one for one in (spec.max_increase, spec.max_increase_abs) if one]
    if increases:
        parts.append(f"{spec.text} <= baseline + {' or '.join(increases)}")
    return " and ".join(parts)
