"""The fixture `hlotool` of pytest: budgets on what a test compiled, and figures that may not grow.

A run that does not use it imports nothing but this.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hlotool.testing import Dumped


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --hlotool-update."""
    help_text = "rewrite the figures that the `hlotool` fixture compares with"
    parser.addoption("--hlotool-update", action="store_true", help=help_text)


@pytest.fixture
def hlotool(request: pytest.FixtureRequest) -> Checks:
    """Hold what a test compiled against budgets, and against what it took before."""
    path = request.path.with_suffix(".hlotool.json")
    name = request.node.nodeid.partition("::")[2]  # of a method with its class
    return Checks(path, name, request.config.getoption("--hlotool-update"))


class Checks:
    """The figures of one test; those of a test file lie beside it, in NAME.hlotool.json."""

    def __init__(self, path: Path, name: str, is_update: bool) -> None:
        self.path, self.name, self.is_update = path, name, is_update

    def expect(self, compiled: Dumped, *budgets: str) -> None:
        """Raise AssertionError unless every budget holds, as `hlotool.testing` does."""
        __tracebackhide__ = True
        from hlotool.testing import assert_budget  # noqa: PLC0415  start-up time

        assert_budget(compiled, *budgets)

    def expect_no_growth(self, compiled: Dumped, *metrics: str, by: float = 0.0) -> None:
        """Raise AssertionError where a metric has grown by more than this part of it.

        Metrics are those of budgets. With --hlotool-update they are written, and not compared.
        """
        __tracebackhide__ = True
        from hlotool.testing import measure  # noqa: PLC0415  start-up time

        kept = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
        now = measure(compiled, *metrics)
        if self.is_update:
            kept[self.name] = {**kept.get(self.name, {}), **now}
            self.path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", "utf-8")
            return
        before = kept.get(self.name, {})
        if missing := [metric for metric in now if metric not in before]:
            run = "pytest --hlotool-update writes it"
            raise AssertionError(f"{self.path.name} has no {missing[0]} of {self.name}; {run}")
        grown = [name for name, value in now.items() if value > before[name] * (1 + by)]
        if grown:
            raise AssertionError(
                "\n".join(f"{name}: {before[name]:,} before, {now[name]:,} now" for name in grown)
            )
