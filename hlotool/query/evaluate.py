"""From a checked expression to a function: parsed once, called for every row.

Truth has two values. A comparison with something unknown is false, whatever the operator,
and `not` makes it true: De Morgan's laws hold, and a row is kept by exactly one of a filter
and its negation. `x == null` and `x != null` ask whether x is unknown. Calculating with
something unknown gives something unknown, and so does dividing by zero.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from hlotool.fields import Field, Unit
from hlotool.query.expression import (
    Aggregate,
    And,
    Arithmetic,
    Comparison,
    Expression,
    Listing,
    Literal,
    Match,
    Membership,
    Name,
    Negative,
    Not,
    Or,
)
from hlotool.query.sense import compile_pattern

Row: TypeAlias = object
Reader: TypeAlias = Callable[[Row], Any]  # a field's value; None where unknown
Test: TypeAlias = Callable[[Row], bool]

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


class Compiler:
    """Makes functions of expressions that `check` has passed.

    `read_name` and `read_aggregate` say what names and aggregates mean; a row is whatever
    they take.
    """

    def __init__(
        self,
        read_name: Callable[[str], Reader],
        read_aggregate: Callable[[Aggregate], Reader] | None = None,
    ) -> None:
        self.read_name = read_name
        self.read_aggregate = read_aggregate

    def condition(self, tree: Expression) -> Test:
        """Return the function that says whether a condition holds."""
        match tree:
            case And():
                return _all([self.condition(each) for each in tree.operands])
            case Or():
                return _any([self.condition(each) for each in tree.operands])
            case Not():
                test = self.condition(tree.operand)
                return lambda row: not test(row)
            case Comparison():
                return self.comparison(tree)
            case Match():
                return self.match(tree)
            case Membership():
                return self.membership(tree)
            case _:
                read = self.value(tree)
                return lambda row: read(row) is True

    def value(self, tree: Expression) -> Reader:
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
                    raise TypeError(tree.function)  # check refuses it first
                return self.read_aggregate(tree)
            case _:
                return self.condition(tree)

    def arithmetic(self, tree: Arithmetic) -> Reader:
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
            return result

        return calculate

    def comparison(self, tree: Comparison) -> Test:
        """Compare two values, or ask whether one is unknown."""
        compare = _COMPARE[tree.operator]
        for side, other in ((tree.left, tree.right), (tree.right, tree.left)):
            if isinstance(side, Literal) and side.written is None:
                read = self.value(other)
                is_null = tree.operator == "=="
                return lambda row: (read(row) is None) is is_null
        left = self.value(tree.left)
        if isinstance(tree.right, Literal):
            constant = tree.right.value
            return lambda row: (value := left(row)) is not None and compare(value, constant)
        right = self.value(tree.right)

        def test(row: Row) -> bool:
            first, second = left(row), right(row)
            return first is not None and second is not None and compare(first, second)

        return test

    def match(self, tree: Match) -> Test:
        """Search for a regular expression; in a list, in any of its items."""
        if not isinstance(tree.right, Literal):
            raise TypeError(tree.right)  # check refuses it first
        search = compile_pattern(tree.right).search
        read = self.value(tree.left)
        is_wanted = not tree.is_negated

        def test(row: Row) -> bool:
            value = read(row)
            if value is None:
                return False
            if isinstance(value, tuple | list):
                return any(search(str(item)) for item in value) is is_wanted
            return (search(value) is not None) is is_wanted

        return test

    def membership(self, tree: Membership) -> Test:
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


def read_field(field: Field) -> Reader:
    """Return the function that reads a field of a record, as expressions see it."""
    read = field.getter()
    if field.unit is not Unit.MEASURE:
        return read

    def read_number(row: Row) -> Any:
        value = read(row)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number else None

    return read_number


def _all(tests: list[Test]) -> Test:
    """Return the function that asks all tests in turn."""
    first, *others = tests
    if len(others) == 1:
        second = others[0]
        return lambda row: first(row) and second(row)
    return lambda row: all(test(row) for test in tests)


def _any(tests: list[Test]) -> Test:
    """Return the function that asks tests until one holds."""
    first, *others = tests
    if len(others) == 1:
        second = others[0]
        return lambda row: first(row) or second(row)
    return lambda row: any(test(row) for test in tests)
