"""Expressions: what parses, what it means, and what is said about what does not."""

from __future__ import annotations

import string
import sys

import pytest
from expression_text import drop_places, format_expression
from hypothesis import given
from hypothesis import strategies as st

from hlotool.errors import QueryError
from hlotool.table.expression.grammar import MAX_DEPTH, parse_expression
from hlotool.table.expression.nodes import (
    FUNCTIONS,
    KEYWORDS,
    Aggregate,
    And,
    Arithmetic,
    Expression,
    Listing,
    Literal,
    Match,
    Membership,
    Name,
    Negative,
    Not,
    Or,
    Relation,
)
from hlotool.table.units import SIZES, TIMES

A, B, C = Name("a"), Name("b"), Name("c")
ONE, TWO = Literal(1), Literal(2)


def read(text: str) -> Expression:
    return drop_places(parse_expression(text))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("buffers.temp_bytes", Name("buffers.temp_bytes")),
        ("a > 1", Relation(">", A, ONE)),
        ("a>=1", Relation(">=", A, ONE)),
        ("a<b", Relation("<", A, B)),
        ("(a)", A),
        ("a or b and c", Or((A, And((B, C))))),
        ("(a or b) and c", And((Or((A, B)), C))),
        ("a and b and c", And((A, B, C))),
        ("(a and b) and c", And((And((A, B)), C))),
        ("not a and b", And((Not(A), B))),
        ("not a > 1", Not(Relation(">", A, ONE))),
        ("not not a", Not(Not(A))),
        ("notation", Name("notation")),
        ("order > 1", Relation(">", Name("order"), ONE)),
        ("a in [1, 2]", Membership(A, Listing((ONE, TWO)))),
        ("a in []", Membership(A, Listing(()))),
        ("a not in [1]", Membership(A, Listing((ONE,)), is_negated=True)),
        ("a in [-1, 2KiB]", Membership(A, Listing((Literal(-1), Literal(2, "KiB"))))),
        ('"x" in a', Membership(Literal("x"), A)),
        ('a ~ "x"', Match(A, Literal("x"))),
        ("a !~ 'x'", Match(A, Literal("x"), is_negated=True)),
        ("a + b - 1", Arithmetic(("+", "-"), (A, B, ONE))),
        ("a + b * 2", Arithmetic(("+",), (A, Arithmetic(("*",), (B, TWO))))),
        ("(a + b) * 2", Arithmetic(("*",), (Arithmetic(("+",), (A, B)), TWO))),
        ("a - -1", Arithmetic(("-",), (A, Negative(ONE)))),
        ("-a * b", Arithmetic(("*",), (Negative(A), B))),
        ("a == null", Relation("==", A, Literal(None))),
        ("a == true", Relation("==", A, Literal(written=True))),
        ("count()", Aggregate("count", "")),
        ("x.count(a)", Aggregate("count", "x", None, A)),
        ("x.y.sum(a, b)", Aggregate("sum", "x.y", A, B)),
        ("max(a * 2)", Aggregate("max", "", Arithmetic(("*",), (A, TWO)))),
        ("  a\t>\n1  ", Relation(">", A, ONE)),
    ],
)
def test_reads(text: str, tree: Expression) -> None:
    assert read(text) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("1_000_000", 1_000_000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("2.", 2.0),
        ("2.5e12", 2.5e12),
        ("1E3", 1000.0),
        ("64MiB", 64 << 20),
        ("64 MiB", 64 << 20),
        ("1.5 GB", 1_500_000_000),
        ("1.1GB", 1_100_000_000),
        ("0.5KiB", 512),
        ("0.3B", 0.3),
        ("7B", 7),
        ("1kB", 1000),
        ("1KB", 1000),
        ("2TiB", 2 << 40),
        ("2s", 2),
        ("2 ms", 0.002),
        ("1_500us", 0.0015),
        ("1.5e3 us", 0.0015),
        ("0.1µs", 1e-7),
        ("0.1μs", 1e-7),
        ("300ns", 3e-7),
        ("5%", 0.05),
        ("2.5 %", 0.025),
        ("100%", 1),
        ("true", True),
        ("false", False),
        ("null", None),
        ('"text"', "text"),
        ("'text'", "text"),
        ("'a\"b'", 'a"b'),
        (r'"a\"b"', 'a"b'),
        (r'"a\\b"', r"a\b"),
        (r'"\d+\.\w"', r"\d+\.\w"),
        (r"'it\'s'", "it's"),
        ('""', ""),
        ('"×48 ≥"', "×48 ≥"),
        ('"(["', "(["),
        ('"a\nb"', "a\nb"),
    ],
)
def test_literals(text: str, value: object) -> None:
    tree = parse_expression(text)
    assert isinstance(tree, Literal)
    assert tree.value == value
    assert type(tree.value) is type(value)


