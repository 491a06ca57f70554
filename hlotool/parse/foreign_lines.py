"""Is a line that does not read no HLO at all? What else it looks like, for the hint of an error."""

from __future__ import annotations

import re
from typing import Final

_OTHER_COMMENT: Final = re.compile(r"\s*+[;#]")
# As absl and glog, Python's logging and most others begin a line: level and date, or a date.
_LOG: Final = re.compile(r"\s*+\[?(?:[IWEF]\d{4}\ |\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2})")
_COLOR: Final = re.compile(r"\x1b\[[\d;]*+m")


def describe_foreign_line(line: str) -> str:
    """Return a hint where a line is none of HLO, '' where nothing tells.

    foreign = ( ";" | "#" ) … | prefix-of-a-log … | … colour-code …
    """
    if _OTHER_COMMENT.match(line):
        return "inside a module only // and /* */ make a comment; ; and # do not"
    if _LOG.match(line):
        return "this looks like a line of a log that stands inside the module"
    if _COLOR.search(line):
        return "the line holds codes for colours: save the text without them"
    return ""
