"""From a text to an expression that makes sense.

From the text of `--where` to a function of a row.

What an expression over the figures of a program comes to, and how sure that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from hlotool.table.expression.check import (
    FindHeld,
    Vocabulary,
    expect_condition,
    expect_number,
    find_strangers,
    refuse_stranger,
)
from hlotool.table.expression.compile import (
    Compiler,
    Number,
    Reader,
    Test,
    as_number,
    compile_aggregate,
    compile_condition,
    compile_operator,
)
from hlotool.table.expression.tree import Aggregate, Expression, Name, Relation, find_reads
from hlotool.table.field import Field
from hlotool.table.rows import Sum
from hlotool.text import Source


def parse_condition(text: str, vocabulary: Vocabulary, name: str) -> Expression:
    """Read what is true or false; `name` says where the text stands.

    Raises QueryError where it does not parse, is no condition, or names what does not exist.
    """
    tree = _parse(text, name)
    expect_condition(tree, Source(text, name), vocabulary)
    return tree


def parse_number(text: str, vocabulary: Vocabulary, name: str) -> Expression:
    """Read what yields a number; raises QueryError as `parse_condition` does."""
    tree = _parse(text, name)
    expect_number(tree, Source(text, name), vocabulary)
    return tree


def _parse(text: str, name: str) -> Expression:
    from hlotool.table.expression.grammar import parse_expression  # noqa: PLC0415  pyparsing is slow to import

    return parse_expression(text, name)


def compile_where(text: str, fields: Sequence[Field], name: str = "--where") -> Test[object]:
    """Return the function that says whether an expression holds for a row.

    Raises QueryError where the text is no expression or does not fit the fields.
    """
    return compile_condition(parse_condition(text, Vocabulary.of_row(fields), name), fields)


def find_fields(text: str, fields: Sequence[Field], name: str = "--where") -> tuple[Field, ...]:
    """Return the fields that an expression reads, in the order of the row."""
    reads = find_reads(parse_condition(text, Vocabulary.of_row(fields), name))
    names = {one.path for one in reads if isinstance(one, Name)}
    return tuple(field for field in fields if field.name in names)


def expect_row_words(
    text: str,
    fields: Sequence[Field],
    rows: Sequence[object],
    find_held: FindHeld,
    name: str = "--where",
) -> None:
    """Raise QueryError where an expression that fits names a word that no row can ever hold."""
    tree = parse_condition(text, Vocabulary.of_row(fields), name)
    for found in find_strangers(tree, fields, rows, find_held):
        raise refuse_stranger(found, Source(text, name))


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
