"""From a checked expression to a function: compiled once, called for every row.

Truth has two values. A comparison with something unknown is false, whatever the operator,
and `not` makes it true: De Morgan's laws hold, and a row is kept by exactly one of a filter
and its negation. `x == null` and `x != null` ask whether x is unknown. Calculating with
something unknown gives something unknown, and so does dividing by zero, or a result
that is no size for a figure.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from hlotool.errors import QueryError
from hlotool.table.document import Sum
from hlotool.table.expression import nodes
from hlotool.table.expression.check import Vocabulary, parse_condition
from hlotool.table.expression.nodes import Expression, Literal, Name, Read, find_reads
from hlotool.table.field import Field, Unit
from hlotool.table.sums import sum_fields
from hlotool.table.units import LARGEST_FIGURE
from hlotool.table.words import suggest
from hlotool.text import Source, parse_pattern

Row = TypeVar("Row")
Number: TypeAlias = int | float
Reader: TypeAlias = Callable[[Row], Any]  # a value; None where unknown
Test: TypeAlias = Callable[[Row], bool]
FindReader: TypeAlias = Callable[[Read], Reader[Row]]  # what a name or an aggregate means

_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CALCULATE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def as_number(value: object) -> Number | None:
    """Return a value if it is a number, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


# -- over a row


def compile_condition(tree: Expression) -> Test[object]:
    """Return the function that says whether a condition holds for a record."""
    return _compile_condition(tree, read_row)


def read_row(read: Read) -> Reader[object]:
    """Return the function that reads a field of a record, as expressions see it."""
    if not isinstance(read, Name) or read.field is None:
        raise TypeError(read)  # `check` refuses it first
    get = read.field.getter()
    return (lambda row: as_number(get(row))) if read.field.unit is Unit.MEASURE else get


# -- over anything that says what names and aggregates mean


def compile_value(tree: Expression, find_reader: FindReader[Row]) -> Reader[Row]:
    """Return the function that yields an expression's value, None where unknown."""
    match tree:
        case Literal():
            constant = tree.value
            return lambda _: constant
        case Name() | nodes.Aggregate():
            return find_reader(tree)
        case nodes.Negative():
            read = compile_value(tree.operand, find_reader)
            return lambda row: None if (value := read(row)) is None else -value
        case nodes.Arithmetic():
            return _compile_arithmetic(tree, find_reader)
        case _:
            return _compile_condition(tree, find_reader)


def _compile_condition(tree: Expression, find_reader: FindReader[Row]) -> Test[Row]:
    """Return the function that says whether a condition holds."""
    match tree:
        case nodes.And():
            tests = [_compile_condition(each, find_reader) for each in tree.operands]
            return lambda row: all(test(row) for test in tests)
        case nodes.Or():
            tests = [_compile_condition(each, find_reader) for each in tree.operands]
            return lambda row: any(test(row) for test in tests)
        case nodes.Not():
            test = _compile_condition(tree.operand, find_reader)
            return lambda row: not test(row)
        case nodes.Relation():
            left, right = (compile_value(one, find_reader) for one in (tree.left, tree.right))
            holds = _compile_operator(tree)
            return lambda row: holds(left(row), right(row))
        case nodes.Match():
            return _compile_match(tree, find_reader)
        case nodes.Membership():
            return _compile_membership(tree, find_reader)
        case _:
            read = compile_value(tree, find_reader)
            return lambda row: read(row) is True


def _compile_arithmetic(tree: nodes.Arithmetic, find_reader: FindReader[Row]) -> Reader[Row]:
    """Calculate from left to right."""
    first, *others = [compile_value(each, find_reader) for each in tree.operands]
    steps = list(zip([_CALCULATE[each] for each in tree.operators], others, strict=True))

    def calculate(row: Row) -> Any:
        result = first(row)
        for step, read in steps:
            value = read(row)
            if result is None or value is None:
                return None
            try:
                result = step(result, value)
            except ArithmeticError:  # divided by zero, or too large for a float
                return None
            if not -LARGEST_FIGURE <= result <= LARGEST_FIGURE:
                return None
        return result

    return calculate


def _compile_operator(tree: nodes.Relation) -> Callable[[Any, Any], bool]:
    """Return the function that compares the values of both sides.

    It is false where one is unknown, but beside the literal null, which asks just that.
    """
    if any(isinstance(side, Literal) and side.written is None for side in (tree.left, tree.right)):
        is_asked = tree.operator == "=="
        return lambda left, right: (left is None and right is None) is is_asked
    compare = _COMPARE[tree.operator]
    return lambda left, right: left is not None and right is not None and compare(left, right)


def _compile_match(tree: nodes.Match, find_reader: FindReader[Row]) -> Test[Row]:
    """Search for a regular expression; in a list, in any of its items."""
    if not isinstance(tree.right, Literal):
        raise TypeError(tree.right)  # `check` refuses it first
    is_found = parse_pattern(str(tree.right.written)).is_found
    read = compile_value(tree.left, find_reader)
    is_wanted = not tree.is_negated

    def test(row: Row) -> bool:
        if (value := read(row)) is None:
            return False
        items = value if isinstance(value, tuple | list) else (value,)
        return any(is_found(str(item)) for item in items) is is_wanted

    return test


