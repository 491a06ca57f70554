"""How a diagnostic reaches the user: on stderr, as stdout is for answers only."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def say_all(notes: Iterable[str]) -> None:
    """Print diagnostics, each once, in order."""
    for note in dict.fromkeys(notes):
        say(note)


def say(message: str) -> None:
    """Print a diagnostic on stderr."""
    if sys.stderr is not None:  # started with stderr closed
        sys.stderr.write(f"hlotool: {message}\n")
