"""Which lines of a log begin like another, and what stands behind?

The prefixes that a logger puts before each line of a message differ in their numbers only.
"""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(r"[0-9]++|[ \t]++|[^0-9 \t]++")
_DIGITS: Final = re.compile(r"[0-9]++")
_BLANKS: Final = re.compile(r"[ \t]++")


class Prefix:
    """The prefix of one line, and all that differ from it in numbers and blanks alone."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = _PIECE.findall(text.rstrip())
        self._is_word = text[-1:].isalnum() or text[-1:].isspace()

    def end_in(self, text: str, start: int) -> int:
        """Return where the prefix of the line that begins at an offset ends; `start` if none."""
        at = start
        for piece in self._pieces:
            kind = _DIGITS if piece[0].isdecimal() else _BLANKS if piece.isspace() else None
            if kind is None:
                end = at + len(piece) if text.startswith(piece, at) else -1
            else:
                match = kind.match(text, at)
                end = match.end() if match else -1
            if end < 0:
                return start
            at = end
        return start if self._is_word and text[at : at + 1].strip() else at

    def blank_out(self, text: str) -> str:
        """Put blanks in the place of the prefix on each line that has it; columns stay."""
        lines = text.splitlines(keepends=True)
        ends = [self.end_in(line, 0) for line in lines]
        return "".join(" " * end + line[end:] for end, line in zip(ends, lines, strict=True))
