"""How is an instruction written so that it can be read? Without what tables show better."""

from __future__ import annotations

from typing import Final

from hlotool.ir.module import Instruction

# What other lines of the answer say, or nobody reads.
_LEFT_OUT: Final = frozenset(("metadata", "sharding", "frontend_attributes", "origin"))


def write_definition(instruction: Instruction) -> tuple[str, ...]:
    """Return `name = shape opcode(operands)` and, a line each, the attributes.

    Operands are names, shapes are without layout. Metadata is left out.
    """
    inside = ", ".join(one.name for one in instruction.operands) or instruction.literal
    root = "ROOT " if instruction.is_root else ""
    first = f"{root}{instruction.name} = {instruction.shape} {instruction.opcode}({inside})"
    attributes = (
        f"{key}={' '.join(text.split())}"
        for key, text in instruction.attributes.items()
        if key not in _LEFT_OUT
    )
    return (first, *attributes)
