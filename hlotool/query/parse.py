"""From a text to an expression that makes sense."""

from __future__ import annotations

from hlotool.query.expression import Expression
from hlotool.query.validate import expect_condition, expect_number
from hlotool.query.vocabulary import Vocabulary
from hlotool.source import Source


def parse_condition(text: str, vocabulary: Vocabulary, name: str) -> Expression:
    """Read what is true or false; `name` says where the text stands.

    Raises QueryError where it does not parse, is no condition, or names what does not exist.
    """
    tree = _parse(text, name)
    expect_condition(tree, Source(text, name), vocabulary)
    return tree


def parse_number(text: str, vocabulary: Vocabulary, name: str) -> Expression:
    """Read what yields a number; raises QueryError as `parse_condition` does."""
    tree = _parse(text, name)
    expect_number(tree, Source(text, name), vocabulary)
    return tree


def _parse(text: str, name: str) -> Expression:
    from hlotool.query.grammar import parse_expression  # noqa: PLC0415  pyparsing is slow to import

    return parse_expression(text, name)
