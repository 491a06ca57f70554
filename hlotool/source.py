"""Text with a name: everything downstream speaks in offsets into it.

Lines and columns are worked out only when somebody asks, which is when an error is
printed; no reader counts newlines.
"""

from __future__ import annotations

from msgspec import Struct


class Source(Struct, frozen=True):
    """The whole text of one dump; `name` is the path as the user typed it."""

    text: str
    name: str = "<string>"

    def location(self, pos: int) -> tuple[int, int]:
        """Return the 1-based (line, column) of an offset, both in characters."""
        return self.text.count("\n", 0, pos) + 1, pos - self.text.rfind("\n", 0, pos)

    def line_at(self, pos: int) -> str:
        """Return the line that holds an offset, without its line ending."""
        start = self.text.rfind("\n", 0, pos) + 1
        end = self.text.find("\n", pos)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