def test_every_unit_has_its_factor() -> None:
    assert {unit: Literal(1, unit).value for unit in SIZES} == SIZES
    assert {unit: Literal(1, unit).value for unit in TIMES} == {
        unit: float(scale) for unit, scale in TIMES.items()
    }
    assert SIZES.keys().isdisjoint(TIMES)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("", 1, "expected an expression, found the end of the expression", ""),
        ("   ", 4, "expected an expression, found the end of the expression", ""),
        ("a >", 4, "expected a value, found the end of the expression", ""),
        ("a > 1 and", 10, "expected a value, found the end of the expression", ""),
        ("a = 3", 3, "expected an operator, 'and' or 'or', found '='", "equality is written =="),
        ("a =~ 3", 3, "expected an operator, 'and' or 'or', found '=~'", "matched with ~"),
        ("a <> 3", 4, "expected a value, found '>'", "inequality is written !="),
        ("a && b", 3, "expected an operator, 'and' or 'or', found '&&'", "write and"),
        ("a | b", 3, "expected an operator, 'and' or 'or', found '|'", "write or"),
        ("!a", 1, "expected a value, found '!'", "write not"),
        ("a AND b", 3, "expected an operator, 'and' or 'or', found 'AND'", "lower case"),
        ("1 < a < 3", 7, "expected an operator, 'and' or 'or', found '<'", "do not chain"),
        ("a > 64M", 7, "expected an operator, 'and' or 'or', found 'M'", "64MiB"),
        ("a > 64 mib", 8, "expected an operator, 'and' or 'or', found 'mib'", "64MiB"),
        ("a b", 3, "expected an operator, 'and' or 'or', found 'b'", ""),
        ("(a b)", 4, "expected an operator, 'and' or 'or', found 'b'", ""),
        ("(a", 1, "this '(' is never closed", ""),
        ("a in [1", 6, "this '[' is never closed", ""),
        ("a)", 2, "this ')' was never opened", ""),
        ("(a]", 3, "this ']' was never opened", ""),
        ('a == "x', 6, "this text has no closing quote", ""),
        ("a == 'x\\'", 6, "this text has no closing quote", ""),
        ("a in [b]", 7, "expected a number, a text, true, false or null, found 'b'", ""),
        ("a in [1 2]", 9, "expected ',' or ']', found '2'", ""),
        ("a in [-null]", 7, "'-' may only precede numbers", ""),
        ("[1] == a", 1, "expected a value, found '['", "a list can only follow in"),
        ("avg(a) > 1", 1, "there is no function 'avg'", "there are count, sum, max, min"),
        ("x.cuont() > 1", 1, "there is no function 'cuont'", "did you mean count?"),
        ("count(a, b)", 1, "count is written count(), count(CONDITION)", ""),
        ("sum()", 1, "sum is written sum(FIELD[, CONDITION])", ""),
        ("max(a, b, c)", 1, "max is written max(FIELD[, CONDITION])", ""),
        ("1e999", 1, "this number is too large", ""),
        ("9" * 301, 1, "this number is too large", ""),
        ("a ~ ~", 5, "expected a value, found '~'", ""),
        ("a > 1 # all", 7, "expected an operator, 'and' or 'or', found '#'", ""),
    ],
)
def test_mistakes(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_expression(text, "--where")
    error = caught.value
    assert (error.message, error.start + 1) == (message, column)
    assert hint in error.hint
    assert bool(hint) == bool(error.hint)
    assert str(error).startswith(f"--where: {message} (column {column})\n")


def test_a_mistake_points_with_a_caret() -> None:
    with pytest.raises(QueryError) as caught:
        parse_expression("size_bytes > 64M", "--where")
    assert str(caught.value) == (
        "--where: expected an operator, 'and' or 'or', found 'M' (column 16)\n"
        "  |\n"
        "1 | size_bytes > 64M\n"
        "  |                ^\n"
        "  = hint: sizes are written 64MiB, 1.5 GB or 4096 B, times 2ms or 5us, "
        "other numbers 2.5e12"
    )


def nest(depth: int, opening: str, closing: str = "") -> str:
    return opening * depth + "a" + closing * depth


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("not ", ""), ("-", ""), ("-(", ")")])
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    allowed = MAX_DEPTH // 2 if opening == "-(" else MAX_DEPTH
    tree = read(nest(allowed, opening, closing))
    assert read(format_expression(tree)) == tree
    for depth in (200, 20_000 // len(opening)):
        with pytest.raises(QueryError, match="nested more than 16 levels deep"):
            parse_expression(nest(depth, opening, closing))


def test_python_s_recursion_limit_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one for all threads. Whoever has used up the stack gets a sentence."""

    def refuse(_limit: int) -> None:
        raise AssertionError

    def stand_deep(frames: int) -> None:
        if frames:
            stand_deep(frames - 1)
        else:
            parse_expression(nest(MAX_DEPTH, "(", ")"))

    monkeypatch.setattr(sys, "setrecursionlimit", refuse)
    stand_deep(sys.getrecursionlimit() // 3)
    with pytest.raises(QueryError, match="Python's stack is too small"):
        stand_deep(sys.getrecursionlimit() - 200)


@pytest.mark.hard
def test_width_has_no_limit_but_length() -> None:
    tree = parse_expression(" or ".join(["a + b * 2 > 1"] * 1000))
    assert isinstance(tree, Or)
    assert len(tree.operands) == 1000
    with pytest.raises(QueryError, match="longer than 50,000 characters"):
        parse_expression("a + " * 50_000 + "a")


NAMES = st.text(string.ascii_lowercase + "_", min_size=1, max_size=6).filter(
    lambda name: name not in KEYWORDS
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
NUMBERS = st.integers(0, 10**20) | st.floats(0, 1e280, allow_nan=False)  # also as PiB
LITERALS = (
    st.builds(Literal, NUMBERS, st.sampled_from(["", "%", *SIZES, *TIMES]))
    | st.builds(Literal, st.text(max_size=8))
    | st.builds(Literal, st.sampled_from([True, False, None]))
)
ITEMS = LITERALS | st.builds(Literal, st.integers(-100, -1))


def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    many = st.lists(inner, min_size=2, max_size=4).map(tuple)
    maybe = st.none() | inner
    return st.one_of(
        st.builds(Negative, inner),
        st.builds(Not, inner),
        st.builds(And, many),
        st.builds(Or, many),
        st.builds(lambda a, b: Arithmetic(("+", "-"), (a, b, a)), inner, inner),
        st.builds(lambda a, b: Arithmetic(("*",), (a, b)), inner, inner),
        st.builds(Relation, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), inner, inner),
        st.builds(Match, inner, inner, st.booleans()),
        st.builds(Membership, inner, inner, st.booleans()),
        st.builds(Membership, inner, st.builds(Listing, st.lists(ITEMS, max_size=3).map(tuple))),
        st.builds(Aggregate, st.just("count"), PATHS | st.just(""), st.none(), maybe),
        st.builds(Aggregate, st.sampled_from(FUNCTIONS[1:]), PATHS | st.just(""), inner, maybe),
    )


TREES = st.recursive(LITERALS | st.builds(Name, PATHS), larger, max_leaves=12)


@given(TREES)
def test_printing_and_parsing_give_the_same_tree(tree: Expression) -> None:
    text = format_expression(tree)
    assert read(text) == tree
    assert format_expression(read(text)) == text


@given(st.text(alphabet="ab()[]\"'<>=!~+-*/%., 012KiBnotandrcu\\", max_size=40))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    tree, error = parse(text)
    if error is not None:
        assert 0 <= error.start <= len(text)
        assert "--where: " in str(error)
    elif tree is not None:
        assert read(format_expression(tree)) == drop_places(tree)


def parse(text: str) -> tuple[Expression | None, QueryError | None]:
    try:
        return parse_expression(text), None
    except QueryError as error:
        return None, error


@given(TREES)
def test_parts_know_where_they_stand(tree: Expression) -> None:
    text = format_expression(tree)
    parsed = parse_expression(text)
    assert 0 <= parsed.start < parsed.end <= len(text)
    if isinstance(parsed, Name | Literal | Aggregate):
        assert text[parsed.start : parsed.end] == text
