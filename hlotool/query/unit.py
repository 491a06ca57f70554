"""In which unit the value of an expression is measured."""

from __future__ import annotations

from hlotool.fields import Unit
from hlotool.fields.quantity import TIMES
from hlotool.query.expression import (
    PERCENT,
    Aggregate,
    Arithmetic,
    Expression,
    Literal,
    Name,
    Negative,
    Relation,
)
from hlotool.query.vocabulary import Vocabulary


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
