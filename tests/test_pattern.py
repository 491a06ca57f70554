"""Regular expressions of users: what they find, and in what time."""

from __future__ import annotations

import pickle

import pytest
from linear import measure

from hlotool.text import Pattern, PatternError, parse_pattern

MOST_SECONDS = 1.0  # on a busy machine; idle they take a hundredth


@pytest.mark.parametrize(
    ("text", "subject", "is_found"),
    [
        ("layer_[0-9]+/mlp", "decoder/layer_12/mlp/dot", True),
        ("^jit_f$", "jit_f", True),
        ("^jit_f$", "jit_f2", False),
        ("(?i)FUSION", "loop_fusion", True),
        (r"\bdot\b", "a.dot.1", True),
        ("é+", "café", True),
        ("a.c", "a\udc80c", True),
    ],
)
def test_finds(text: str, subject: str, is_found: bool) -> None:
    pattern = parse_pattern(text)
    assert pattern.is_found(subject) is is_found
    copy: Pattern = pickle.loads(pickle.dumps(pattern))  # noqa: S301  as a worker gets it
    assert copy.is_found(subject) is is_found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(", "missing )"),
        ("a[b", "missing ]"),
        ("*", "no argument for repetition operator"),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("((a{100}){100}){100}", "invalid repetition size"),
        ("(" * 10_000, "missing )"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason.replace(")", r"\)").replace("]", r"\]")):
        parse_pattern(text)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("(a+)+$", "a" * 1_000_000 + "b"),
        ("(a|aa)+$", "a" * 1_000_000 + "b"),
        ("a.*a.*a.*b", "a" * 1_000_000),
        ("a?" * 200 + "a" * 200, "a" * 199 + "b"),
        ("(.*,){20}x", "1," * 500_000),
    ],
)
def test_takes_linear_time(text: str, subject: str) -> None:
    def look(size: int) -> None:
        assert not parse_pattern(text).is_found(subject[-size:])

    assert measure(look, len(subject)) < MOST_SECONDS
