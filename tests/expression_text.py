"""From the tree of an expression back to text that parses to the same tree."""

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict, replace

from hlotool.table.expression.nodes import (
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
    Part,
    Relation,
)

_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _FACTOR, _VALUE = range(8)
_WORDS: Final = {True: "true", False: "false", None: "null"}


def drop_places(tree: Expression) -> Expression:
    """Return a tree that equals one that says the same elsewhere in a text."""
    parts = {
        name: tuple(map(drop_places, part)) if name in {"operands", "items"} else drop_places(part)
        for name, part in asdict(tree).items()
        if name in {"operands", "items"} or isinstance(part, Part)
    }
    return replace(tree, start=0, end=0, **parts)


def format_expression(tree: Expression) -> str:
    """Return the text of an expression, with brackets only where they are needed."""
    return _write(tree)[0]


def _write(tree: Expression) -> tuple[str, int]:
    """Return an expression's text and how tightly it binds."""
    match tree:
        case Negative():
            return f"-{_at_least(tree.operand, _FACTOR)}", _FACTOR
        case Arithmetic():
            return _arithmetic(tree)
        case Not():
            return f"not {_at_least(tree.operand, _NOT)}", _NOT
        case And():
            return " and ".join(_at_least(each, _NOT) for each in tree.operands), _AND
        case Or():
            return " or ".join(_at_least(each, _AND) for each in tree.operands), _OR
        case Relation() | Match() | Membership():
            left, right = _at_least(tree.left, _SUM), _at_least(tree.right, _SUM)
            return f"{left} {_operator(tree)} {right}", _COMPARISON
        case _:
            return _value(tree), _VALUE


def _value(tree: Literal | Name | Listing | Aggregate) -> str:
    """Write what never needs brackets."""
    match tree:
        case Literal():
            return _literal(tree)
        case Name():
            return tree.path
        case Listing():
            return f"[{', '.join(_literal(item) for item in tree.items)}]"
        case Aggregate():
            return _aggregate(tree)


def _at_least(tree: Expression, binding: int) -> str:
    """Return an operand's text, in brackets if it binds more loosely than it must."""
    text, own = _write(tree)
    return text if own >= binding else f"({text})"


def _arithmetic(tree: Arithmetic) -> tuple[str, int]:
    """Write a sum or a product."""
    binding = _SUM if tree.operators[0] in "+-" else _PRODUCT
    parts = [_at_least(tree.operands[0], binding + 1)]
    for operator, operand in zip(tree.operators, tree.operands[1:], strict=True):
        parts += [operator, _at_least(operand, binding + 1)]
    return " ".join(parts), binding


def _operator(tree: Relation | Match | Membership) -> str:
    """Write what stands between the two sides."""
    if isinstance(tree, Relation):
        return tree.operator
    if isinstance(tree, Match):
        return "!~" if tree.is_negated else "~"
    return "not in" if tree.is_negated else "in"


def _aggregate(tree: Aggregate) -> str:
    """Write an aggregate with its arguments."""
    name = f"{tree.rows}.{tree.function}" if tree.rows else tree.function
    arguments = [_write(each)[0] for each in (tree.value, tree.where) if each is not None]
    return f"{name}({', '.join(arguments)})"


def _literal(tree: Literal) -> str:
    """Write a literal as it was, text between double quotes."""
    written = tree.written
    if isinstance(written, str):
        escaped = written.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if written is None or isinstance(written, bool):
        return _WORDS[written]
    return f"{written!r}{tree.suffix}"
