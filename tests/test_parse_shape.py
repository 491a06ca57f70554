"""Shapes: the regular expressions of the cache and the descent read every spelling alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.errors import ParseError
from hlotool.hlo import Shape
from hlotool.hlo.scanner import Scanner
from hlotool.hlo.shape import DTYPE_BITS
from hlotool.hlo.shape_parser import ShapeCache, parse_shape
from hlotool.text import Source

PARTS = ("", ":T(8,128)", ":T(8,128)(2,1)S(1)", ":E(4)", ":T(2,*)L(8)", ":SC(0:1)", ":M(16)")


@st.composite
def spell_array(draw: st.DrawFn) -> str:
    """Spell an array, mostly as XLA would."""
    dims = draw(st.lists(st.sampled_from(["0", "1", "7", "130", "<=9", "?", "99999999999"])))
    dtype = draw(st.sampled_from([*DTYPE_BITS, "f7"]))
    order = draw(st.permutations(range(len(dims))))
    layout = draw(st.sampled_from(["", "{}", "{%s%s}", "{%s%s}", "{%s%s}"]))
    if "%" in layout:
        layout %= (",".join(map(str, order)), draw(st.sampled_from(PARTS)))
    return f"{dtype}[{','.join(dims)}]{layout}"


def join(parts: list[str]) -> str:
    return f"({', '.join(parts)})"


def join_with_comments(parts: list[str]) -> str:
    marked = [f"/*index={n}*/{part}" if n and n % 5 == 0 else part for n, part in enumerate(parts)]
    return join(marked)


SHAPES = st.recursive(
    spell_array(),
    lambda inner: (
        st.lists(inner, max_size=7).map(join) | st.lists(inner, max_size=7).map(join_with_comments)
    ),
    max_leaves=12,
)


def parse_slowly(text: str) -> Shape | None:
    scanner = Scanner(Source(text))
    try:
        shape = parse_shape(scanner)
    except ParseError:
        return None
    return shape if scanner.pos == len(text) else None


@given(SHAPES)
def test_both_readers(text: str) -> None:
    assert ShapeCache(Source("")).find(text) == parse_slowly(text)


@given(SHAPES, st.integers(0, 200), st.sampled_from("(){}[],:* x1"))
def test_both_readers_on_broken_ones(text: str, place: int, char: str) -> None:
    at = place % len(text)
    broken = text[:at] + char + text[at + 1 :]
    assert ShapeCache(Source("")).find(broken) == parse_slowly(broken)


@given(SHAPES)
def test_printed_shapes_parse(text: str) -> None:
    shape = parse_slowly(text)
    if shape is not None:
        assert parse_slowly(str(shape)) == shape.without_layout()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[]{:T(128)}", 512),
        ("bf16[]{:T(256)}", 512),
        ("pred[]{:T(512)}", 512),
        ("bf16[9,130]{1,0:T(8,128)(2,1)}", 8192),
        ("bf16[6,256,2048]{2,1,0:T(8,128)(2,1)}", 6291456),
        ("bf16[6,256,2048]{0,2,1:T(8,128)(2,1)}", 256 * 2048 * 128 * 2),
        ("f32[4,6]{1,0:T(*,8)}", 96),
        ("f32[5,6]{1,0:T(*,8)}", 128),
        ("s4[13]{0}", 13),
        ("s4[13]{0:E(4)}", 7),
        ("f6e3m2fn[3]", 3),
        ("c128[2]", 32),
        ("token[]", 0),
        ("(f32[2], (s8[3], token[]))", 11),
        ("f32[<=4,2]", 32),
        ("f32[?,2]", None),
        ("(f32[2], f32[?])", None),
        ("f32[0,1000]{1,0:T(8,128)}", 0),
    ],
)
def test_sizes(text: str, expected: int | None) -> None:
    shape = ShapeCache(Source("")).find(text)
    assert shape is not None
    assert shape.size_bytes == expected
