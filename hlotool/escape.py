r"""How does foreign text stay text? Names, paths, options and expressions may hold anything.

A terminal acts on control characters, a reader is misled by marks that turn the direction of
writing, and a CI system takes some lines for commands. Whoever writes an answer or a message
escapes the text of others here: a line break becomes `\n`, ESC `\x1b`, U+202E `\u202e`, and a
byte of a file name that is no UTF-8 `\xff`. What is escaped already is left as it is.
"""

from __future__ import annotations

import re
from typing import Final

# What actions/runner looks for (src/Runner.Common/ActionCommand.cs): the first anywhere in a
# line, the second behind its leading blanks.
_COMMAND: Final = "##["
_NO_COMMAND: Final = r"\x23#["
_COMMAND_LINE: Final = re.compile(r"^([^\S\n]*+):(?=:)", re.MULTILINE)
_NAMED: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_UNDECODED: Final = range(0xDC80, 0xDD00)  # how Python holds the bytes that are no UTF-8


def escape(text: str) -> str:
    """Write one line of foreign text: what cannot be printed, or starts a command, as escapes."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    return text.replace(_COMMAND, _NO_COMMAND)


def disarm_lines(text: str) -> str:
    """Change what a CI system would take for a command in the lines of a finished text."""
    text = _COMMAND_LINE.sub(r"\1\\x3a", text) if "::" in text else text
    return text.replace(_COMMAND, _NO_COMMAND)


def encode_json(value: object, indent: int | None = None) -> str:
    """Write JSON in printable ASCII, every text exact."""
    import json  # noqa: PLC0415  start-up time

    text = json.dumps(value, indent=indent, allow_nan=False)
    return text.replace("\x7f", "\\u007f").replace(_COMMAND, "\\u0023#[")


def _escape(char: str) -> str:
    code = ord(char)
    if code in _UNDECODED:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:  # noqa: PLR2004  ASCII
        return _NAMED.get(char) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  one unit
