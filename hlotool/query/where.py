"""From the text of `--where` to a function of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlotool.fields import Field
from hlotool.query.evaluate import Compiler, read_field
from hlotool.query.grammar import parse_expression
from hlotool.query.sense import Names, check_condition
from hlotool.source import Source


def compile_where(
    text: str, fields: Sequence[Field], name: str = "--where"
) -> Callable[[object], bool]:
    """Return the function that says whether an expression holds for a row.

    Raises QueryError where the text is no expression or does not fit the fields.
    """
    tree = parse_expression(text, name)
    check_condition(tree, Source(text, name), Names.of_row(fields))
    readers = {field.name: read_field(field) for field in fields}
    return Compiler(readers.__getitem__).condition(tree)
