"""On which line of a configuration does a key stand? TOML's reader does not tell.

    line = [ blanks ] ( "[" … "]" | key [ blanks ] "=" … ) | anything else

Keys are told by their first line; what stands inside a text of several lines is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

_HEADER: Final = re.compile(r"[ \t]*(\[.*)")
_KEY: Final = re.compile(r"[ \t]*([\"']?)([A-Za-z0-9_-]+)\1[ \t]*=")
_LONG_QUOTES: Final = re.compile(r'"""|\'\'\'')


class TableLines(Struct, frozen=True):
    """Where a table begins, 0 for the keys before any, and where each of its keys stands."""

    line: int
    keys: Mapping[str, int]

    def find(self, key: str) -> int:
        """Return the line of a key, else that of the table."""
        return self.keys.get(key, self.line)

    def place(self, config: str, key: str) -> str:
        """Return `hlotool.toml:4`, or the file alone where no line is known."""
        line = self.find(key)
        return f"{config}:{line}" if line else config


NO_LINES: Final = TableLines(0, {})


def find_tables(text: str) -> Iterator[tuple[str, TableLines]]:
    """Yield the headers of a file in order, with their tables; what stands before any is first."""
    header, begin, keys = "", 0, dict[str, int]()
    quotes = ""  # that a text of several lines will end with
    for number, line in enumerate(text.splitlines(), 1):
        is_inside = bool(quotes)
        quotes = _follow(line, quotes)
        if is_inside:
            continue
        if found := _HEADER.match(line):
            yield header, TableLines(begin, keys)
            header, begin, keys = found[1], number, {}
        elif key := _KEY.match(line):
            keys.setdefault(key[2], number)
    yield header, TableLines(begin, keys)


def _follow(line: str, quotes: str) -> str:
    """Return the quotes that a text goes on to behind a line, '' where none is open."""
    for found in _LONG_QUOTES.finditer(line):
        quotes = found[0] if not quotes else "" if quotes == found[0] else quotes
    return quotes
