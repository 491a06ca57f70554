"""What all tests share: the option that rewrites golden sessions, and how Hypothesis runs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("hlotool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hlotool")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite testdata/golden with what hlotool prints now; look at the diff",
    )
