"""The examples of docs/expressions.md are expressions, and mean what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from expression_text import drop_places, format_expression

from hlotool.table.expression.grammar import parse_expression

PAGE = (Path(__file__).parent.parent / "docs" / "expressions.md").read_text(encoding="utf-8")
EXAMPLES = [
    line
    for block in re.findall(r"```(?:expression|budget)\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 8


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_parse(text: str) -> None:
    tree = drop_places(parse_expression(text))
    assert drop_places(parse_expression(format_expression(tree))) == tree
