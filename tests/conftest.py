"""What all tests share: the option that rewrites golden sessions."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite testdata/golden with what hlotool prints now; look at the diff",
    )
