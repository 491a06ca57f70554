"""Which lines of a report does no reader know, and may they be passed over?

Newer compilers print lines that this version has not met. They are passed over as long as
what is read adds up; otherwise the first of them is refused, as any other text would be.
"""

from __future__ import annotations

from typing import NoReturn

from hlotool.parse.scanner import Scanner
from hlotool.source import Source


class UnknownLines:
    """How many lines were passed over, and what was expected in the place of the first."""

    def __init__(self) -> None:
        self.count = 0
        self._first: tuple[Source, int, str] | None = None

    def pass_over(self, source: Source, at: int, expected: str) -> int:
        """Step over the line at an offset and return where the next begins.

        Blank lines and comments do not count. Raises ParseError at the end of the text, and for a
        last line without its newline: it may be one of a known kind, cut short.
        """
        end = source.text.find("\n", at)
        line = source.text[at : end if end >= 0 else len(source.text)].strip()
        if end < 0:
            if self._first is None or line:
                _refuse(source, at, expected)
            self.refuse(f"the text ends without {expected}")
        if line and not line.startswith("//"):
            self.count += 1
            self._first = self._first or (source, at, expected)
        return end + 1

    def refuse(self, why: str) -> None:
        """Raise ParseError at the first line that was passed over; nothing if there is none."""
        if self._first is not None:
            hint = f"this line is of no known kind, and the rest does not add up: {why}"
            _refuse(*self._first, hint)


def _refuse(source: Source, at: int, expected: str, hint: str = "") -> NoReturn:
    scanner = Scanner(source, at)
    scanner.skip_blanks()
    if scanner.pos >= scanner.end:
        hint = hint or "the file may be cut short"
    scanner.fail(f"expected {expected}, found {scanner.describe_next()}", hint=hint)
