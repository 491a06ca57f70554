"""From a validated expression to a function: parsed once, called for every row.

Truth has two values. A comparison with something unknown is false, whatever the operator,
and `not` makes it true: De Morgan's laws hold, and a row is kept by exactly one of a filter
and its negation. `x == null` and `x != null` ask whether x is unknown. Calculating with
something unknown gives something unknown, and so does dividing by zero, or a result
that is no size for a figure.

One figure made of many rows: how many there are, their sum, the largest or the smallest.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

from hlotool.pattern import parse_pattern
from hlotool.table.expression.tree import (
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
from hlotool.table.group import sum_field
from hlotool.table.quantity import LARGEST_FIGURE
from hlotool.table.rows import RowList, Sum

Row = TypeVar("Row")
Reader: TypeAlias = Callable[[Row], Any]  # a value; None where unknown
Test: TypeAlias = Callable[[Row], bool]
Number: TypeAlias = int | float

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


def compile_condition(tree: Expression, fields: Iterable[Field]) -> Test[object]:
    """Return the function that says whether a condition over these fields holds for a row."""
    return row_compiler(fields).condition(tree)


def row_compiler(fields: Iterable[Field]) -> Compiler[object]:
    """Return the compiler whose functions take a record with these fields."""
    readers = {each.name: read_field(each) for each in fields}
    return Compiler(readers.__getitem__)


class Compiler(Generic[Row]):
    """Makes functions of expressions that `validate` has passed.

    `read_name` and `read_aggregate` say what names and aggregates mean; a row is whatever
    they take.
    """

    def __init__(
        self,
        read_name: Callable[[str], Reader[Row]],
        read_aggregate: Callable[[Aggregate], Reader[Row]] | None = None,
    ) -> None:
        self.read_name = read_name
        self.read_aggregate = read_aggregate

    def condition(self, tree: Expression) -> Test[Row]:
        """Return the function that says whether a condition holds."""
        match tree:
            case And():
                return _all([self.condition(each) for each in tree.operands])
            case Or():
                return _any([self.condition(each) for each in tree.operands])
            case Not():
                test = self.condition(tree.operand)
                return lambda row: not test(row)
            case Relation():
                return self.relation(tree)
            case Match():
                return self.match(tree)
            case Membership():
                return self.membership(tree)
            case _:
                read = self.value(tree)
                return lambda row: read(row) is True

    def value(self, tree: Expression) -> Reader[Row]:
        """Return the function that yields an expression's value, None where unknown."""
        match tree:
            case Literal():
                constant = tree.value
                return lambda _: constant
            case Name():
                return self.read_name(tree.path)
            case Negative():
                read = self.value(tree.operand)
                return lambda row: None if (value := read(row)) is None else -value
            case Arithmetic():
                return self.arithmetic(tree)
            case Aggregate():
                if self.read_aggregate is None:
                    raise TypeError(tree.function)  # validate refuses it first
                return self.read_aggregate(tree)
            case _:
                return self.condition(tree)

    def arithmetic(self, tree: Arithmetic) -> Reader[Row]:
        """Calculate from left to right."""
        first, *others = [self.value(each) for each in tree.operands]
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

    def relation(self, tree: Relation) -> Test[Row]:
        """Compare two values, or ask whether one is unknown."""
        left, right, holds = self.value(tree.left), self.value(tree.right), compile_operator(tree)
        return lambda row: holds(left(row), right(row))

    def match(self, tree: Match) -> Test[Row]:
        """Search for a regular expression; in a list, in any of its items."""
        if not isinstance(tree.right, Literal):
            raise TypeError(tree.right)  # validate refuses it first
        is_found = parse_pattern(str(tree.right.written)).is_found
        read = self.value(tree.left)
        is_wanted = not tree.is_negated

        def test(row: Row) -> bool:
            value = read(row)
            if value is None:
                return False
            if isinstance(value, tuple | list):
                return any(is_found(str(item)) for item in value) is is_wanted
            return is_found(value) is is_wanted

        return test

    def membership(self, tree: Membership) -> Test[Row]:
        """Look for a value in a listing, or for a literal in a list field."""
        read = self.value(tree.left)
        is_wanted = not tree.is_negated
        if isinstance(tree.right, Listing):
            items = frozenset(item.value for item in tree.right.items)
            if None in items:
                return lambda row: (read(row) in items) is is_wanted
            return lambda row: (value := read(row)) is not None and (value in items) is is_wanted
        read_list = self.value(tree.right)

        def test(row: Row) -> bool:
            value, items = read(row), read_list(row)
            return value is not None and items is not None and (value in items) is is_wanted

        return test


def compile_operator(tree: Relation) -> Callable[[Any, Any], bool]:
    """Return the function that compares the values of both sides.

    It is false where one is unknown, but beside the literal null, which asks just that.
    """
    if any(isinstance(side, Literal) and side.written is None for side in (tree.left, tree.right)):
        is_asked = tree.operator == "=="
        return lambda left, right: (left is None and right is None) is is_asked
    compare = _COMPARE[tree.operator]
    return lambda left, right: left is not None and right is not None and compare(left, right)


def read_field(field: Field) -> Reader[object]:
    """Return the function that reads a field of a record, as expressions see it."""
    read = field.getter()
    return (lambda row: as_number(read(row))) if field.unit is Unit.MEASURE else read


def as_number(value: object) -> Number | None:
    """Return a value if it is a number, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


def _all(tests: list[Test[Row]]) -> Test[Row]:
    """Return the function that asks all tests in turn."""
    first, *others = tests
    if len(others) == 1:
        second = others[0]
        return lambda row: first(row) and second(row)
    return lambda row: all(test(row) for test in tests)


def _any(tests: list[Test[Row]]) -> Test[Row]:
    """Return the function that asks tests until one holds."""
    first, *others = tests
    if len(others) == 1:
        second = others[0]
        return lambda row: first(row) or second(row)
    return lambda row: any(test(row) for test in tests)


Rows: TypeAlias = Sequence[object]


def compile_aggregate(tree: Aggregate, row_list: RowList) -> Callable[[Rows], tuple[Sum, int]]:
    """Return the function that makes the figure, and says how many rows it was made of."""
    make = _compile_function(tree, row_list)
    if tree.where is None:
        return lambda rows: (make(rows), len(rows))
    keeps = compile_condition(tree.where, row_list.fields)

    def aggregate(rows: Rows) -> tuple[Sum, int]:
        kept = [row for row in rows if keeps(row)]
        return make(kept), len(kept)

    return aggregate


def _compile_function(tree: Aggregate, row_list: RowList) -> Callable[[Rows], Sum]:
    """Return the function of the rows that are counted in.

    A sum of one field is that of a table's TOTAL; one of a calculation knows the values alone.
    """
    value, function = tree.value, tree.function
    if value is None:
        return lambda rows: Sum(len(rows))
    if function == "sum" and isinstance(value, Name):
        field = row_list.field(value.path)
        return lambda rows: sum_field(row_list, rows, field)
    read = row_compiler(row_list.fields).value(value)
    return lambda rows: _reduce(function, [read(row) for row in rows])


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
