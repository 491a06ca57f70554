"""`--where` and its like: from a text to a test of rows, and whether its words exist.

A dump may be newer than hlotool: its opcodes are words, whether hlotool knows them or not. So a
word that nobody knows is a mistake only where the dump does not hold it either, which is asked
with the rows at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from hlotool.errors import QueryError
from hlotool.table.expression.check import Vocabulary, parse_condition
from hlotool.table.expression.compile import Test, compile_condition
from hlotool.table.expression.nodes import Expression, Name, find_reads
from hlotool.table.field import Field
from hlotool.table.names import suggest
from hlotool.text import Source

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
