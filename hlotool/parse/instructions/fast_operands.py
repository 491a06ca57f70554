"""Operand lists beyond plain names: `%a, /*index=5*/%b`, `f32[8]{0} %a, (s32[], f32[]) %b`.

The fast readers give up (None) on whatever they do not take apart exactly; the slow
reader in `operands` then reads it or says what is wrong.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.ir.instruction import Instruction
from hlotool.parse.scanner import NAME
from hlotool.parse.shape import ShapeCache, drop_indices

# Any array or tuple spelling without comments; `ShapeCache` decides whether it is a shape.
_ARRAY: Final = r"[a-z][a-z0-9]*+\[[^\]\s]*+\](?:\{[^}\s]*+\})?+"
_TUPLE: Final = r"\((?:[^()\"]++|\((?:[^()\"]++|\((?:[^()\"]++|\([^()\"]*+\))*+\))*+\))*+\)"
_OPERAND = re.compile(rf"(?:/\*[^*]*+\*/)?+(?:({_ARRAY}|{_TUPLE}) )?+%?+({NAME})(?:, |\Z)")


def find_operands(
    text: str, defined: dict[str, Instruction], shapes: ShapeCache
) -> tuple[Instruction, ...] | None:
    """Resolve an operand list with shapes or index comments; None if any part is unclear."""
    if text.startswith("%"):
        try:
            names = drop_indices(text)[1:].split(", %")
            return tuple(map(defined.__getitem__, names))
        except KeyError:
            pass
    operands: list[Instruction] = []
    pos = 0
    while pos < len(text):
        match = _OPERAND.match(text, pos)
        if match is None:
            return None
        shape, name = match.groups()
        operand = defined.get(name)
        if operand is None or (shape is not None and shapes.find(shape) is None):
            return None
        operands.append(operand)
        pos = match.end()
    return None if text.endswith(", ") else tuple(operands)
