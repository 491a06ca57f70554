"""Is a line async sugar, and for what? The opcode tells, or the shape where XLA has that opcode."""

from __future__ import annotations

from typing import Final

from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ASYNC_DONES, ASYNC_STARTS, LATER_STEPS, sugared_opcode
from hlotool.ir.shape import ArrayShape, Shape

# Starts and dones that are opcodes of their own, and those that take all operands in one tuple.
_OWN_STARTS: Final = ASYNC_STARTS - {"async-start"}
_OWN_DONES: Final = ASYNC_DONES - {"async-done"}
_TAKE_TUPLES: Final = frozenset(("all-gather-start", "collective-permute-start"))
MAY_BE_SUGAR: Final = _OWN_STARTS | _OWN_DONES

_STEPS: Final = LATER_STEPS | {"async-start"}
_WITH_CONTEXT: Final = 3  # operands, result, and one number or more


def find_sugar(
    opcode: str, shape: Shape, operands: tuple[Instruction, ...]
) -> tuple[str, str] | None:
    """Split async sugar: `slice-start` gives ("async-start", "slice"); None for all else."""
    if opcode in MAY_BE_SUGAR and _is_lookalike(opcode, shape, operands):
        wrapped, _, step = opcode.rpartition("-")
        return f"async-{step}", wrapped
    return sugared_opcode(opcode)


def _is_lookalike(opcode: str, shape: Shape, operands: tuple[Instruction, ...]) -> bool:
    """Say whether a `copy-start` wraps a copy, instead of being the opcode of that name.

    XLA prints both alike; only the shape tells. In front, an async-start has a tuple of all
    operands, but a copy-start its destination, an all-reduce-start a result, and the others
    their operand. Of several operands these have a tuple too, but then nothing, or two numbers,
    behind the results. A done ends what its operand is.
    """
    if opcode in _OWN_DONES:
        return bool(operands) and operands[0].opcode in _STEPS
    if isinstance(shape, ArrayShape) or not shape.elements:
        return False
    if not _holds(shape.elements[0], operands):
        return False
    is_open = len(operands) > 1 and opcode in _TAKE_TUPLES
    return not is_open or len(shape.elements) == _WITH_CONTEXT


def _holds(first: Shape, operands: tuple[Instruction, ...]) -> bool:
    """Say whether the first element of a start is the tuple of its operands."""
    if isinstance(first, ArrayShape) or not operands or len(first.elements) != len(operands):
        return False
    return all(
        one.without_layout() == operand.shape.without_layout()
        for one, operand in zip(first.elements, operands, strict=True)
    )
