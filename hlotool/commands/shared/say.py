"""How a diagnostic reaches the user: on stderr, as stdout is for answers only."""

from __future__ import annotations

import sys


def say(message: str) -> None:
    """Print a diagnostic on stderr."""
    if sys.stderr is not None:  # started with stderr closed
        sys.stderr.write(f"hlotool: {message}\n")
