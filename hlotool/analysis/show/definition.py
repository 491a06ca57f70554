"""How is an instruction written so that it can be read? Without what tables show better."""

from __future__ import annotations

from typing import Final

from hlotool.analysis.show.names import find_part
from hlotool.ir.buffers import format_position
from hlotool.ir.instruction import Instruction
from hlotool.ir.values import ShapeIndex

# What other lines of the answer say, or nobody reads.
_LEFT_OUT: Final = frozenset(("metadata", "sharding", "frontend_attributes", "origin"))


def write_definition(instruction: Instruction, index: ShapeIndex | None = None) -> tuple[str, ...]:
    """Return `name = shape opcode(operands)` and, a line each, the attributes.

    Operands are names, shapes are without layout. Metadata is left out. Of a part of a tuple it is
    `name{13} = shape of opcode(operands)`, with the shape of that part.
    """
    inside = ", ".join(one.name for one in instruction.operands) or instruction.literal
    root = "ROOT " if instruction.is_root else ""
    made = f"{instruction.opcode}({inside})"
    if index:
        name = format_position(instruction.name, index)
        first = f"{root}{name} = {find_part(instruction.shape, index)} of {made}"
    else:
        first = f"{root}{instruction.name} = {instruction.shape} {made}"
    attributes = (
        f"{key}={' '.join(text.split())}"
        for key, text in instruction.attributes.items()
        if key not in _LEFT_OUT
    )
    return (first, *attributes)
