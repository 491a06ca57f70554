"""One budget, compiled: what it measures, what it allows, where it applies.

Does a budget name a word that no module can ever hold? It would be met for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.machine import Machine
from hlotool.check.budget import LIMITS, Budget, Limit, expect_pattern
from hlotool.check.estimates import expect_machine
from hlotool.check.limits import Limits, Number, tidy
from hlotool.errors import QueryError, UsageError
from hlotool.pattern import Pattern
from hlotool.program.metrics import METRICS, ROW_LISTS
from hlotool.program.program import Program
from hlotool.table import Unit
from hlotool.table.expression.check import (
    Vocabulary,
    expect_unit,
    face_limit,
    make_count,
    parse_condition,
    parse_number,
)
from hlotool.table.expression.compile import compile_value, read_row
from hlotool.table.expression.nodes import Aggregate, Expression, Relation, find_reads
from hlotool.table.expression.where import UnknownValue, find_unknown_values, refuse_value
from hlotool.table.names import suggest
from hlotool.table.quantity import find_share
from hlotool.text import Source

VOCABULARY: Final = Vocabulary(METRICS, ROW_LISTS)

_ROWS: Final = re.compile(
    r"\s*(?P<rows>[a-z_]+(?:\.[a-z_]+)*)\s*(?::(?P<condition>.*))?", re.DOTALL
)
_PERCENTAGE: Final = re.compile(r"\s*[0-9]+(?:\.(?P<decimals>[0-9]+))?\s*%\s*")
_NO_ROW: Final = Limits(max=0)
_ANY_ROW: Final = Limits(min=1)


class Rule(Struct, frozen=True):
    """A budget that makes sense; read once, however many programs it is about.

    `tree` is a condition where there are no limits, else the figure that they bound; of
    `forbid` and `require` that is the number of rows. `says` is what the budget demands.
    """

    budget: Budget
    says: str
    tree: Expression
    limits: Limits | None
    unit: Unit
    digits: int  # how many more than usual a percentage was written with
    module: Pattern | None
    paths: frozenset[str]  # the metrics and row lists that it speaks of
    source: Source  # what places in the tree are places of

    @property
    def needs_baseline(self) -> bool:
        """Whether an increase is limited."""
        return self.limits is not None and self.limits.needs_baseline

    @property
    def counted(self) -> Aggregate | None:
        """The rows that `forbid` or `require` counts, None for another budget."""
        is_count = self.budget.kind in {"forbid", "require"}
        return self.tree if is_count and isinstance(self.tree, Aggregate) else None

    def applies_to(self, module: str) -> bool:
        """Say whether the budget is about a module of that name."""
        return self.module is None or self.module.is_found(module)

    def needs_rows(self) -> bool:
        """Say whether it means nothing without a row: it sums, or takes an extreme."""
        return any(
            isinstance(one, Aggregate) and one.value is not None for one in find_reads(self.tree)
        )


def compile_rule(budget: Budget, config: str = "", machine: Machine | None = None) -> Rule:
    """Check a budget and make it ready to be evaluated; `config` is the file it stands in.

    Raises QueryError, which names the budget, where an expression does not parse or names
    what does not exist, and UsageError for a bad pattern or limit, and for a budget on times
    that no `machine` is known for.
    """
    place = budget.place(config, budget.kind)
    where = budget.place(config, "module")
    module = expect_pattern(budget.module, "module", where) if budget.module else None
    limits: Limits | None = None
    says, source = budget.text, Source(budget.text, place)
    if budget.kind == "expression":
        tree = parse_condition(budget.text, VOCABULARY, place)
        tree = face_limit(tree) if isinstance(tree, Relation) else tree
    elif budget.kind == "metric":
        source = Source(budget.text, f"{place}: metric")
        tree = parse_number(budget.text, VOCABULARY, source.name)
        limits = _read_limits(budget, config, tree)
        says = _describe_limits(budget)
    else:
        rows, condition = _split_rows(budget.text, f"{place}: {budget.kind}")
        source = Source(condition, f"{place}: {budget.kind}")
        tree = _count_rows(rows, source)
        limits = _NO_ROW if budget.kind == "forbid" else _ANY_ROW
        says = f"{budget.kind} {rows}" + (f": {condition}" if condition else "")
    expect_machine(tree, machine, place)
    paths = frozenset(
        one.rows if isinstance(one, Aggregate) else one.path for one in find_reads(tree)
    )
    unit, digits = _find_unit(budget, tree)
    return Rule(budget, says, tree, limits, unit, digits, module, paths, source)


def _find_unit(budget: Budget, tree: Expression) -> tuple[Unit, int]:
    """Return the unit of what is measured, and how many more digits than usual its limit has.

    A ratio is in percent where a limit is.
    """
    unit = tree.type.unit
    limits = [str(budget.max), str(budget.min)]
    if isinstance(tree, Relation):
        limits = [budget.text[tree.right.start : tree.right.end]]
    matches = [match for match in map(_PERCENTAGE.fullmatch, limits) if match]
    if unit is not Unit.RATIO or not matches:
        return unit, 0
    return Unit.PERCENT, max(len(match["decimals"] or "0") for match in matches) - 1


def _split_rows(text: str, place: str) -> tuple[str, str]:
    """Split `collectives: kind == "all-gather"` into the list and the condition."""
    match = _ROWS.fullmatch(text)
    rows = match["rows"] if match else ""
    if match is None or rows not in ROW_LISTS:
        start, end = match.span("rows") if match else (0, len(text))
        message = f"there is no row list {rows!r}" if rows else 'expected "rows: condition"'
        raise QueryError(message, Source(text, place), start, end, suggest(rows, ROW_LISTS))
    return rows, (match["condition"] or "").strip()


def _count_rows(rows: str, condition: Source) -> Aggregate:
    """Return the figure that says how many rows fulfil a condition, '' for any."""
    fields = Vocabulary.of_row(ROW_LISTS[rows].fields)
    where = parse_condition(condition.text, fields, condition.name) if condition.text else None
    return make_count(rows, ROW_LISTS[rows], where)


def _read_limits(budget: Budget, config: str, metric: Expression) -> Limits:
    places = {key: f"{budget.place(config, key)}: {key}" for key in LIMITS}

    def read(key: str, limit: Limit) -> Number | None:
        return None if limit is None else _read_limit(str(limit), places[key], budget, metric)

    return Limits(
        max=read("max", budget.max),
        min=read("min", budget.min),
        max_increase=_read_share(budget.max_increase, places["max_increase"]),
        max_increase_abs=read("max_increase_abs", budget.max_increase_abs),
    )


def _read_limit(limit: str, place: str, budget: Budget, metric: Expression) -> Number | None:
    """Read a number, a size, a time or a calculation, as the metric has it; it may name nothing."""
    tree = parse_number(limit, VOCABULARY, place)
    found: Number | None = None
    if not any(find_reads(tree)):
        found = compile_value(tree, read_row)(None)
    if found is None:
        raise UsageError(f"{place}: expected a number, a size or a time, found {limit!r}.")
    expect_unit(metric, tree, budget.text, Source(limit, place))
    return tidy(found)


def _read_share(limit: Limit, place: str) -> Fraction | None:
    """Read `2%`; a bare number would leave open whether it is a part or an amount."""
    if limit is None:
        return None
    share = find_share(str(limit))
    if share is None:
        raise UsageError(f"{place}: expected a percentage such as 2%, found {str(limit)!r}.")
    return share


def _describe_limits(budget: Budget) -> str:
    """Write a metric and its limits as an expression would say them."""
    bounds = (("<=", budget.max), (">=", budget.min))
    parts = [f"{budget.text} {sign} {bound}" for sign, bound in bounds if bound is not None]
    increases = (budget.max_increase, budget.max_increase_abs)
    given = [str(one) for one in increases if one is not None]
    if given:
        parts.append(f"{budget.text} <= baseline + {' or '.join(given)}")
    return " and ".join(parts)


def list_unknown_values(rule: Rule, program: Program) -> tuple[UnknownValue, ...]:
    """Return the words of a budget that neither hlotool knows nor the program holds."""
    return tuple(
        found
        for one in find_reads(rule.tree)
        if isinstance(one, Aggregate) and one.where is not None
        for found in find_unknown_values(one.where, program.rows(one.rows), program.find_words)
    )


def expect_budget_words(rule: Rule, found: Iterable[Sequence[UnknownValue]]) -> None:
    """Raise QueryError where a word of a budget is unknown to every module it was held against.

    `found` are those of each. Where there is none, nobody knows.
    """
    first, *others = [*found] or [()]
    for one in first:
        places = [{each.start for each in unknown} for unknown in others]
        if all(one.start in starts for starts in places):
            raise refuse_value(one, rule.source)
