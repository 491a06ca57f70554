"""Text with a name: everything downstream speaks in offsets into it.

Lines and columns are worked out only when somebody asks, which is when an error is
printed; no reader counts newlines.
"""

from __future__ import annotations

from msgspec import Struct


class DeviceCounts(Struct, frozen=True):
    """How many replicas and partitions a module runs on, None where nobody knows."""

    replica_count: int | None
    num_partitions: int | None


class Source(Struct, frozen=True):
    """The text of one dump; `name` is the path as the user typed it.

    It may be a part of a file, whole lines of it: `first_line` is the number there of the first.
    `counts` are given where the text was made of something that does not say them itself: the
    header of a text that leaves them out means one of each. `proto` are the bytes it was made of,
    where they hold a buffer assignment as well.
    """

    text: str
    name: str = "<string>"
    first_line: int = 1
    counts: DeviceCounts | None = None
    proto: bytes | None = None

    def location(self, pos: int) -> tuple[int, int]:
        """Return the 1-based (line, column) of an offset in the file, both in characters."""
        line = self.first_line + self.text.count("\n", 0, pos)
        return line, pos - self.text.rfind("\n", 0, pos)

    def line_at(self, pos: int) -> str:
        """Return the line that holds an offset, without its line ending."""
        start = self.text.rfind("\n", 0, pos) + 1
        end = self.text.find("\n", pos)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
