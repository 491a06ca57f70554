"""How a diagnostic reaches the user: on stderr, as stdout is for answers only."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

from hlotool.escape import disarm_lines, escape


def say_all(notes: Iterable[str]) -> None:
    """Print diagnostics, each once, in order."""
    for note in dict.fromkeys(notes):
        say(note)


def say(*lines: str) -> None:
    """Print a diagnostic on stderr; in each of its lines the text of others is escaped."""
    if sys.stderr is not None:  # started with stderr closed
        message = "\n".join(map(escape, lines))
        with suppress(OSError):  # whoever read it has gone away: the answer still counts
            sys.stderr.write(disarm_lines(f"hlotool: {message}\n"))
