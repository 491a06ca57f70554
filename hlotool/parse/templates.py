"""Is this a text that is yet to be filled in?

Programs that make HLO keep it with `$0`, `${type}`, `{type}`, `%s` or `TYPE` in the place of
what varies. No name, number or type of HLO looks so, but in the place of a name `%s` is one.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import ParseError
from hlotool.source import Source

_MARK: Final = "$"
_WORD: Final = re.compile(r"\$(?:\{[^}\n]*+\}|\w++)")
# Behind one of these nothing is told of a `$`: all of a string or comment is passed over.
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|//[^\n]*+|/\*(?s:.*?)\*/|(\$)', re.DOTALL)
_PLACEHOLDER: Final = re.compile(
    r"%[a-z](?![\w.\-])|\{[A-Za-z_]\w*+\}(?=\[)|[A-Z][A-Z0-9_]*+(?=[\[(\],])"
)

NAMELESS: Final = frozenset(("a shape", "a dimension", "an opcode", "a count"))  # no names there


def check_template(source: Source) -> None:
    """Raise ParseError at the first `$` outside strings and comments: HLO has none."""
    text = source.text
    at = text.find(_MARK)
    while at >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if (line.count('"') - line.count('\\"')) % 2 == 0:  # it may stand in no string
            break
        at = text.find(_MARK, at + 1)
    else:
        return
    for token in _TOKEN.finditer(text):
        if token[1] and (word := _WORD.match(text, token.start())):
            raise ParseError(describe_template(word.group()), source, *word.span())


def find_placeholder(text: str, at: int) -> str | None:
    """Return the word at an offset where none of HLO can stand, if it is one to be replaced."""
    match = _WORD.match(text, at) or _PLACEHOLDER.match(text, at)
    return match.group() if match else None


def describe_template(word: str) -> str:
    """Say that a text is a template, and which word of it shows that."""
    return f"this text is a template, in which {word!r} stands for something else; fill it in first"
