"""What is wrong with a text that is no expression, in words the user can act on."""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import QueryError
from hlotool.source import Source

# Brackets, `not`s and signs inside each other. The grammar takes 33 of the 1,000 frames of Python's
# stack for each, and what calls hlotool has some too.
MAX_DEPTH: Final = 16
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<quote>["'])
      | (?P<open>[(\[])
      | (?P<close>[)\]])
      | (?P<prefix>(?:not\b|-)(?=\s*(?:not\b|-)))
      | (?P<word>\w+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES: Final = {")": "(", "]": "["}
_FOUND: Final = re.compile(r"\w+|\s+|[=!<>~&|]+|.", re.DOTALL)
_HINTS: Final = (
    (re.compile(r"(?:AND|OR|NOT|IN|TRUE|FALSE|NULL)\b"), "keywords are written in lower case"),
    (re.compile(r"=~"), "a regular expression is matched with ~"),
    (re.compile(r"=(?!=)"), "equality is written =="),
    (re.compile(r"&&?"), "write and"),
    (re.compile(r"\|\|?"), "write or"),
    (re.compile(r"!(?![=~])"), "write not"),
    (re.compile(r"\["), "a list can only follow in"),
)
_CHAIN: Final = re.compile(r"==|!=|<=?|>=?|!?~")
_OPERATOR: Final = "an operator, 'and' or 'or'"
_WANTS_VALUE: Final = re.compile(r"(?:^|[=<>~+\-*/(,\[]|\b(?:and|or|not|in))$")
_NUMBER_AHEAD: Final = re.compile(r"[0-9]\s*$")


def expect_paired(source: Source) -> None:
    """Refuse brackets that do not pair, text that is not closed, and nesting without end.

    This runs before the grammar, which recurses once a level: its depth is bounded here.
    Raises QueryError.
    """
    opened: list[tuple[str, int]] = []
    prefixes = 0
    for token in _TOKEN.finditer(source.text):
        kind, pos = token.lastgroup, token.start()
        prefixes = prefixes + 1 if kind == "prefix" else 0
        if kind == "quote":
            raise QueryError("this text has no closing quote", source, pos, len(source.text))
        if kind == "open":
            opened.append((token.group(), pos))
        elif kind == "close":
            if not opened or opened[-1][0] != _CLOSES[token.group()]:
                raise QueryError(f"this {token.group()!r} was never opened", source, pos, 0)
            opened.pop()
        if len(opened) + prefixes > MAX_DEPTH:
            message = f"the expression is nested more than {MAX_DEPTH} levels deep"
            raise QueryError(message, source, pos, 0)
    if opened:
        bracket, pos = opened[-1]
        raise QueryError(f"this {bracket!r} is never closed", source, pos, 0)


def explain_failure(source: Source, pos: int) -> QueryError:
    """Turn a failure of the grammar at an offset into an error with a hint.

    What was expected follows from what stands before, not from the grammar's own words.
    """
    text = source.text
    while pos < len(text) and text[pos].isspace():
        pos += 1
    if pos >= len(text):
        found, end = "the end of the expression", pos
    else:
        match = _FOUND.match(text, pos)
        end = match.end() if match else pos + 1
        found = repr(text[pos:end])
    expected = _expected(text, pos)
    hint = _hint(text, pos, is_value=expected != _OPERATOR)
    return QueryError(f"expected {expected}, found {found}", source, pos, end, hint)


def _expected(text: str, pos: int) -> str:
    """Say what could stand at an offset, in the user's words."""
    if not text.strip():
        return "an expression"
    wants_value = _WANTS_VALUE.search(text[:pos].rstrip()) is not None
    opened = [
        token.group() for token in _TOKEN.finditer(text, 0, pos) if token["open"] or token["close"]
    ]
    if opened and opened[-1] == "[":  # no bracket of any kind stands inside a list
        return "a number, a text, true, false or null" if wants_value else "',' or ']'"
    return "a value" if wants_value else _OPERATOR


def _hint(text: str, pos: int, *, is_value: bool) -> str:
    """Say what people who write this usually mean."""
    if text[max(0, pos - 1) : pos + 1] == "<>":
        return "inequality is written !="
    for pattern, hint in _HINTS:
        if pattern.match(text, pos):
            return hint
    if is_value:
        return ""
    if _CHAIN.match(text, pos):
        return "comparisons do not chain: write a < b and b < c"
    if _NUMBER_AHEAD.search(text[:pos]) and text[pos : pos + 1].isalpha():
        return "sizes are written 64MiB, 1.5 GB or 4096 B, times 2ms or 5us, others 2.5e12"
    return ""
