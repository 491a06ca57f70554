"""Which steps does an asynchronous operation have, and what does each of them give it?

A chain is an async-start, any number of async-updates and an async-done, each the first operand
of the next (HloAsyncInstruction, xla/hlo/ir/hlo_instructions.h). Operands, and the place of the
result, may be bound late, by any step: `async-start()`, then `async-update(start, x)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.errors import ParseError
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import LATER_STEPS
from hlotool.ir.shape import TupleShape

MOST_STEPS: Final = 256  # of one asynchronous operation; XLA makes a handful
NO_RESULT: Final = TupleShape(())


def find_async_start(step: Instruction) -> Instruction | None:
    """Return the start of an asynchronous operation from any of its steps, None for others.

    Raises ParseError where there are more than MOST_STEPS.
    """
    *_, first = _list_steps_back(step)
    return first if first.opcode == "async-start" else None


def _list_steps_back(step: Instruction) -> list[Instruction]:
    """Return a step and those before it, back to the first."""
    steps = [step]
    while step.opcode in LATER_STEPS and step.operands:
        step = step.operands[0]
        steps.append(step)
        if len(steps) > MOST_STEPS:
            message = f"an asynchronous operation has more than {MOST_STEPS} steps"
            raise ParseError(message, step.computation.module.source, step.start - 1, step.start)
    return steps


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
    *later, first = _list_steps_back(step)
    if not later:
        return first.operands
    return (*first.operands, *(one for each in reversed(later) for one in each.operands[1:]))


def all_operands(caller: Instruction) -> tuple[Instruction, ...]:
    """Return what an instruction gives the computation it calls; an async-start, with all steps."""
    operands = list(caller.operands)
    if caller.opcode == "async-start":
        for step in list_later_steps(caller):
            operands += step.operands[1:]
    return tuple(operands)
