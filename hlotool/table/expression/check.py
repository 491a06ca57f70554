"""Can a field ever be the word that it is compared with? Asked with the rows at hand.

A dump may be newer than hlotool: its opcodes are words, whether hlotool knows them or not. So what
nobody knows is a mistake only where the dump does not hold it either.

What an expression may name: the fields of a row, or metrics and lists of rows.

In which unit the value of an expression is measured.

Can a figure be measured against a literal, by its unit: a size, a time or a percentage?

Whether an expression makes sense for the fields it names, before any row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct, field

from hlotool.errors import QueryError
from hlotool.pattern import PatternError, parse_pattern
from hlotool.table.expression.tree import (
    PERCENT,
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
from hlotool.table.field import Field, Unit
from hlotool.table.names import suggest, suggest_field
from hlotool.table.quantity import SIZES, TIMES
from hlotool.table.rows import RowList
from hlotool.text import Source

# The opcodes that a program holds; asked for only where a word is not known.
FindHeld: TypeAlias = Callable[[], Collection[str]]
_EQUALITY = frozenset(("==", "!="))


class Stranger(Struct, frozen=True):
    """A word that a field of some rows can never be, and where it stands in the expression.

    `known` are the words that it can be.
    """

    name: str
    word: str
    start: int
    end: int
    known: tuple[str, ...]


def find_strangers(
    tree: Expression,
    fields: Iterable[Field],
    rows: Sequence[object],
    find_held: FindHeld,
) -> Iterator[Stranger]:
    """Yield the words of a valid expression that are neither known nor in the rows, nor held.

    Several words joined with commas are known where each is.
    """
    named = {field.name: field for field in fields}
    for name, literal in _find_compared(tree, named):
        field, word = named[name.path], str(literal.written)
        if field.words.issuperset(word.split(",")):
            continue
        present = {value for row in rows if isinstance(value := field.getter()(row), str)}
        if word not in present and word not in find_held():
            known = (*sorted(present), *sorted(field.words - present))
            yield Stranger(field.name, word, literal.start, literal.end, known)


def refuse_stranger(found: Stranger, source: Source) -> QueryError:
    """Make the error that names the nearest words."""
    message = f'{found.name} is never "{found.word}"'
    return QueryError(message, source, found.start, found.end, suggest(found.word, found.known))


def _find_compared(tree: Expression, fields: Mapping[str, Field]) -> Iterator[tuple[Name, Literal]]:
    """Yield each name of a field that has words, with a text that it is compared with."""
    match tree:
        case Not():
            yield from _find_compared(tree.operand, fields)
        case And() | Or():
            for operand in tree.operands:
                yield from _find_compared(operand, fields)
        case Relation() if tree.operator in _EQUALITY:
            for one, other in ((tree.left, tree.right), (tree.right, tree.left)):
                yield from _pair(one, (other,), fields)
        case Membership(right=Listing(items=items)):
            yield from _pair(tree.left, items, fields)


def _pair(
    name: Expression, others: Sequence[Expression], fields: Mapping[str, Field]
) -> Iterator[tuple[Name, Literal]]:
    if not isinstance(name, Name) or not fields[name.path].words:
        return
    for other in others:
        if isinstance(other, Literal) and isinstance(other.written, str):
            yield name, other


class Vocabulary(Struct, frozen=True):
    """The names that mean something: of fields or metrics, and of rows to aggregate."""

    fields: Mapping[str, Field]
    row_lists: Mapping[str, RowList] = field(default_factory=dict)

    @classmethod
    def of_row(cls, fields: Iterable[Field]) -> Vocabulary:
        """Return what `--where` may name: the row's fields, no aggregates."""
        return cls({each.name: each for each in fields})


