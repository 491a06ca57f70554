"""`metadata={...}`: a regex for what machines print, a scanner for everything else."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from hlotool.ir.values import Metadata
from hlotool.parse.scanner import STRING, Scanner
from hlotool.parse.strings import unquote

_PAIR = re.compile(
    rf"([A-Za-z_]\w*+)=(?:({STRING})|(-?[0-9]{{1,18}})|(\{{[^{{}}\"]*+\}}|true|false))(?: |,|\Z)",
    re.ASCII,
)
_KEY = re.compile(r"[A-Za-z_]\w*+", re.ASCII)
_WORD = re.compile(r"[\w.\-+]+", re.ASCII)
_STRINGS = frozenset(("op_type", "op_name", "source_file", "deduplicated_name", "scheduling_name"))
_NUMBERS = frozenset(
    ("source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id")
)

# As machines print it among other attributes, to its closing brace.
_WHOLE = re.compile(rf", ?metadata=\{{(?:[^{{}}\"]++|{STRING})*+\}}")
_MOST_KEPT: Final = 16_384  # values: one text is read again and again, and repeated by others


def drop_metadata(text: str, count: int = 0) -> str:
    """Return a text without the metadata in it; all of them, or the first `count`.

    What no machine prints may stay.
    """
    return _WHOLE.sub("", text, count)


@lru_cache(maxsize=_MOST_KEPT)
def read_metadata(text: str) -> Metadata | None:
    """Read a value as machines print it; None when it is not of that form."""
    if not text.startswith("{") or not text.endswith("}"):
        return None
    strings: dict[str, str] = {}
    numbers: dict[str, int] = {}
    other: dict[str, str] = {}
    pos, end = 1, len(text) - 1
    while pos < end:
        match = _PAIR.match(text, pos, end)
        if match is None:
            return None
        key, string, number, rest = match.groups()
        if string is not None and key in _STRINGS:
            strings[key] = unquote(string)
        elif number is not None and key in _NUMBERS:
            numbers[key] = int(number)
        elif key in _STRINGS or key in _NUMBERS:
            return None
        else:
            other[key] = string or number or rest
        pos = match.end()
    return Metadata(**strings, **numbers, other=other)  # type: ignore[arg-type]


def parse_metadata(scanner: Scanner) -> Metadata:
    """Read metadata by hand.

    metadata = "{" { key "=" ( string | integer | word | "{" … "}" ) [","] } "}"

    Keys that XLA has since dropped or added are kept in `other`.
    """
    scanner.expect("{", "before the metadata")
    strings: dict[str, str] = {}
    numbers: dict[str, int] = {}
    other: dict[str, str] = {}
    while not scanner.accept_token("}"):
        key = scanner.expect_match(_KEY, "a metadata key or '}'")
        scanner.expect("=", f"after {key!r}")
        scanner.skip_blanks()
        start = scanner.pos
        if key in _STRINGS:
            strings[key] = unquote(scanner.expect_string(f"the value of {key!r}"))
        elif key in _NUMBERS:
            numbers[key] = scanner.expect_integer(f"the value of {key!r}")
        elif scanner.peek() in {"{", "["}:
            scanner.skip_group(f"the value of {key!r}")
            other[key] = scanner.text[start : scanner.pos]
        elif scanner.peek() in {'"', "'"}:
            other[key] = scanner.expect_string(f"the value of {key!r}")
        else:
            other[key] = scanner.expect_match(_WORD, f"a value of {key!r}")
        scanner.accept_token(",")
    return Metadata(**strings, **numbers, other=other)  # type: ignore[arg-type]
