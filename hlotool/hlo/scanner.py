"""A cursor over a Source, the hand-written half of every parser here; and quoted strings.

Naming: `accept_*` moves only if it matched and says so; `expect_*` moves or raises;
`skip_*` moves over what carries no meaning, or over a group without looking into it;
`parse_*` returns a value or raises.

Lexical rules follow xla/hlo/parser/hlo_lexer.cc: newlines mean nothing, comments may stand
between any two tokens, strings are opaque and may hold raw newlines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final, NoReturn, TypeVar

from hlotool.errors import ParseError
from hlotool.hlo.not_hlo import NAMELESS, describe_template, find_placeholder
from hlotool.text import Source

T = TypeVar("T")

# Levels of tuples, operands or computations: ten frames each for the deepest, well under
# Python's limit of 1,000; real programs nest less than ten.
MOST_NESTED: Final = 64

TRUNCATED: Final = "is the file truncated?"  # the hint where a text ends too early

# Pieces of patterns. Possessive quantifiers (++, *+) keep a failing match linear.
NAME: Final = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
# Most strings hold no quote, and one step goes over them; the second form knows escapes.
STRING: Final = r'(?:"[^"]*+(?<!\\)"|"[^"\\]*+(?:\\.[^"\\]*+)*+")'
QUOTED: Final = rf"(?:{STRING}|'[^'\\]*+(?:\\.[^'\\]*+)*+')"

_BLANKS = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_BLANK_OR_SLASH: Final = frozenset(" \t\r\n/")
_NAME = re.compile(NAME)
_INTEGER = re.compile(r"-?[0-9]++")
_QUOTED = re.compile(QUOTED, re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9_.\-%]++|<=|->")
_LONGEST_INTEGER: Final = len("-9223372036854775808")
_LONGEST_WORD: Final = 40  # characters quoted in a message
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}


_COMMENT: Final = r"|/\*(?:.*?\*/)?+"


@cache
def _compile_marks(opener: str, comment: str) -> re.Pattern[str]:
    """Match what skip_group must look at: one kind of bracket, strings, comments."""
    brackets = re.escape(opener + _CLOSERS[opener])
    return re.compile(rf'[{brackets}]|{STRING}|"{comment}', re.DOTALL)


class Scanner:
    """Position in `source`, never past `end`."""

    __slots__ = ("depth", "end", "last_comment", "pos", "source", "text")

    def __init__(self, source: Source, pos: int = 0, end: int | None = None) -> None:
        self.source = source
        self.text = source.text
        self.pos = pos
        self.end = len(source.text) if end is None else end
        self.depth = 0
        self.last_comment = self.end  # no `/*` from here on is ever closed

    def peek(self) -> str:
        """Return the next character, '' at the end."""
        return self.text[self.pos : min(self.pos + 1, self.end)]

    def skip_blanks(self) -> None:
        """Step over white space and comments."""
        while self.text[self.pos : self.pos + 1] in _BLANK_OR_SLASH:
            if match := _BLANKS.match(self.text, self.pos, self.end):
                self.pos = match.end()
            if not self.text.startswith("/*", self.pos, self.last_comment):
                return
            if (closed := self.text.find("*/", self.pos + 2, self.end)) < 0:
                self.last_comment = self.pos
                return
            self.pos = closed + 2

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
        if self.text.startswith(literal, self.pos, self.end):
            self.pos += len(literal)
            return True
        start = self.pos
        self.skip_blanks()
        if self.pos > start and self.accept(literal):
            return True
        self.pos = start
        return False

    def accept_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over a match of `pattern` at the cursor, or return None."""
        if match := pattern.match(self.text, self.pos, self.end):
            self.pos = match.end()
        return match

    def expect(self, literal: str, context: str) -> None:
        """Step over blanks and `literal`, or raise "expected ')' <context>, found …"."""
        if not self.accept_token(literal):
            self.fail_expected(f"{literal!r} {context}")

    def expect_match(self, pattern: re.Pattern[str], what: str) -> str:
        """Step over blanks and a match of `pattern`; return its text or raise."""
        start = self.pos
        self.skip_blanks()
        if (match := self.accept_match(pattern)) is None:
            self.pos = start
            self.fail_expected(what)
        return match.group()

    def expect_name(self, what: str) -> str:
        """Step over a name with or without its %, return it without."""
        self.accept_token("%")
        return self.expect_match(_NAME, what)

    def expect_integer(self, what: str) -> int:
        """Step over an optionally negative integer."""
        digits = self.expect_match(_INTEGER, what)
        if len(digits) > _LONGEST_INTEGER:
            self.fail(f"{what} is larger than 64 bits", self.pos - len(digits), self.pos)
        return int(digits)

    def expect_count(self, what: str) -> int:
        """Step over an integer that is not negative."""
        if (number := self.expect_integer(what)) < 0:
            self.fail(f"{what} cannot be negative", self.pos - len(str(number)), self.pos)
        return number

    def expect_string(self, what: str) -> str:
        """Step over a quoted string, single or double; return it with its quotes."""
        before = self.pos
        self.skip_blanks()
        start = self.pos
        if (match := self.accept_match(_QUOTED)) is None:
            if self.peek() in {'"', "'"}:
                self.fail(f"the string of {what} is never closed", start, start + 1)
            self.pos = before
            self.fail_expected(what)
        return match.group()

    def parse_items(
        self, parse: Callable[[Scanner], T], closer: str, what: str, *, may_trail: bool = False
    ) -> list[T]:
        """Parse `item, item` up to and over the closer; an item is called `what` in messages.

        `may_trail`: a comma may stand behind the last one, which XLA does not print.
        """
        items: list[T] = []
        if self.accept_token(closer):
            return items
        while True:
            items.append(parse(self))
            if not self.accept_token(","):
                self.expect(closer, f"or ',' after {what}")
                return items
            if may_trail and self.accept_token(closer):
                return items

    def parse_list(
        self, opener: str, before: str, parse: Callable[[Scanner], T], closer: str, what: str
    ) -> tuple[T, ...]:
        """Parse the same behind an opener, which stands before what `before` calls."""
        self.expect(opener, f"before {before}")
        return tuple(self.parse_items(parse, closer, what, may_trail=True))

    def parse_whole(self, parse: Callable[[Scanner], T]) -> T:
        """Parse a value, and insist that nothing stands behind it."""
        value = parse(self)
        if not self.at_end():
            self.fail_expected("the end of the value")
        return value

    def skip_group(self, what: str) -> str:
        """Step over a bracketed group and return the text inside.

        Only the opener's own kind of bracket counts, outside strings and comments: raw
        values may hold anything else unbalanced (hlo_lexer.cc, JSON dictionaries).
        """
        opened = self.pos
        opener = self.text[opened]
        closer = _CLOSERS[opener]
        marks = _compile_marks(opener, _COMMENT if opened < self.last_comment else "")
        depth = 0
        at = opened
        while True:
            if (match := marks.search(self.text, at, self.end)) is None:
                hint = TRUNCATED if self.end == len(self.text) else ""
                self.fail(f"{what} is never closed", opened, opened + 1, hint)
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
                hint = TRUNCATED if self.end == len(self.text) else ""
                self.fail(f"a string in {what} is never closed", match.start(), at, hint)
            elif found == "/*":  # no comment, as in a path; nor is any behind it
                self.last_comment = match.start()
                marks = _compile_marks(opener, "")

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
        if self.text[self.pos] in "\r\n":
            return "the end of the line"
        match = _WORD.match(self.text, self.pos, self.end)
        word = match.group() if match else self.text[self.pos]
        return repr(word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…")

    def fail_expected(self, what: str) -> NoReturn:
        """Raise "expected <what>, found <the next word>" there, or at the end of the line."""
        while self.peek() in {" ", "\t"}:
            self.pos += 1
        placeholder = find_placeholder(self.text, self.pos) if what in NAMELESS else None
        if placeholder:
            self.fail(describe_template(placeholder), self.pos, self.pos + len(placeholder))
        match = _WORD.match(self.text, self.pos, self.end)
        end = min(match.end(), self.pos + _LONGEST_WORD) if match else self.pos + 1
        hint = TRUNCATED if self.pos >= len(self.text) else ""
        self.fail(f"expected {what}, found {self.describe_next()}", self.pos, end, hint)

    def fail(
        self, message: str, start: int | None = None, end: int | None = None, hint: str = ""
    ) -> NoReturn:
        """Raise a ParseError at the cursor, or at the span given."""
        at = self.pos if start is None else start
        raise ParseError(message, self.source, at, at + 1 if end is None else end, hint)


_ESCAPE = re.compile(r"((?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}))++)|\\(.)", re.DOTALL)
_OCTET = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2}))")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_KEY = re.compile(r"[^\s=,{}\"']++|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"")


def unquote(text: str) -> str:
    r"""Undo the quotes and C escapes of a string: `"params[\'w\']"` gives `params['w']`.

    Runs of octal or hexadecimal escapes are UTF-8 bytes, as absl::CEscape writes them.
    Text without quotes is returned as it is.
    """
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:  # noqa: PLR2004 (quotes)
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(match: re.Match[str]) -> str:
    """Undo one escape, or a run of bytes; what is no UTF-8 becomes the replacement mark."""
    run, char = match.groups()
    if run is None:
        return _SIMPLE.get(char, char)
    octets = bytes(
        int(octal, 8) % 256 if octal else int(digits, 16) for octal, digits in _OCTET.findall(run)
    )
    return octets.decode("utf-8", errors="replace")


def parse_string_map(scanner: Scanner) -> dict[str, str]:
    """Read `{key="value",key={raw}}`: frontend attributes, metadata-like maps.

    map   = "{" [ key "=" value { "," key "=" value } ] "}"
    value = string | "{" … "}" | word

    Strings lose quotes and escapes; raw braces keep theirs.
    """
    return dict(scanner.parse_list("{", "the attributes", _parse_pair, "}", "a value"))


def _parse_pair(scanner: Scanner) -> tuple[str, str]:
    key = unquote(scanner.expect_match(_KEY, "a key"))
    scanner.expect("=", f"after the key {key!r}")
    scanner.skip_blanks()
    if scanner.peek() == "{":
        start = scanner.pos
        scanner.skip_group(f"the value of {key!r}")
        return key, scanner.text[start : scanner.pos]
    if scanner.peek() in {'"', "'"}:
        return key, unquote(scanner.expect_string(f"the value of {key!r}"))
    return key, scanner.expect_match(_KEY, f"a value of {key!r}")
