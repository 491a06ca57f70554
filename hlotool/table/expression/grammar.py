r"""From the text of an expression to its tree, and what is wrong with a text that has none.

    expression = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation = { "not" } comparison
    comparison = sum [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~" ) sum
                     | [ "not" ] "contains" text | [ "not" ] "in" ( listing | sum ) ]
    listing = "[" [ items ] "]" | "(" items ")"
    items = ["-"] literal { "," ["-"] literal }
    sum = product { ( "+" | "-" ) product }
    product = factor { ( "*" | "/" ) factor }
    factor = { "-" } ( literal | name [ "(" [ expression { "," expression } ] ")" ]
                     | "(" expression ")" )
    literal = number [ size | time | "%" ] | text | "true" | "false" | "null"
    text = '"' { character | '\\"' | "\\\\" } '"', or the same between single quotes

The one home of pyparsing. Every alternative is decided by its first token, so that nothing is
read twice: where pyparsing tries an alternative again, each bracket doubles the time. Its own
messages name rules of the grammar; `_explain_failure` makes better ones from the text.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Final

import pyparsing as pp
from msgspec.structs import replace

from hlotool.errors import QueryError
from hlotool.table.expression import nodes
from hlotool.table.expression.nodes import Expression, Literal, Name
from hlotool.table.units import LARGEST_FIGURE, SIZES, TIMES, to_base_unit
from hlotool.table.words import QUOTED, suggest
from hlotool.text import Source

# Brackets, `not`s and signs inside each other. The grammar takes 33 of the 1,000 frames of Python's
# stack for each, and what calls hlotool has some too.
MAX_DEPTH: Final = 16
_MAX_LENGTH: Final = 50_000  # characters; pyparsing reads about 100,000 a second
_MOST_DIGITS: Final = 300  # of a number; int() refuses more than 4,300 with an error of its own
_NAME: Final = rf"(?!(?:{'|'.join(nodes.KEYWORDS)})\b)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_NUMBER: Final = (
    r"(?P<number>(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"(?:\s*(?P<suffix>%|(?:{'|'.join((*SIZES, *TIMES))})(?!\w)))?"
)
_BEFORE_ITEM: Final = (  # what begins no sum in brackets
    rf"\((?=\s*-?\s*(?:{_NUMBER}|{QUOTED}|(?:true|false|null)\b)\s*[,)])"
)
_WORDS: Final = {"true": True, "false": False, "null": None}

_TOKEN: Final = re.compile(
    rf"""(?P<text>{QUOTED})
      | (?P<quote>["'])
      | (?P<open>[(\[])
      | (?P<close>[)\]])
      | (?P<prefix>(?:not\b|-)(?=\s*(?:not\b|-)))
      | (?P<word>\w+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES: Final = {")": "(", "]": "["}
_FOUND: Final = re.compile(r"\w+|\s+|[=!<>~&|]+|.", re.DOTALL)
# What people who know other languages write, and what it is called here.
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
_WANTS_VALUE: Final = re.compile(r"(?:^|[=<>~+\-*/(,\[]|\b(?:and|or|not|in|contains))$")
_CONTAINS: Final = re.compile(r"\bcontains\s*$")
_NUMBER_AHEAD: Final = re.compile(r"[0-9]\s*$")


class _Refusal(Exception):  # noqa: N818  not an error yet: it has no source
    """What a parse action cannot accept: message, start, end and perhaps a hint."""


def parse_expression(text: str, name: str = "--where") -> Expression:
    """Read a whole expression; `name` is where it stands, for messages.

    Raises QueryError with the place of the first mistake.
    """
    source = Source(text, name)
    if len(text) > _MAX_LENGTH:
        raise QueryError(
            f"the expression is longer than {_MAX_LENGTH:,} characters", source, _MAX_LENGTH, 0
        )
    _expect_paired(source)
    try:
        tree: Expression = _grammar().parse_string(text, parse_all=True)[0]
    except pp.ParseBaseException as error:
        raise _explain_failure(source, error.loc) from None
    except RecursionError:  # the caller stands deep in Python's stack already
        raise QueryError("Python's stack is too small for this", source, 0, 0) from None
    except _Refusal as refusal:
        message, *place = refusal.args
        raise QueryError(message, source, *place) from None
    return tree


# -- the grammar


@cache
def _grammar() -> pp.ParserElement:
    """Build the grammar of the module's docstring, once."""
    expression = pp.Forward()
    product = _chain(_factor(expression), pp.one_of("* /"), nodes.Arithmetic)
    total = _chain(product, pp.one_of("+ -"), nodes.Arithmetic)
    negation = _prefixed("not", _comparison(total), nodes.Not)
    conjunction = _chain(negation, _keyword("and"), nodes.And)
    expression <<= _chain(conjunction, _keyword("or"), nodes.Or)
    expression.parse_with_tabs()
    return expression


def _factor(expression: pp.Forward) -> pp.ParserElement:
    """Return the rules `factor` and `literal`."""
    arguments = pp.Suppress("(") + pp.Optional(pp.DelimitedList(expression)) - _mark(")")
    bracketed = (_mark("(") - expression - _mark(")")).add_parse_action(_bracketed)
    name = pp.Regex(_NAME).add_parse_action(_name)
    call = (name + pp.Optional(pp.Group(arguments))).add_parse_action(_call)
    value = _literal() | call | bracketed
    value.set_name("a value")
    return _prefixed("-", value, nodes.Negative)


def _literal() -> pp.ParserElement:
    """Return the rule `literal`."""
    number = pp.Regex(_NUMBER).add_parse_action(_number)
    text = pp.Regex(QUOTED, re.DOTALL).add_parse_action(_text)
    return number | text | pp.Regex(rf"(?:{'|'.join(_WORDS)})\b").add_parse_action(_word)


def _comparison(total: pp.ParserElement) -> pp.ParserElement:
    """Return the rules `comparison` and `listing`."""
    item = (pp.Optional("-") + _literal()).add_parse_action(_item)
    square = pp.Suppress("[") - pp.Optional(pp.DelimitedList(item)) - _mark("]")
    round_ = pp.Suppress(pp.Regex(_BEFORE_ITEM)) - pp.DelimitedList(item) - _mark(")")
    listing = (square | round_).add_parse_action(_listing)
    compare = pp.one_of("== != <= >= < > ~ !~") - total
    member = _keyword("in") - (listing | total)
    holds = _keyword("contains") - pp.Regex(QUOTED, re.DOTALL).add_parse_action(_text)
    rule = total + pp.Optional(compare | pp.Optional(_keyword("not")) + (member | holds))
    return rule.add_parse_action(_compare)


def _keyword(word: str) -> pp.ParserElement:
    """Return a rule for a reserved word."""
    return pp.Regex(rf"{word}\b").set_name(f"'{word}'")


def _mark(text: str) -> pp.ParserElement:
    """Return a rule for a word or sign, which yields where it stands."""
    rule = _keyword(text) if text.isalpha() else pp.Literal(text)
    return rule.add_parse_action(lambda _text, loc, _tokens: loc)


def _prefixed(
    prefix: str, operand: pp.ParserElement, kind: type[nodes.Negative | nodes.Not]
) -> pp.ParserElement:
    """Return a rule for an operand with any number of prefixes, of which the innermost is last."""

    def apply(_text: str, _loc: int, tokens: pp.ParseResults) -> Expression:
        inner: Expression = tokens[-1]
        for start in reversed(tokens[:-1]):
            inner = kind(inner, start=int(start), end=inner.end)
        return inner

    return (pp.ZeroOrMore(_mark(prefix)) + operand).add_parse_action(apply)


def _chain(
    operand: pp.ParserElement,
    operator: pp.ParserElement,
    kind: type[nodes.Arithmetic | nodes.And | nodes.Or],
) -> pp.ParserElement:
    """Return a rule for operands with operators between them; a lone operand stays as it is."""

    def join(_text: str, _loc: int, tokens: pp.ParseResults) -> Expression:
        operands: tuple[Expression, ...] = tuple(list(tokens)[::2])
        if len(operands) == 1:
            return operands[0]
        start, end = operands[0].start, operands[-1].end
        if issubclass(kind, nodes.Arithmetic):
            return kind(tuple(list(tokens)[1::2]), operands, start=start, end=end)
        return kind(operands=operands, start=start, end=end)

    return (operand + pp.ZeroOrMore(operator - operand)).add_parse_action(join)


# -- parse actions; each takes exactly (text, loc, tokens), or pyparsing guesses how many


def _number(_text: str, loc: int, tokens: pp.ParseResults) -> Literal:
    """Make a number, a size, a time or a percentage."""
    end = loc + len(str(tokens[0]))
    digits = str(tokens["number"]).replace("_", "")
    suffix = str(tokens["suffix"] or "") if "suffix" in tokens else ""
    number = int(digits[:_MOST_DIGITS]) if digits.isdigit() else float(digits)
    is_finite = len(digits) <= _MOST_DIGITS and number != math.inf
    if not is_finite or (to_base_unit(number, suffix) if suffix else number) > LARGEST_FIGURE:
        raise _Refusal("this number is too large", loc, end)
    return Literal(number, suffix, start=loc, end=end)


def _text(_text: str, loc: int, tokens: pp.ParseResults) -> Literal:
    """Make a text: a backslash escapes the quote and itself, else it stands for itself."""
    matched = str(tokens[0])
    inner = re.sub(rf"\\([\\{matched[0]}])", r"\1", matched[1:-1])
    return Literal(inner, start=loc, end=loc + len(matched))


def _word(_text: str, loc: int, tokens: pp.ParseResults) -> Literal:
    """Make true, false or null."""
    word = str(tokens[0])
    return Literal(_WORDS[word], start=loc, end=loc + len(word))


def _name(_text: str, loc: int, tokens: pp.ParseResults) -> Name:
    """Make a name."""
    return Name(str(tokens[0]), start=loc, end=loc + len(str(tokens[0])))


def _call(_text: str, _loc: int, tokens: pp.ParseResults) -> Expression:
    """Make an aggregate of a name with arguments; leave a bare name as it is."""
    name: Name = tokens[0]
    if len(tokens) == 1:
        return name
    *arguments, closing = tokens[1]
    end = int(closing) + 1
    rows, _, function = name.path.rpartition(".")
    if function not in nodes.FUNCTIONS:
        message = f"there is no function {function!r}"
        raise _Refusal(message, name.start, name.end, suggest(function, nodes.FUNCTIONS))
    least, most = (0, 1) if function == "count" else (1, 2)
    if not least <= len(arguments) <= most:
        form = "count(), count(CONDITION)" if least == 0 else f"{function}(FIELD[, CONDITION])"
        raise _Refusal(f"{function} is written {form}", name.start, end)
    value = None if function == "count" else arguments.pop(0)
    where = arguments[0] if arguments else None
    return nodes.Aggregate(function, rows, value, where, start=name.start, end=end)


def _item(_text: str, loc: int, tokens: pp.ParseResults) -> Literal:
    """Make one item of a listing; a minus belongs to its number."""
    literal: Literal = tokens[-1]
    if len(tokens) == 1:
        return literal
    if isinstance(literal.written, bool) or not isinstance(literal.written, int | float):
        raise _Refusal("'-' may only precede numbers", loc, loc + 1)
    return Literal(-literal.written, literal.suffix, start=loc, end=literal.end)


def _listing(_text: str, loc: int, tokens: pp.ParseResults) -> nodes.Listing:
    """Make a listing; the last token is the place of its closing bracket."""
    *items, closing = tokens
    return nodes.Listing(tuple(items), start=loc, end=closing + 1)


def _bracketed(_text: str, _loc: int, tokens: pp.ParseResults) -> Expression:
    """Widen the place of an expression to the brackets around it."""
    opening, inner, closing = tokens
    expression: Expression = replace(inner, start=int(opening), end=int(closing) + 1)
    return expression


def _compare(_text: str, _loc: int, tokens: pp.ParseResults) -> Expression:
    """Make a comparison, a match or a membership; leave a lone value as it is."""
    left: Expression = tokens[0]
    if len(tokens) == 1:
        return left
    operator, right = tokens[-2], tokens[-1]
    place = {"start": left.start, "end": right.end}
    if operator in {"~", "!~"}:
        return nodes.Match(left, right, operator == "!~", **place)
    if operator == "contains":
        pattern = replace(right, written=re.escape(str(right.written)))
        return nodes.Match(left, pattern, tokens[1] == "not", **place)
    if operator == "in":
        return nodes.Membership(left, right, tokens[1] == "not", **place)
    return nodes.Relation(operator, left, right, **place)


# -- what is wrong with a text, in words the user can act on


def _expect_paired(source: Source) -> None:
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


def _explain_failure(source: Source, pos: int) -> QueryError:
    """Turn a failure of the grammar at an offset into an error with a hint.

    What was expected follows from what stands before, not from the grammar's own words.
    """
    text = source.text
    while pos < len(text) and text[pos].isspace():
        pos += 1
    found, end = "the end of the expression", pos
    if match := _FOUND.match(text, pos):
        found, end = repr(match.group()), match.end()
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
        return 'text needs quotes: contains "…"' if _CONTAINS.search(text[:pos]) else ""
    if _CHAIN.match(text, pos):
        return "comparisons do not chain: write a < b and b < c"
    if _NUMBER_AHEAD.search(text[:pos]) and text[pos : pos + 1].isalpha():
        return "sizes are written 64MiB, 1.5 GB or 4096 B, times 2ms or 5us, other numbers 2.5e12"
    return ""
