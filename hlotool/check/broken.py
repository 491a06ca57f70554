"""Which parts of a condition do not hold, and what do they come to?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.check.limits import Number
from hlotool.check.rule import VOCABULARY, Rule, face_limit
from hlotool.fields import Unit
from hlotool.program.figures import ROW_LISTS
from hlotool.program.program import Program
from hlotool.query.expression import And, Expression, Literal, Name, Not, Or, Relation, find_reads
from hlotool.query.measure import Measured, measure
from hlotool.query.unit import find_unit

_OPPOSITES: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_BASE_UNITS: Final = {Unit.BYTES: "B", Unit.SECONDS: "s"}
_FROM_LARGE: Final = 1000
# How a figure is written, until it stands to its limit as it does in fact.
_SMALL: Final = (".3g", ".6g", ".17g")
_LARGE: Final = (",.0f", ",.3f", ",.9f")


def find_bounds(tree: Expression, program: Program, found: Measured) -> tuple[bool, bool]:
    """Say whether what was measured is a lower and an upper bound."""
    names = (one.path for one in find_reads(tree) if isinstance(one, Name))
    metrics = [program.bounds(path) for path in names if path not in ROW_LISTS]
    return (
        found.is_lower_bound or any(is_lower for is_lower, _ in metrics),
        found.is_upper_bound or any(is_upper for _, is_upper in metrics),
    )


def explain_broken(rule: Rule, program: Program) -> str:
    """Name the parts of `and`, `or` and `not` that make them false; '' for a single comparison.

    Of an `or` that does not hold these are all parts, each as often as it is written.
    """
    if not isinstance(rule.tree, And | Or | Not):
        return ""
    return "; ".join(_list_broken(rule, rule.tree, program, is_wanted=True))


def _list_broken(
    rule: Rule, tree: Expression, program: Program, *, is_wanted: bool
) -> Iterator[str]:
    """Describe what keeps a condition from being true, or from being false inside `not`."""
    found = measure(tree, VOCABULARY, program)
    if (found.value is True) is is_wanted:
        return
    match tree:
        case Not():
            yield from _list_broken(rule, tree.operand, program, is_wanted=not is_wanted)
        case And() | Or():
            for operand in tree.operands:
                yield from _list_broken(rule, operand, program, is_wanted=is_wanted)
        case Relation():
            yield _describe(rule, tree, program, is_wanted=is_wanted)
        case _:
            yield f"{_cut(rule, tree)} {'does not hold' if is_wanted else 'holds'}"


def _describe(rule: Rule, tree: Relation, program: Program, *, is_wanted: bool) -> str:
    """Write a comparison with what it compares: `buffers.peak_bytes is 2.1 GiB, not <= 1GiB`."""
    faced = face_limit(tree)
    found = measure(faced, VOCABULARY, program)
    if found.left is None or found.right is None:
        return f"{_cut(rule, tree)} {'does not hold' if is_wanted else 'holds'}"
    suffix = faced.right.suffix if isinstance(faced.right, Literal) else ""
    suffix = suffix or _BASE_UNITS.get(find_unit(faced, VOCABULARY), "")
    is_lower, is_upper = find_bounds(faced, program, found)
    mark = "at least " * is_lower + "at most " * is_upper
    operator = faced.operator if is_wanted else _OPPOSITES[faced.operator]
    limit = _cut(rule, faced.right)
    if any(find_reads(faced.right)):
        limit += f", {_write(found.right, found.left, suffix)}"
    figure = _write(found.left, found.right, suffix)
    return f"{_cut(rule, faced.left)} is {mark}{figure}, not {operator} {limit}"


def _write(value: Number, other: Number, suffix: str) -> str:
    """Write a figure in a unit of expressions, with the digits that its limit asks for."""
    scale = Literal(1, suffix).number
    known, beside = value / scale, other / scale
    forms = _LARGE if abs(known) >= _FROM_LARGE else _SMALL
    texts = [format(known, ",.0f" if known.is_integer() else form) for form in forms]
    read = [float(text.replace(",", "")) for text in texts]
    kept = (
        text
        for text, shown in zip(texts, read, strict=True)
        if (shown > beside, shown < beside) == (known > beside, known < beside)
    )
    text = next(kept, texts[-1])
    return f"{text} {suffix}".rstrip()


def _cut(rule: Rule, tree: Expression) -> str:
    """Return how a part was written, on one line, with the brackets that its ends stand in."""
    text, start, end = rule.source.text, tree.start, tree.end
    while (part := text[start:end]).count("(") < part.count(")") and start > 0:
        start = max(text.rfind("(", 0, start), 0)
    while (part := text[start:end]).count(")") < part.count("(") and end < len(text):
        end = text.find(")", end) + 1 or len(text)
    return " ".join(part.split())
