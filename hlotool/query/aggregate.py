"""One figure made of many rows: how many there are, their sum, the largest or the smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hlotool.fields import RowList, Sum
from hlotool.query.compile import Number, compile_condition, row_compiler
from hlotool.query.expression import Aggregate, Name
from hlotool.query.sums import sum_field

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
