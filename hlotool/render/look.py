"""How text should look: units, width, colour; the same for every table of a document.

The one place that knows how a terminal is told of colours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

STRONG: Final = "strong"
# What is said of a cell or a line, and its colour: verdicts, severities, sides of a diff.
_CODES: Final[Mapping[str, str]] = {
    STRONG: "1",
    "dim": "2",
    "pass": "32",
    "added": "32",
    "warning": "33",
    "no-match": "33",
    "fail": "31",
    "error": "31",
    "removed": "31",
    "changed": "7",
    **{f"group {number}": str(code) for number, code in enumerate((34, 33, 32, 35, 36, 31, 90))},
}


class Look(Struct, frozen=True):
    """What the terminal and the options ask of a table."""

    units: str = "auto"  # auto, B, KiB, MiB, GiB, kB, MB, GB
    width: int | None = None  # columns of the terminal; None: cut nothing but long lists
    list_width: int | None = None  # where there is no width, of a scope or a list; None: all of it
    has_color: bool = False

    def paint(self, text: str, *tones: str) -> str:
        """Return text in the colours of what is said of it, if there is colour."""
        codes = [_CODES[tone] for tone in tones if tone in _CODES]
        if not (self.has_color and text and codes):
            return text
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"

    def bold(self, text: str) -> str:
        """Return text in bold, if there is colour."""
        return self.paint(text, STRONG)

    def dim(self, text: str) -> str:
        """Return text in grey, if there is colour."""
        return self.paint(text, "dim")
