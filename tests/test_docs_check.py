"""The budgets that docs/budgets.md and docs/ci.md show are budgets, and compile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hlotool.check.config import read_config
from hlotool.check.rule import compile_rule

DOCS = Path(__file__).parents[1] / "docs"
BLOCKS = [
    pytest.param(block, id=f"{page}-{place}")
    for page in ("budgets.md", "ci.md")
    for place, block in enumerate(
        re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    )
]


def test_there_are_blocks() -> None:
    assert len(BLOCKS) > 1


@pytest.mark.parametrize("block", BLOCKS)
def test_budgets_of_the_documentation_compile(block: str, tmp_path: Path) -> None:
    path = tmp_path / "hlotool.toml"
    path.write_text(block, encoding="utf-8")
    config = read_config(str(path))
    assert config.budgets
    for budget in config.budgets:
        compile_rule(budget, config.path)
