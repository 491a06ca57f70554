"""What an expression over the figures of a program comes to, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from hlotool.fields import Sum
from hlotool.query.aggregate import compile_aggregate
from hlotool.query.compile import Compiler, Number, Reader, as_number, compile_operator
from hlotool.query.expression import Aggregate, Expression, Relation
from hlotool.query.vocabulary import Vocabulary


class Scope(Protocol):
    """Where an expression finds its figures; nothing is worked out that it does not name."""

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where unknown."""

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of `collectives`, `summary.loops`, …"""


class Measured(Struct, frozen=True):
    """What an expression comes to: a number, true or false, or None where unknown.

    It is a lower bound where a row's figure is unknown or known to be incomplete, an upper
    bound where a part may not happen. `matched_count` is how many rows passed the conditions
    of its aggregates, None where it has none. `left` and `right` are the numbers on the sides
    of a comparison.
    """

    value: Number | bool | None
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    matched_count: int | None = None
    left: Number | None = None
    right: Number | None = None


class _Run:
    """One evaluation: where figures come from, and what was noticed on the way."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.is_lower_bound = False
        self.is_upper_bound = False
        self.matched_count: int | None = None

    def note(self, found: Sum, matched_count: int) -> Number | None:
        """Remember what an aggregate says beside its value, and return that."""
        self.is_lower_bound |= found.is_lower_bound
        self.is_upper_bound |= found.is_upper_bound
        self.matched_count = (self.matched_count or 0) + matched_count
        return found.value


def measure(tree: Expression, vocabulary: Vocabulary, scope: Scope) -> Measured:
    """Evaluate an expression that fits the vocabulary, each part at most once.

    Of `and` and `or` only as much is looked at as decides. Raises what the scope raises.
    """
    run = _Run(scope)
    compiler = _compiler(vocabulary)
    left = right = None
    if isinstance(tree, Relation):
        left, right = compiler.value(tree.left)(run), compiler.value(tree.right)(run)
        value = compile_operator(tree)(left, right)
    else:
        value = compiler.value(tree)(run)
    return Measured(
        value,
        run.is_lower_bound,
        run.is_upper_bound,
        run.matched_count,
        as_number(left),
        as_number(right),
    )


def _compiler(vocabulary: Vocabulary) -> Compiler[_Run]:
    """Return the compiler whose functions take a run in the place of a row."""

    def read_name(path: str) -> Reader[_Run]:
        return lambda run: run.scope.metric(path)

    def read_aggregate(tree: Aggregate) -> Reader[_Run]:
        aggregate = compile_aggregate(tree, vocabulary.row_lists[tree.rows])
        return lambda run: run.note(*aggregate(run.scope.rows(tree.rows)))

    return Compiler(read_name, read_aggregate)
