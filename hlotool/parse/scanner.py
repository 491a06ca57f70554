"""A cursor over a Source: the hand-written half of every parser here.

Naming: `accept_*` moves only if it matched and says so; `expect_*` moves or raises;
`skip_*` moves over what carries no meaning, or over a group without looking into it;
`parse_*` returns a value or raises.

Lexical rules follow xla/hlo/parser/hlo_lexer.cc: newlines mean nothing, comments may stand
between any two tokens, strings are opaque and may hold raw newlines.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.source import Source

MOST_NESTED: Final = 200  # levels of tuples, operands or computations; a limit, not a promise

NAME: Final = r"[A-Za-z_][\w.\-]*+"
STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
QUOTED: Final = rf"(?:{STRING}|'[^'\\]*+(?:\\.[^'\\]*+)*+')"

_BLANKS = re.compile(r"(?:[ \t\r\n]++|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/|//[^\n]*+)*+")
_NAME = re.compile(NAME)
_INTEGER = re.compile(r"-?\d+")
_QUOTED = re.compile(QUOTED, re.DOTALL)
_WORD = re.compile(r"[\w.\-%]+|<=|->|\.\.\.")
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_MARKS: Final = {
    opener: re.compile(rf'[{re.escape(opener + closer)}]|/\*.*?\*/|{STRING}|"', re.DOTALL)
    for opener, closer in _CLOSERS.items()
}


class Scanner:
    """Position in `source`, never past `end`."""

    __slots__ = ("depth", "end", "pos", "source", "text")

    def __init__(self, source: Source, pos: int = 0, end: int | None = None) -> None:
        self.source = source
        self.text = source.text
        self.pos = pos
        self.end = len(source.text) if end is None else end
        self.depth = 0

    def peek(self) -> str:
        """Return the next character, '' at the end."""
        return self.text[self.pos : min(self.pos + 1, self.end)]

    def skip_blanks(self) -> None:
        """Step over white space and comments."""
        match = _BLANKS.match(self.text, self.pos, self.end)
        if match:
            self.pos = match.end()

    def at_end(self) -> bool:
        """Step over blanks and say whether nothing is left."""
        self.skip_blanks()
        return self.pos >= self.end

    def starts_with(self, literal: str) -> bool:
        """Say whether `literal` stands at the cursor, without moving."""
        return self.text.startswith(literal, self.pos, self.end)

    def accept(self, literal: str) -> bool:
        """Step over `literal` if it stands at the cursor."""
        if self.text.startswith(literal, self.pos, self.end):
            self.pos += len(literal)
            return True
        return False

    def accept_token(self, literal: str) -> bool:
        """Step over blanks and `literal` if that comes next; else stay before the blanks."""
        start = self.pos
        self.skip_blanks()
        if self.accept(literal):
            return True
        self.pos = start
        return False

    def accept_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over a match of `pattern` at the cursor, or return None."""
        match = pattern.match(self.text, self.pos, self.end)
        if match:
            self.pos = match.end()
        return match

    def expect(self, literal: str, context: str) -> None:
        """Step over blanks and `literal`, or raise "expected ')' <context>, found …"."""
        if not self.accept_token(literal):
            self.fail_expected(f"{literal!r} {context}")

    def expect_match(self, pattern: re.Pattern[str], what: str) -> str:
        """Step over blanks and a match of `pattern`; return its text or raise."""
        self.skip_blanks()
        match = self.accept_match(pattern)
        if match is None:
            self.fail_expected(what)
        return match.group()

    def expect_name(self, what: str) -> str:
        """Step over a name with or without its %, return it without."""
        self.skip_blanks()
        self.accept("%")
        return self.expect_match(_NAME, what)

    def expect_integer(self, what: str) -> int:
        """Step over an optionally negative integer."""
        start = self.pos
        digits = self.expect_match(_INTEGER, what)
        if len(digits) > len("-9223372036854775808"):
            self.fail(f"{what} is larger than 64 bits", start, self.pos)
        return int(digits)

    def expect_string(self, what: str) -> str:
        """Step over a quoted string, single or double; return it with its quotes."""
        self.skip_blanks()
        start = self.pos
        match = self.accept_match(_QUOTED)
        if match is None:
            if self.peek() in {'"', "'"}:
                self.fail(f"the string of {what} is never closed", start, start + 1)
            self.fail_expected(what)
        return match.group()

    def skip_group(self, what: str) -> str:
        """Step over a bracketed group and return the text inside.

        Only the opener's own kind of bracket counts, outside strings and comments: raw
        values may hold anything else unbalanced (hlo_lexer.cc, JSON dictionaries).
        """
        opened = self.pos
        opener = self.text[opened]
        closer = _CLOSERS[opener]
        marks = _MARKS[opener]
        depth = 0
        at = opened
        while True:
            match = marks.search(self.text, at, self.end)
            if match is None:
                self.fail(f"{what} is never closed", opened, opened + 1)
            found = match.group()
            at = match.end()
            if found == opener:
                depth += 1
            elif found == closer:
                depth -= 1
                if not depth:
                    self.pos = at
                    return self.text[opened + 1 : at - 1]
            elif found == '"':
                self.fail(f"a string in {what} is never closed", match.start(), at)

    def enter(self, what: str) -> None:
        """Go one level deeper; raise when an input nests beyond any real program."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            self.fail(f"{what} are nested more than {MOST_NESTED} deep")

    def leave(self) -> None:
        """Come back from `enter`."""
        self.depth -= 1

    def describe_next(self) -> str:
        """Name what stands at the cursor, for error messages."""
        if self.pos >= self.end:
            return "the end of the file" if self.end == len(self.text) else "the end of the value"
        if self.text[self.pos] == "\n":
            return "the end of the line"
        match = _WORD.match(self.text, self.pos, self.end)
        word = match.group() if match else self.text[self.pos]
        return repr(word if len(word) <= 40 else f"{word[:38]}…")

    def fail_expected(self, what: str) -> NoReturn:
        """Raise "expected <what>, found <the next word>" at the cursor."""
        match = _WORD.match(self.text, self.pos, self.end)
        end = min(match.end(), self.pos + 40) if match else self.pos + 1
        self.fail(f"expected {what}, found {self.describe_next()}", self.pos, end)

    def fail(
        self, message: str, start: int | None = None, end: int | None = None, hint: str = ""
    ) -> NoReturn:
        """Raise a ParseError at the cursor, or at the span given."""
        at = self.pos if start is None else start
        raise ParseError(message, self.source, at, at + 1 if end is None else end, hint)
