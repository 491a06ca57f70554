"""In which order does XLA visit instructions where it visits operands first?"""

from __future__ import annotations

from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction


def number_post_order(schedule: Schedule) -> dict[Instruction, int]:
    """Return the place of all that runs: callers before callees, operands before users.

    Follows HloComputation::MakeInstructionPostOrder (xla/hlo/ir/hlo_computation.cc). Callees,
    and instructions that no other uses, are visited as they are scheduled: XLA goes by the order
    in which they were made, which is not in a dump. Control dependencies do not count.
    """
    order: dict[Instruction, int] = {}
    for computation in reversed(tuple(schedule.spans)):
        _visit(computation, order)
    return order


def _visit(computation: Computation, order: dict[Instruction, int]) -> None:
    """Give each instruction its place: depth-first, the first operand first."""
    opened: set[Instruction] = set()
    for last in computation.instructions:
        pending = [] if last.users else [last]
        while pending:
            instruction = pending[-1]
            if instruction not in opened:
                opened.add(instruction)
                pending += [one for one in reversed(instruction.operands) if one not in order]
                continue
            pending.pop()
            if instruction not in order:
                order[instruction] = len(order)
