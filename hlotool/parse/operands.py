"""Operand lists: `%a, %b`, `a, b`, `f32[8]{0} %a, /*index=5*/(s32[], f32[]) %b`.

The fast readers give up (None) on whatever they do not take apart exactly; the slow
reader in `parse/instruction` then reads it or says what is wrong.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.parse.scanner import NAME
from hlotool.parse.shape import ShapeCache

# Any array or tuple spelling without comments; `ShapeCache` decides whether it is a shape.
_ARRAY: Final = r"[a-z]\w*+\[[^\]\s]*+\](?:\{[^}\s]*+\})?+"
_TUPLE: Final = r"\((?:[^()\"]++|\((?:[^()\"]++|\((?:[^()\"]++|\([^()\"]*+\))*+\))*+\))*+\)"
_OPERAND = re.compile(rf"(?:/\*[^*]*+\*/)?+(?:({_ARRAY}|{_TUPLE}) )?+%?+({NAME})(?:, |\Z)")


def split_names(text: str) -> list[str]:
    """Split the plain spellings; exact when every part turns out to be a defined name."""
    if text[0] == "%":
        return text[1:].split(", %")
    return text.split(", ")


def find_names(text: str, shapes: ShapeCache) -> list[str] | None:
    """Take an operand list with shapes or index comments apart; None if it is not one."""
    names: list[str] = []
    pos = 0
    while pos < len(text):
        match = _OPERAND.match(text, pos)
        if match is None:
            return None
        shape, name = match.groups()
        if shape is not None and shapes.find(shape) is None:
            return None
        names.append(name)
        pos = match.end()
    return None if text.endswith(", ") else names
