"""Can a field ever be the word that it is compared with? Asked with the rows at hand.

A dump may be newer than hlotool: its opcodes are words, whether hlotool knows them or not. So what
nobody knows is a mistake only where the dump does not hold it either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from hlotool.errors import QueryError
from hlotool.fields import Field
from hlotool.query.expression import (
    And,
    Expression,
    Listing,
    Literal,
    Membership,
    Name,
    Not,
    Or,
    Relation,
)
from hlotool.query.names import suggest
from hlotool.source import Source

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
