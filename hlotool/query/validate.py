"""Whether an expression makes sense for the fields it names, before any row is read."""

from __future__ import annotations

from enum import Enum
from typing import Final

from hlotool.errors import QueryError
from hlotool.fields import Field, Unit
from hlotool.pattern import PatternError, parse_pattern
from hlotool.query.expression import (
    Aggregate,
    And,
    Arithmetic,
    Expression,
    Listing,
    Literal,
    Match,
    Membership,
    Name,
    Negative,
    Not,
    Or,
    Relation,
)
from hlotool.query.misfit import find_misfit
from hlotool.query.names import suggest, suggest_field
from hlotool.query.vocabulary import Vocabulary
from hlotool.source import Source


class ValueKind(Enum):
    """What an expression yields, in the words of messages."""

    NUMBER = "a number"
    TEXT = "text"
    FLAG = "true or false"
    LIST = "a list"
    NULL = "null"


_ORDERED: Final = frozenset({"<", "<=", ">", ">="})
_KINDS: Final = {Unit.TEXT: ValueKind.TEXT, Unit.FLAG: ValueKind.FLAG, Unit.LIST: ValueKind.LIST}


def expect_condition(tree: Expression, source: Source, vocabulary: Vocabulary) -> None:
    """Raise QueryError unless the expression is true or false for every row."""
    _Validator(source, vocabulary).expect_condition(tree)


def expect_number(tree: Expression, source: Source, vocabulary: Vocabulary) -> None:
    """Raise QueryError unless the expression yields a number."""
    if _Validator(source, vocabulary).kind_of(tree) is not ValueKind.NUMBER:
        raise QueryError("expected a number", source, tree.start, tree.end)


