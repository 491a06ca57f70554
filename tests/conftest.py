"""What all tests share: their options, what is told of mutants, and how Hypothesis runs."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

_FEW_MUTANTS: Final = 10_000

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("hlotool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hlotool")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden and --mutants."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite testdata/golden with what hlotool prints now; look at the diff",
    )
    parser.addoption(
        "--mutants",
        type=int,
        default=_FEW_MUTANTS,
        metavar="COUNT",
        help="how many injured dumps to try; more than by default are told of in a table",
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what became of the mutants, by kind, where they are many."""
    if config.getoption("--mutants") == _FEW_MUTANTS:
        return
    found: dict[str, Counter[str]] = {}
    for report in [one for each in terminalreporter.stats.values() for one in each]:
        for name, value in getattr(report, "user_properties", ()):
            if name == "mutants" and report.when == "call":
                found.setdefault(value[0], Counter()).update(value[1])
    total = sum(found.values(), Counter[str]())
    outcomes = sorted(total, key=lambda one: -total[one])
    terminalreporter.write_line(f"| {' | '.join(['mutants', *outcomes])} |")
    terminalreporter.write_line("|---" + "|---:" * len(outcomes) + "|")
    for kind, counts in [*found.items(), ("all", total)]:
        figures = [f"{counts[one]:,}" for one in outcomes]
        terminalreporter.write_line(f"| {' | '.join([kind, *figures])} |")
