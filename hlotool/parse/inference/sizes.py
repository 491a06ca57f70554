"""How large may the inferred shapes of a module be, all together?

A stated shape is as long as its text. Inferred ones can double with every line.
"""

from __future__ import annotations

from typing import Final

from hlotool.ir.instruction import Instruction
from hlotool.ir.shape import ArrayShape, Shape
from hlotool.parse.inference.operands import fail
from hlotool.parse.layout import is_countable
from hlotool.parse.scanner import MOST_NESTED

MOST_PARTS: Final = 1 << 20  # tuples, arrays and dimensions; what people write has thousands


class SizeLimit:
    """Counts the parts of the shapes that are inferred for one module."""

    def __init__(self) -> None:
        self._parts = 0

    def count(self, instruction: Instruction, shape: Shape) -> None:
        """Count a shape's parts; refuse one that is too large."""
        pending = [(shape, 1)]
        while pending:
            part, level = pending.pop()
            self._parts += 1
            if isinstance(part, ArrayShape):
                self._parts += len(part.dims)
                if not is_countable(part.dims):
                    fail(instruction, "it has more elements than 64 bits count")
            else:
                pending.extend((element, level + 1) for element in part.elements)
            if self._parts + len(pending) > MOST_PARTS:
                fail(instruction, f"shapes left out have more than {MOST_PARTS:,} parts together")
            if level > MOST_NESTED:
                fail(instruction, f"tuples are nested more than {MOST_NESTED} deep")
