"""Where do modules begin in a text that also holds other things?

At a line that starts with `HloModule`. In a log a prefix may stand before it, on the first
line of the module or on every one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hlotool.inputs.read.prefix import Prefix
from hlotool.parse.scanner import NAME

_WORD: Final = "HloModule"
_LONGEST_PREFIX: Final = 200
# Strings on one line and comments are passed over; a `/*` that is not closed before the next
# one is a path.
_TOKEN: Final = re.compile(
    rf'"(?:[^"\\\n]++|\\.)*+"|//[^\n]*+|/\*(?:[^*/]++|\*(?!/)|/(?!\*))*+\*/|{_WORD}'
)
_NO_PREFIX: Final = re.compile(r"""["'`]|/\*""")  # of a log: a string or a comment
_HEADER: Final = re.compile(
    rf"{_WORD}[ ]++%?+{NAME}[ ]*+(?:(?P<more>,\s*+[a-z_]++=)[^\n]*+|(?=\n|\Z))"
)
# What stands behind a header: an index table, or the first line of a computation.
_BEGINS: Final = re.compile(
    rf"[ \t]*+(?:(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+$"
    rf"|(?:ENTRY[ ]++)?+(?:%?+{NAME}[ ]*+)?+(?:\([^\n]*)?\{{)",
    re.MULTILINE,
)
_EMPTY: Final = re.compile(r"[ \t]*+(?://[^\n]*+)?+(?:\n|\Z)")


class Heading(Struct, frozen=True):
    """Where the first word of a module stands, and the prefix before it on its line."""

    position: int
    prefix: str = ""


def find_headings(text: str) -> Iterator[Heading]:
    """Yield the headers of modules in order; strings and comments that look so do not count.

    header = [ prefix ] "HloModule" " " name ( "," key "=" … | end of the line )

    Behind a prefix a module must follow below: a log also mentions modules.
    """
    if _WORD not in text:
        return
    for token in _TOKEN.finditer(text):
        position = token.start()
        if token.group() != _WORD:
            continue
        begin = max(position - _LONGEST_PREFIX - 1, 0)
        line_start = text.rfind("\n", begin, position) + 1
        if line_start == 0 and begin > 0:
            continue
        prefix = text[line_start:position]
        header = _HEADER.match(text, position)
        if header and not prefix.strip():
            yield Heading(position)
        elif header and not _NO_PREFIX.search(prefix) and _begins_below(text, header, prefix):
            yield Heading(position, prefix)


def _begins_below(text: str, header: re.Match[str], prefix: str) -> bool:
    """Whether a module begins below a header; where the text ends there, whether it may have."""
    own, start = Prefix(prefix), header.end() + 1
    while start < len(text):
        begin = own.end_in(text, start)
        empty = _EMPTY.match(text, begin)
        if empty is None:
            return _BEGINS.match(text, begin) is not None
        start = empty.end()
    return header["more"] is not None
