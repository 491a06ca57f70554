"""What a budget's expression comes to: metrics and figures made from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hlotool.errors import QueryError
from hlotool.fields import Field, RowList
from hlotool.query.evaluate import Compiler, Reader, read_field
from hlotool.query.expression import (
    Aggregate,
    And,
    Arithmetic,
    Comparison,
    Expression,
    Match,
    Membership,
    Name,
    Negative,
    Not,
    Or,
)
from hlotool.query.grammar import parse_expression
from hlotool.query.sense import Kind, Names, check_condition, check_value
from hlotool.query.sums import sum_field
from hlotool.source import Source


class Scope(Protocol):
    """Where a budget finds its figures; nothing is computed that no budget names."""

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where unknown."""

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of `collectives`, `summary.loops`, …"""


@dataclass(frozen=True, slots=True)
class Budget:
    """A parsed and checked budget expression."""

    text: str
    tree: Expression
    names: Names

    def paths(self) -> frozenset[str]:
        """Return every metric and every list of rows that the expression names."""
        return frozenset(_paths(self.tree))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a budget came to.

    `actual` and `limit` are the two sides of a comparison, null where the expression is not
    one or a side is unknown. `row_count` is how many rows its aggregates looked at,
    `matched_count` how many passed their conditions; both are null without aggregates.
    """

    holds: bool
    actual: int | float | None
    limit: int | float | None
    is_lower_bound: bool  # a row's figure was unknown, or known to be incomplete
    is_upper_bound: bool
    row_count: int | None
    matched_count: int | None


@dataclass(slots=True)
class _Run:
    """One evaluation: where figures come from, and what was noticed on the way."""

    scope: Scope
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    row_counts: list[tuple[int, int]] = field(default_factory=list)


def parse_budget(text: str, names: Names, name: str = "--budget") -> Budget:
    """Read a budget; raise QueryError where it is no condition over `names`."""
    tree = parse_expression(text, name)
    check_condition(tree, Source(text, name), names)
    return Budget(text, tree, names)


def evaluate_budget(budget: Budget, scope: Scope) -> Verdict:
    """Say whether a budget holds, and by which figures."""
    run = _Run(scope)
    compiler = _compiler(budget.names)
    holds = compiler.condition(budget.tree)(run)
    actual = limit = None
    if isinstance(budget.tree, Comparison):
        actual = _number(compiler.value(budget.tree.left)(_Run(scope)))
        limit = _number(compiler.value(budget.tree.right)(_Run(scope)))
    return Verdict(
        holds,
        actual,
        limit,
        run.is_lower_bound,
        run.is_upper_bound,
        sum(seen for seen, _ in run.row_counts) if run.row_counts else None,
        sum(kept for _, kept in run.row_counts) if run.row_counts else None,
    )


def evaluate_value(text: str, names: Names, scope: Scope, name: str = "value") -> float | None:
    """Return what a number's expression comes to, null where unknown."""
    tree = parse_expression(text, name)
    if check_value(tree, Source(text, name), names) is not Kind.NUMBER:
        raise QueryError("expected a number", Source(text, name), tree.start, tree.end)
    return _number(_compiler(names).value(tree)(_Run(scope)))


def _compiler(names: Names) -> Compiler:
    """Return the compiler whose rows are runs."""

    def read_name(path: str) -> Reader:
        return lambda run: run.scope.metric(path)  # type: ignore[attr-defined]

    def read_aggregate(tree: Aggregate) -> Reader:
        return _aggregate(tree, names.row_lists[tree.rows])

    return Compiler(read_name, read_aggregate)


def _aggregate(tree: Aggregate, row_list: RowList) -> Reader:
    """Return the function that makes one figure of many rows."""
    readers = {each.name: read_field(each) for each in row_list.fields}
    compiler = Compiler(readers.__getitem__)
    keeps = compiler.condition(tree.where) if tree.where is not None else None
    plain = _plain_field(tree, row_list)
    read = compiler.value(tree.value) if tree.value is not None else None

    def aggregate(run: Any) -> int | float | None:
        rows = run.scope.rows(tree.rows)
        kept = rows if keeps is None else [row for row in rows if keeps(row)]
        run.row_counts.append((len(rows), len(kept)))
        if read is None:
            return len(kept)
        if tree.function == "sum" and plain is not None:
            total = sum_field(row_list, kept, plain)
            run.is_lower_bound |= total.is_lower_bound
            run.is_upper_bound |= total.is_upper_bound
            return total.value
        return _reduce(run, tree.function, [read(row) for row in kept])

    return aggregate


def _plain_field(tree: Aggregate, row_list: RowList) -> Field | None:
    """Return the field that is aggregated, if it is one and not a calculation."""
    return row_list.field(tree.value.path) if isinstance(tree.value, Name) else None


def _reduce(run: _Run, function: str, values: list[int | float | None]) -> int | float | None:
    """Sum, or take the largest or smallest; what is unknown makes a bound."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        # an unknown value can raise a sum or a maximum, and lower a minimum
        run.is_upper_bound |= function == "min"
        run.is_lower_bound |= function != "min"
        if not known:
            return None
    if function == "sum":
        return sum(known)
    choose = max if function == "max" else min
    return choose(known) if known else None


def _number(value: object) -> int | float | None:
    """Return a value if it is a number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


def _paths(tree: Expression) -> list[str]:
    """List the metrics and row lists below an expression; its depth is bounded."""
    match tree:
        case Name():
            return [tree.path]
        case Aggregate():
            return [tree.rows]
        case Negative() | Not():
            return _paths(tree.operand)
        case Arithmetic() | And() | Or():
            return [path for each in tree.operands for path in _paths(each)]
        case Comparison() | Match() | Membership():
            return _paths(tree.left) + _paths(tree.right)
        case _:
            return []
