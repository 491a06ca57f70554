"""Which fusions move the same bytes, as they are written alike?"""

from __future__ import annotations

from typing import Final, TypeAlias

from hlotool.analysis.cost.sizes import Sizes
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction

Form: TypeAlias = tuple[object, ...]

# Their traffic depends on attributes, or on what they call: each is like no other.
_LIKE_NO_OTHER: Final = frozenset(("fusion", "get-tuple-element"))


def write_form(fusion: Instruction, body: Computation, sizes: Sizes) -> Form:
    """Return what the traffic of a fusion depends on: where forms are equal, it is.

    That is shapes, by identity as in `sizes`, which operands are one value, and the opcodes of
    the body with their operands, by place. Names and other attributes say nothing of bytes.
    """
    given: dict[Instruction, int] = {}
    operands = [
        (id(one.shape), given.setdefault(sizes.find_first(one), len(given)))
        for one in fusion.operands
    ]
    places = {one: place for place, one in enumerate(body.instructions)}
    written = [
        (
            one if one.opcode in _LIKE_NO_OTHER else one.opcode,
            id(one.shape),
            one.literal if one.opcode == "parameter" else "",
            *map(places.__getitem__, one.operands),
        )
        for one in body.instructions
    ]
    return (id(fusion.shape), places[body.root], *operands, *written)
