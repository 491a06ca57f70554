"""Which fusions move the same bytes, as they are written alike?"""

from __future__ import annotations

from typing import Final, TypeAlias

from hlotool.analysis.cost.sizes import Sizes
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction

Form: TypeAlias = tuple[object, ...]

# Their traffic depends on attributes, or on what they call: each is like no other.
_LIKE_NO_OTHER: Final = frozenset(("fusion", "get-tuple-element"))


class FusionForms:
    """Writes what the traffic of fusions depends on: where forms are equal, it is.

    That is shapes, by identity as in `sizes`, which operands are one value, and the opcodes of
    the body with their operands, by place. Names and other attributes say nothing of bytes.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._numbers: dict[Form, int] = {}  # of bodies, those alike once
        self._bodies: dict[Computation, int] = {}

    def write(self, fusion: Instruction, body: Computation) -> Form:
        """Return the form of a fusion."""
        given: dict[Instruction, int] = {}
        operands = [
            (id(one.shape), given.setdefault(self._sizes.find_first(one), len(given)))
            for one in fusion.operands
        ]
        return (id(fusion.shape), self._number(body), *operands)

    def _number(self, body: Computation) -> int:
        """Return the number of a body, found once for all fusions that share it."""
        if body not in self._bodies:
            self._bodies[body] = self._numbers.setdefault(_write(body), len(self._numbers))
        return self._bodies[body]


def _write(body: Computation) -> Form:
    """Write a body: which is its root, then its instructions."""
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
    return (places[body.root], *written)