class _Validator:
    """Walks one expression; a method a rule."""

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        self.source = source
        self.vocabulary = vocabulary

    def fail(self, message: str, tree: Expression, hint: str = "") -> QueryError:
        """Make the error that points at a part of the expression."""
        return QueryError(message, self.source, tree.start, tree.end, hint)

    def expect_condition(self, tree: Expression) -> None:
        """Expect an expression whose truth is asked for."""
        kind = self.kind_of(tree)
        if kind is not ValueKind.FLAG:
            hint = f"compare it, as in {self.text(tree)} > 0" if kind is ValueKind.NUMBER else ""
            raise self.fail(f"expected a condition, found {kind.value}", tree, hint)

    def expect_number(self, tree: Expression, where: str) -> None:
        """Expect an expression that is calculated with."""
        kind = self.kind_of(tree)
        if kind is not ValueKind.NUMBER:
            raise self.fail(f"{where} needs numbers, found {kind.value}", tree)

    def kind_of(self, tree: Expression) -> ValueKind:
        """Return what a checked expression yields."""
        match tree:
            case Literal():
                return _literal_kind(tree)
            case Name():
                return _KINDS.get(self.field(tree).unit, ValueKind.NUMBER)
            case Negative():
                self.expect_number(tree.operand, "'-'")
                return ValueKind.NUMBER
            case Arithmetic():
                self.expect_arithmetic(tree)
                return ValueKind.NUMBER
            case Aggregate():
                self.expect_aggregate(tree)
                return ValueKind.NUMBER
            case Listing():
                raise self.fail("a list stands only after 'in'", tree)
            case _:
                self.expect_truth(tree)
                return ValueKind.FLAG

    def expect_truth(self, tree: Expression) -> None:
        """Expect an expression that is true or false by its form."""
        match tree:
            case Relation():
                self.expect_relation(tree)
            case Match():
                self.expect_match(tree)
            case Membership():
                self.expect_membership(tree)
            case Not():
                self.expect_condition(tree.operand)
            case And() | Or():
                for operand in tree.operands:
                    self.expect_condition(operand)

    def field(self, name: Name) -> Field:
        """Return the field that a name means."""
        found = self.vocabulary.fields.get(name.path)
        if found is None:
            what = "metric" if self.vocabulary.row_lists else "field"
            hint = suggest_field(name.path, self.vocabulary.fields.values())
            raise self.fail(f"there is no {what} {name.path!r}", name, hint)
        return found

    def text(self, tree: Expression) -> str:
        """Return how a part of the expression was written."""
        return self.source.text[tree.start : tree.end]

    def expect_arithmetic(self, tree: Arithmetic) -> None:
        """Expect a sum or a product."""
        for place, operand in enumerate(tree.operands):
            self.expect_number(operand, f"{tree.operators[max(0, place - 1)]!r}")
        self.refuse_other_unit(tree, tree, "what it is added to")

    def expect_relation(self, tree: Relation) -> None:
        """Expect `==` and its kin: both sides of one kind, order for numbers only."""
        left = self.kind_of(tree.left)
        self.refuse_bare_words(left, tree.right)
        right = self.kind_of(tree.right)
        if tree.operator in _ORDERED:
            for kind, side in ((left, tree.left), (right, tree.right)):
                if kind is not ValueKind.NUMBER:
                    message = f"{tree.operator!r} compares numbers, found {kind.value}"
                    raise self.fail(message, side)
        elif ValueKind.LIST in {left, right} and ValueKind.NULL not in {left, right}:
            side = tree.left if left is ValueKind.LIST else tree.right
            hint = f'ask for one of its items: "…" in {self.text(side)}'
            raise self.fail(f"{tree.operator!r} cannot compare lists", side, hint)
        elif left is not right and ValueKind.NULL not in {left, right}:
            message = f"this is {right.value}, but {self.text(tree.left)} is {left.value}"
            raise self.fail(message, tree.right)
        self.refuse_misfit(tree.left, tree.right)
        self.refuse_misfit(tree.right, tree.left)

    def expect_match(self, tree: Match) -> None:
        """Expect `~`: text or a list of texts against a literal that is a regular expression."""
        kind = self.kind_of(tree.left)
        if kind not in {ValueKind.TEXT, ValueKind.LIST}:
            raise self.fail(f"'~' searches in text, found {kind.value}", tree.left)
        self.refuse_bare_words(ValueKind.TEXT, tree.right)
        literal = tree.right
        if not isinstance(literal, Literal) or not isinstance(literal.written, str):
            raise self.fail("'~' needs a regular expression in quotes", literal)
        try:
            parse_pattern(literal.written)
        except PatternError as error:
            message = f"this is not a regular expression: {error}"
            raise QueryError(message, self.source, literal.start + 1, literal.end - 1) from None

    def expect_membership(self, tree: Membership) -> None:
        """Expect `in`: a value in a listing of its kind, or a literal in a list field."""
        kind = self.kind_of(tree.left)
        if isinstance(tree.right, Listing):
            if kind is ValueKind.LIST:
                hint = f'ask for one item at a time: "…" in {self.text(tree.left)}'
                raise self.fail("a list cannot be in a list", tree.left, hint)
            for item in tree.right.items:
                found = _literal_kind(item)
                if found not in {kind, ValueKind.NULL}:
                    message = f"this is {found.value}, but {self.text(tree.left)} is {kind.value}"
                    raise self.fail(message, item)
                self.refuse_misfit(tree.left, item)
        elif self.kind_of(tree.right) is not ValueKind.LIST:
            raise self.fail("'in' needs a list, as in [a, b], or a field that is one", tree.right)
        elif isinstance(tree.right, Name):
            wanted = (
                ValueKind.TEXT if self.field(tree.right).items is Unit.TEXT else ValueKind.NUMBER
            )
            if kind is not wanted:
                items = "text" if wanted is ValueKind.TEXT else "numbers"
                message = f"{tree.right.path} lists {items}, but this is {kind.value}"
                raise self.fail(message, tree.left)
            self.refuse_misfit(tree.right, tree.left)

    def expect_aggregate(self, tree: Aggregate) -> None:
        """Expect an aggregate: its rows, and its arguments against their fields."""
        row_lists = self.vocabulary.row_lists
        if not row_lists:
            hint = "it belongs in budgets; here every row is tested on its own"
            raise self.fail(f"{tree.function}() does not work on rows", tree, hint)
        if tree.rows not in row_lists:
            known = [name for name in row_lists if name]
            message = (
                f"there is no row list {tree.rows!r}"
                if tree.rows
                else f"{tree.function}() needs a row list"
            )
            raise self.fail(message, tree, suggest(tree.rows, known))
        inner = _Validator(self.source, Vocabulary.of_row(row_lists[tree.rows].fields))
        if tree.value is not None:
            inner.expect_number(tree.value, tree.function)
        if tree.where is not None:
            inner.expect_condition(tree.where)

    def refuse_bare_words(self, left: ValueKind, right: Expression) -> None:
        """Say that text needs quotes where somebody wrote `kind == all-gather`."""
        if left is not ValueKind.TEXT:
            return
        words = right.operands if isinstance(right, Arithmetic) else (right,)
        if all(isinstance(word, Name) for word in words) and any(
            isinstance(word, Name) and word.path not in self.vocabulary.fields for word in words
        ):
            text = self.text(right)
            raise self.fail(f"there is no field {text!r}", right, f'text needs quotes: "{text}"')

    def refuse_misfit(self, tree: Expression, other: Expression) -> None:
        """Refuse a literal that a field can never equal, or that a figure is not measured in."""
        declared = self.field(tree) if isinstance(tree, Name) else None
        if declared is not None and declared.values and isinstance(other, Literal):
            word = other.written
            if isinstance(word, str) and word not in declared.values:
                hint = suggest(word, declared.values)
                raise self.fail(f"{self.text(tree)} is never {self.text(other)}", other, hint)
        self.refuse_other_unit(tree, other, self.text(tree))

    def refuse_other_unit(self, tree: Expression, other: Expression, text: str) -> None:
        """Refuse a literal that a figure, called `text`, is not measured in."""
        found = find_misfit(tree, other, text, self.vocabulary)
        if found is not None:
            literal, message = found
            raise self.fail(message, literal)


def _literal_kind(literal: Literal) -> ValueKind:
    """Return what a literal is."""
    written = literal.written
    if written is None:
        return ValueKind.NULL
    if isinstance(written, bool):
        return ValueKind.FLAG
    return ValueKind.TEXT if isinstance(written, str) else ValueKind.NUMBER
