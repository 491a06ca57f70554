"""Strings: what XLA escapes comes back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlotool.hlo.scanner import unquote


def escape(text: str) -> str:
    r"""Escape as absl::CEscape does: bytes beyond ASCII and control characters as octal."""
    named = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "'": r"\'", "\\": r"\\"}
    pieces = [
        named.get(char)
        or (
            char
            if " " <= char <= "~"
            else "".join(f"\\{byte:03o}" for byte in char.encode("utf-8"))
        )
        for char in text
    ]
    return f'"{"".join(pieces)}"'


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_back_and_forth(text: str) -> None:
    assert unquote(escape(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ('"', '"'),
        ("'single'", "single"),
        (r'"\x41\101"', "AA"),
        (r'"\\101"', r"\101"),
        (r'"\377"', "�"),
        (r'"\q"', "q"),
        ('"raw\nnewline"', "raw\nnewline"),
    ],
)
def test_unquote(text: str, expected: str) -> None:
    assert unquote(text) == expected
