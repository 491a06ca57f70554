"""Which steps does an asynchronous operation have, and what does each of them give it?

A chain is an async-start, any number of async-updates and an async-done, each the first operand
of the next (HloAsyncInstruction, xla/hlo/ir/hlo_instructions.h). Operands, and the place of the
result, may be bound late, by any step: `async-start()`, then `async-update(start, x)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.ir.module import Instruction
from hlotool.ir.opcodes import LATER_STEPS
from hlotool.ir.shape import TupleShape

NO_RESULT: Final = TupleShape(())


def find_async_start(step: Instruction) -> Instruction | None:
    """Return the start of an asynchronous operation from any of its steps, None for others."""
    while step.opcode in LATER_STEPS and step.operands:
        step = step.operands[0]
    return step if step.opcode == "async-start" else None


def list_later_steps(step: Instruction) -> Iterator[Instruction]:
    """Yield what goes on with a step, up to the done."""
    following: Instruction | None = step
    while following is not None:
        step = following
        following = next((user for user in step.users if _goes_on_with(user, step)), None)
        if following is not None:
            yield following


def _goes_on_with(user: Instruction, step: Instruction) -> bool:
    return user.opcode in LATER_STEPS and user.operands[0] is step


def awaits_result(step: Instruction) -> bool:
    """Say whether a start or update has no place for the result yet: `((f32[8]), (), s32[])`."""
    shape = step.shape
    return isinstance(shape, TupleShape) and NO_RESULT in shape.elements[1:2]


def bound_operands(step: Instruction) -> tuple[Instruction, ...]:
    """Return what a step and those before it give the operation, in the order of parameters."""
    bound: list[Instruction] = []
    while step.opcode in LATER_STEPS and step.operands:
        bound[:0] = step.operands[1:]
        step = step.operands[0]
    return (*step.operands, *bound)


def all_operands(caller: Instruction) -> tuple[Instruction, ...]:
    """Return what an instruction gives the computation it calls; an async-start, with all steps."""
    operands = list(caller.operands)
    if caller.opcode == "async-start":
        for step in list_later_steps(caller):
            operands += step.operands[1:]
    return tuple(operands)
