"""Quoted strings and string maps: C escapes undone, raw JSON-like values kept."""

from __future__ import annotations

import re

from hlotool.parse.scanner import Scanner

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
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_unescape, inner)


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
    scanner.expect("{", "before the attributes")
    values: dict[str, str] = {}
    while not scanner.accept_token("}"):
        key = unquote(scanner.expect_match(_KEY, "a key"))
        scanner.expect("=", f"after the key {key!r}")
        scanner.skip_blanks()
        if scanner.peek() == "{":
            start = scanner.pos
            scanner.skip_group(f"the value of {key!r}")
            values[key] = scanner.text[start : scanner.pos]
        elif scanner.peek() in {'"', "'"}:
            values[key] = unquote(scanner.expect_string(f"the value of {key!r}"))
        else:
            values[key] = scanner.expect_match(_KEY, f"a value of {key!r}")
        if not scanner.accept_token(","):
            scanner.expect("}", "or ',' after a value")
            break
    return values
