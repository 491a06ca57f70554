"""Can a figure be measured against a literal, by its unit: a size, a time or a percentage?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.fields import Unit
from hlotool.fields.quantity import SIZES
from hlotool.query.expression import (
    PERCENT,
    Aggregate,
    Arithmetic,
    Expression,
    Literal,
    Name,
    Negative,
)
from hlotool.query.vocabulary import Vocabulary

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
