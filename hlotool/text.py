r"""Text of others: a dump with its name, how any words of theirs are written, and patterns.

Names, paths, options and expressions may hold anything. A terminal acts on control characters, a
reader is misled by marks that turn the direction of writing, and a CI system takes some lines for
commands. Whoever writes an answer or a message escapes the text of others here: a line break
becomes `\\n`, ESC `\\x1b`, U+202E `\\u202e`, and a byte of a file name that is no UTF-8 `\\xff`.
What is escaped already is left as it is.

Everything downstream of a `Source` speaks in offsets into it. Lines and columns are worked out only
when somebody asks, which is when an error is printed; no reader counts newlines.

Regular expressions of the user's are searched in time linear in the text, by RE2: on `(a+)+$` and
`a.*a.*a.*b` Python's own engine may take years.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

# What actions/runner looks for (src/Runner.Common/ActionCommand.cs): the first anywhere in a
# line, the second behind its leading blanks.
_COMMAND: Final = "##["
_NO_COMMAND: Final = r"\x23#["
_COMMAND_LINE: Final = re.compile(r"^([^\S\n]*+):(?=:)", re.MULTILINE)
# In the words of others, where a URL ends at a blank, a quote or a bracket.
_USER: Final = re.compile(r"""(?<=://)[^\s/"'<>]*@""")
_QUERY: Final = re.compile(r"""(://[^\s?"'<>]*)\?[^\s"'<>]*""")
_NAMED: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_UNDECODED: Final = range(0xDC80, 0xDD00)  # how Python holds the bytes that are no UTF-8


def escape(text: str) -> str:
    """Write one line of foreign text: what cannot be printed, or starts a command, as escapes."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    return text.replace(_COMMAND, _NO_COMMAND)


def cut_secrets(text: str) -> str:
    """Return a text without the user names, passwords and queries of the URLs in it."""
    return _QUERY.sub(r"\1", _USER.sub("", text)) if "://" in text else text


def disarm_lines(text: str) -> str:
    """Change what a CI system would take for a command in the lines of a finished text."""
    text = _COMMAND_LINE.sub(r"\1\\x3a", text) if "::" in text else text
    return text.replace(_COMMAND, _NO_COMMAND)


def encode_json(value: object, indent: int | None = None, *, is_compact: bool = False) -> str:
    """Write JSON in printable ASCII, every text exact; compact without a blank."""
    import json  # noqa: PLC0415  start-up time

    separators = (",", ":") if is_compact else None
    text = json.dumps(value, indent=indent, allow_nan=False, separators=separators)
    return text.replace("\x7f", "\\u007f").replace(_COMMAND, "\\u0023#[")


def _escape(char: str) -> str:
    if (code := ord(char)) in _UNDECODED:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:  # noqa: PLR2004  ASCII
        return _NAMED.get(char) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  one unit


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
    is_fragment: bool = False  # made of a part of a text: there may be more in all it counts

    def location(self, pos: int) -> tuple[int, int]:
        """Return the 1-based (line, column) of an offset in the file, both in characters."""
        line = self.first_line + self.text.count("\n", 0, pos)
        return line, pos - self.text.rfind("\n", 0, pos)

    def line_at(self, pos: int) -> str:
        """Return the line that holds an offset, without its line ending."""
        start = self.text.rfind("\n", 0, pos) + 1
        end = self.text.find("\n", pos)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


_MOST_KEPT: Final = 512  # compiled patterns


class PatternError(Exception):
    """A text that is no regular expression, and why."""


class Pattern(Struct, frozen=True):
    """A regular expression, known to be one; it travels between processes as its text."""

    text: str

    def is_found(self, subject: str) -> bool:
        """Say whether a text has a part that the pattern matches."""
        return _compile(self.text).search(_encode(subject)) is not None


def parse_pattern(text: str) -> Pattern:
    """Return a pattern in the syntax of RE2: Python's without backreferences and look-around.

    Raises PatternError where the text is none.
    """
    _compile(text)
    return Pattern(text)


@lru_cache(maxsize=_MOST_KEPT)
def _compile(text: str) -> Any:
    import re2  # noqa: PLC0415  most commands are called without a pattern

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_encode(text), options)
    except re2.error as error:
        (reason,) = error.args
        raise PatternError(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None


def _encode(text: str) -> bytes:
    """Return UTF-8; half a surrogate pair, which it has not, is as good as any odd character."""
    return text.encode("utf-8", "replace")