def find_unit(tree: Expression, vocabulary: Vocabulary) -> Unit:
    """Return the unit of an expression's value; of a comparison that of its sides."""
    match tree:
        case Relation():
            left = find_unit(tree.left, vocabulary)
            return find_unit(tree.right, vocabulary) if left is Unit.NUMBER else left
        case Name():
            field = vocabulary.fields.get(tree.path)
            return field.unit if field else Unit.NUMBER
        case Aggregate():
            if tree.value is None:
                return Unit.COUNT
            return find_unit(tree.value, Vocabulary.of_row(vocabulary.row_lists[tree.rows].fields))
        case Negative():
            return find_unit(tree.operand, vocabulary)
        case Arithmetic():
            return _combine([find_unit(one, vocabulary) for one in tree.operands], tree.operators)
        case Literal():
            if tree.suffix in TIMES:
                return Unit.SECONDS
            if tree.suffix:
                return Unit.PERCENT if tree.suffix == PERCENT else Unit.BYTES
    return Unit.NUMBER


def _combine(units: list[Unit], operators: tuple[str, ...]) -> Unit:
    """Return the unit of a sum or product; RATIO where units cancel or mix."""
    known = [unit for unit in units if unit not in {Unit.NUMBER, Unit.PERCENT}]
    if not known:
        return Unit.RATIO if "/" in operators else Unit.NUMBER
    if {"+", "-"} >= set(operators):
        return known[0] if len(set(known)) == 1 else Unit.RATIO
    return known[0] if len(known) == 1 and known[0] is units[0] else Unit.RATIO


_RATIOS: Final = frozenset({Unit.RATIO, Unit.PERCENT})
_SUM: Final = frozenset("+-")
# What a literal is by its suffix, and of which unit a figure then has to be.
_SIZE: Final = ("a size", Unit.BYTES)
_TIME: Final = ("a time", Unit.SECONDS)
_NAMES: Final = {unit: name for name, unit in (_SIZE, _TIME)}


def find_misfit(
    figure: Expression, other: Expression, text: str, vocabulary: Vocabulary
) -> tuple[Literal, str] | None:
    """Return a literal that a figure, called `text`, is never measured in, and why that is so."""
    unit = find_sure_unit(figure, vocabulary)
    for literal in list_literals(other):
        message = "" if unit is None else _explain(unit, literal.suffix, text)
        if message:
            return literal, message
    return None


def _explain(unit: Unit, suffix: str, text: str) -> str:
    """Say why a figure of a unit is never measured with a suffix, '' where it may be."""
    if not suffix or unit is Unit.MEASURE:
        return ""
    if suffix == PERCENT:
        return "" if unit in _RATIOS else f"this is a percentage, but {text} is not a ratio"
    name, wanted = _SIZE if suffix in SIZES else _TIME
    return "" if unit is wanted else f"this is {name}, but {text} is {_NAMES.get(unit, 'not')}"


def find_sure_unit(tree: Expression, vocabulary: Vocabulary) -> Unit | None:
    """Return the unit of a field or metric, of one added up, or of a sum of them, else None.

    What is divided by its like is a ratio. Any other product may have any unit, as nobody knows
    what a number in it stands for.
    """
    match tree:
        case Name():
            field = vocabulary.fields.get(tree.path)
            return field.unit if field else None
        case Aggregate(value=None):
            return Unit.COUNT
        case Aggregate(value=value) if value is not None:
            inner = Vocabulary.of_row(vocabulary.row_lists[tree.rows].fields)
            return find_sure_unit(value, inner)
        case Negative():
            return find_sure_unit(tree.operand, vocabulary)
        case Arithmetic() if _SUM.issuperset(tree.operators):
            units = (find_sure_unit(one, vocabulary) for one in tree.operands)
            return next((unit for unit in units if unit is not None), None)
        case Arithmetic(operators=("/",), operands=(one, other)):
            unit = find_sure_unit(one, vocabulary)
            is_like = unit is not None and unit is find_sure_unit(other, vocabulary)
            return Unit.RATIO if is_like else None
    return None


def list_literals(tree: Expression) -> Iterator[Literal]:
    """Yield the literals that an expression is a sum of, or is itself."""
    match tree:
        case Literal():
            yield tree
        case Negative():
            yield from list_literals(tree.operand)
        case Arithmetic() if _SUM.issuperset(tree.operators):
            for operand in tree.operands:
                yield from list_literals(operand)


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
