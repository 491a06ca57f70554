"""How is an instruction written so that it can be read? Without what tables show better."""

from __future__ import annotations

from typing import Final

from hlotool.ir.module import Instruction

_MOST_CHARACTERS: Final = 100  # of one attribute, or literal
# What other lines of the answer say, or nobody reads.
_LEFT_OUT: Final = frozenset(("metadata", "sharding", "frontend_attributes", "origin"))


def write_definition(instruction: Instruction) -> tuple[str, ...]:
    """Return `name = shape opcode(operands)` and, a line each, the attributes.

    Operands are names, shapes are without layout. Metadata is left out, and what is long is cut.
    """
    inside = ", ".join(one.name for one in instruction.operands) or instruction.literal
    root = "ROOT " if instruction.is_root else ""
    first = f"{root}{instruction.name} = {instruction.shape} {instruction.opcode}({_cut(inside)})"
    attributes = (
        f"{key}={_cut(' '.join(text.split()))}"
        for key, text in instruction.attributes.items()
        if key not in _LEFT_OUT
    )
    return (first, *attributes)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
