"""Which sums does a message write out?

Total hbm usage >= 65.05G:
    reserved          1.25G
    program          63.80G
    arguments            0B
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.ir.out_of_memory import MemoryPart, Size
from hlotool.parse.out_of_memory.sizes import SIZE, parse_size

_LONGEST: Final = 300  # characters of a line of a sum
_MOST: Final = 1000
_HEADING: Final = re.compile(
    rf"(?P<group>Total \w++ usage|Program \w++ requirement|\w++ capacity|BufferAssignment stats"
    rf"|Heap allocator status|Persistent allocations[\w ]*+|Stats)"
    rf"(?: (?:>= )?(?P<size>{SIZE}))?+:[ \t]*+$"
)
_PART: Final = re.compile(
    rf"[ \t]*+(?P<name>[A-Za-z][^:\n]*?)(?::[ \t]*+|[ \t]++)(?P<size>{SIZE}|unknown size)(?!\w)"
    rf"(?:[ \t]++\([ \t]*+(?P<exact>-?[\d,]++) bytes\))?+"
)
_RULE: Final = re.compile(r"[ \t]*-{3,}")
_STATS: Final = "Stats"  # of the BFC allocator: plain numbers of bytes, and counts
_COUNTS: Final = ("Num", "num")


class PartReader:
    """Reads the lines of sums, one after the other."""

    def __init__(self) -> None:
        self.parts: list[MemoryPart] = []
        self._group = ""

    def read(self, line: str) -> bool:
        """Read a line; say whether it belongs to a sum.

        sum  := heading NL { part NL }
        part := name ( ":" | " " ) ( size [ "(" exact " bytes)" ] | "unknown size" ) …
        """
        if len(line) > _LONGEST:
            self._group = ""
            return False
        heading = _HEADING.search(line)
        if heading is not None:
            self._group = heading["group"]
            if heading["size"]:
                self._add("total", parse_size(heading["size"]))
            return True
        if not self._group or _RULE.match(line):
            return bool(self._group)
        part = _PART.match(line)
        if part is None:
            self._group = ""
            return False
        name = part["name"].strip()
        if not (self._group == _STATS and name.startswith(_COUNTS)):
            size = part["exact"] or part["size"]
            self._add(name, None if size.startswith("unknown") else parse_size(size))
        return True

    def find(self, group: str, name: str) -> Size | None:
        """Return the size of a part, None where it was not read."""
        for part in self.parts:
            if part.group == group and part.name == name and part.size_bytes is not None:
                return Size(part.size_bytes)
        return None

    def _add(self, name: str, size: Size | None) -> None:
        if len(self.parts) < _MOST:
            self.parts.append(MemoryPart(self._group, name, size.bytes if size else None))
