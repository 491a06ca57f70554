"""How does XLA write foreign text: as it stands, or escaped between quotes?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_PLAIN: Final = re.compile(r"[ !#-&(-\[\]-~]*+")  # printable, but no quote and no backslash
_SHORT: Final = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
_PRINTABLE: Final = range(0x20, 0x7F)
_ESCAPES: Final = [
    _SHORT.get(byte, chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}") for byte in range(256)
]
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}"]', re.DOTALL)


def escape_text(text: str | bytes) -> str:
    """Escape what C would: quotes, backslashes, and each byte that is not printable ASCII."""
    if isinstance(text, str):
        if _PLAIN.fullmatch(text):
            return text
        text = text.encode("utf-8", "surrogateescape")
    return "".join(map(_ESCAPES.__getitem__, text))


def render_config(config: bytes) -> str:
    """Return a configuration as it stands if it is a JSON object, else as a quoted string."""
    try:
        text = config.decode("utf-8")
    except UnicodeDecodeError:
        return f'"{escape_text(config)}"'
    return text if is_json_object(text) else f'"{escape_text(config)}"'


@lru_cache(1 << 8)
def is_json_object(text: str) -> bool:
    """Whether a text can be told to be one JSON object: the braces outside of strings match.

    Nothing else is checked, as XLA's parser finds the end of such a text by that alone.
    """
    if not (text.startswith("{") and text.endswith("}")):
        return False
    depth = 0
    for token in _JSON_TOKEN.finditer(text):
        char = token[0]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return token.end() == len(text)
        elif char == '"':  # opened and never closed
            return False
    return False
