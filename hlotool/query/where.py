"""From the text of `--where` to a function of a row."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.fields import Field
from hlotool.query.compile import Test, compile_condition
from hlotool.query.expression import Name, find_reads
from hlotool.query.parse import parse_condition
from hlotool.query.vocabulary import Vocabulary
from hlotool.query.words import FindHeld, find_strangers, refuse_stranger
from hlotool.source import Source


def compile_where(text: str, fields: Sequence[Field], name: str = "--where") -> Test[object]:
    """Return the function that says whether an expression holds for a row.

    Raises QueryError where the text is no expression or does not fit the fields.
    """
    return compile_condition(parse_condition(text, Vocabulary.of_row(fields), name), fields)


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
    for found in find_strangers(tree, fields, rows, find_held):
        raise refuse_stranger(found, Source(text, name))