def _compile_membership(tree: nodes.Membership, find_reader: FindReader[Row]) -> Test[Row]:
    """Look for a value in a listing, or for a literal in a list field."""
    read = compile_value(tree.left, find_reader)
    is_wanted = not tree.is_negated
    if isinstance(tree.right, nodes.Listing):
        listed = frozenset(item.value for item in tree.right.items)
        if None in listed:
            return lambda row: (read(row) in listed) is is_wanted
        return lambda row: (value := read(row)) is not None and (value in listed) is is_wanted
    read_list = compile_value(tree.right, find_reader)

    def test(row: Row) -> bool:
        value, items = read(row), read_list(row)
        return value is not None and items is not None and (value in items) is is_wanted

    return test


# -- over the figures of a program


class Scope(Protocol):
    """Where an expression finds its figures; nothing is worked out that it does not name."""

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where unknown."""

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of `collectives`, `summary.loops`, …"""


class Measured(Struct, frozen=True):
    """What an expression comes to: a number, true or false, or None where unknown.

    It is a lower bound where a row's figure is unknown or known to be incomplete, an upper
    bound where a part might not happen. `matched_count` is how many rows passed the conditions
    of its aggregates, None where it has none. `left` and `right` are the numbers on the sides
    of a comparison.
    """

    value: Number | bool | None
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    matched_count: int | None = None
    left: Number | None = None
    right: Number | None = None


def measure(tree: Expression, scope: Scope) -> Measured:
    """Evaluate a checked expression, each part at most once.

    Of `and` and `or` only as much is looked at as decides, and only that makes it a bound.
    Raises what the scope raises.
    """
    found: list[Sum] = []
    counts: list[int] = []

    def find_reader(read: Read) -> Reader[None]:
        if isinstance(read, Name):
            return lambda _: scope.metric(read.path)

        def aggregate(_: None) -> Number | None:
            figure, count = _aggregate(read, scope.rows(read.rows))
            found.append(figure)
            counts.append(count)
            return figure.value

        return aggregate

    left = right = None
    if isinstance(tree, nodes.Relation):
        left, right = (compile_value(one, find_reader)(None) for one in (tree.left, tree.right))
        value = _compile_operator(tree)(left, right)
    else:
        value = compile_value(tree, find_reader)(None)
    return Measured(
        value,
        any(figure.is_lower_bound for figure in found),
        any(figure.is_upper_bound for figure in found),
        sum(counts) if counts else None,
        as_number(left),
        as_number(right),
    )


def _aggregate(tree: nodes.Aggregate, rows: Sequence[object]) -> tuple[Sum, int]:
    """Return the figure that rows come to, and how many of them it was made of."""
    if tree.where is not None:
        keeps = compile_condition(tree.where)
        rows = [row for row in rows if keeps(row)]
    if tree.value is None:
        return Sum(len(rows)), len(rows)
    if tree.row_list is not None and tree.function == "sum" and isinstance(tree.value, Name):
        field = tree.row_list.field(tree.value.path)  # added up as by the TOTAL of a table
        return sum_fields(tree.row_list, rows, (field,))[0], len(rows)
    read = compile_value(tree.value, read_row)
    return _reduce(tree.function, [read(row) for row in rows]), len(rows)


def _reduce(function: str, values: Sequence[Number | None]) -> Sum:
    """Sum, or take an extreme; an unknown value can raise a sum or a maximum, lower a minimum."""
    known = [value for value in values if value is not None]
    has_unknown = len(known) < len(values)
    is_min = function == "min"
    bounds = (has_unknown and not is_min, has_unknown and is_min)
    if function == "sum":
        return Sum(None if has_unknown and not known else sum(known), *bounds)
    choose = min if is_min else max
    return Sum(choose(known) if known else None, *bounds)


# -- `--where` and its like: from a text to a test of rows, and whether its words exist
#
# A dump may be newer than hlotool: its opcodes are words, whether hlotool knows them or not. So a
# word that nobody knows is a mistake only where the dump does not hold it either, which is asked
# with the rows at hand.

# The opcodes that a program holds; asked for only where a word is not known.
FindHeld: TypeAlias = Callable[[], Collection[str]]


class UnknownValue(Struct, frozen=True):
    """A word that a field of some rows can never be, and where it stands in the expression.

    `known` are the words that it can be.
    """

    name: str
    word: str
    start: int
    end: int
    known: tuple[str, ...]


def compile_where(text: str, fields: Sequence[Field], name: str = "--where") -> Test[object]:
    """Return the function that says whether an expression holds for a row.

    Raises QueryError where the text is no expression or does not fit the fields.
    """
    return compile_condition(parse_condition(text, Vocabulary.of_row(fields), name))


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
    for found in find_unknown_values(tree, rows, find_held):
        raise refuse_value(found, Source(text, name))


def find_unknown_values(
    tree: Expression, rows: Sequence[object], find_held: FindHeld
) -> Iterator[UnknownValue]:
    """Yield the words of a checked expression that are neither known nor in the rows, nor held.

    Several words joined with commas are known where each is.
    """
    for field, literal in tree.type.compared:
        word = str(literal.written)
        if field.words.issuperset(word.split(",")):
            continue
        present = {value for row in rows if isinstance(value := field.getter()(row), str)}
        if word not in present and word not in find_held():
            known = (*sorted(present), *sorted(field.words - present))
            yield UnknownValue(field.name, word, literal.start, literal.end, known)


def refuse_value(found: UnknownValue, source: Source) -> QueryError:
    """Make the error that names the nearest words."""
    message = f'{found.name} is never "{found.word}"'
    return QueryError(message, source, found.start, found.end, suggest(found.word, found.known))
