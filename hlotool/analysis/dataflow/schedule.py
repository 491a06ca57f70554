"""The schedule: the one sequence in which a scheduled module's instructions run.

Follows HloLiveRange::FlattenSchedule (xla/hlo/utils/hlo_live_range.cc): the instructions
of a called computation stand before the instruction that calls it, once, however often
it runs. Positions in this sequence are the time of every memory figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hlotool.analysis.graph.calls import refuse_recursion
from hlotool.errors import InputError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.module import (
    NO_RESULT,
    awaits_result,
    bound_operands,
    find_async_start,
    list_later_steps,
)
from hlotool.hlo.opcodes import CONTROL_FLOW

_CANONICAL: Final = re.compile(r"tmp_[0-9]+")  # every name of HloPrintOptions::Canonical


class Schedule(Struct, frozen=True):
    """Instructions by position; `flatten_schedule` fills it, and nothing changes it later.

    `spans` are the positions of each computation, `callers` the calls through which they were met.
    `async_contexts` maps what runs inside an asynchronous operation to the outermost computation
    of it.
    """

    module: Module
    sequence: list[Instruction]
    positions: dict[Instruction, int]
    spans: dict[Computation, range]
    callers: dict[Computation, Instruction]
    async_contexts: dict[Computation, Computation]

    @property
    def end(self) -> int:
        """The position after the last instruction: what leaves the program lives there."""
        return len(self.sequence)


def require_schedule(module: Module) -> Schedule:
    """Return the schedule of a module; raise InputError where its text does not hold one.

    An unscheduled module prints its instructions in some order of dependence, and figures
    made from that would mean nothing.
    """
    if problem := find_problem(module):
        raise InputError(f"{module.source.name}: {problem}")
    return flatten_schedule(module)


def find_problem(module: Module) -> str | None:
    """Say why the order of a module's instructions is no schedule, None if it is one."""
    if not module.header.is_scheduled:
        return (
            f"module {module.name!r} is not scheduled, so its live ranges are unknown. "
            "Use the text after optimizations (compiled.as_text() in JAX): "
            "'*after_optimizations.txt', with 'is_scheduled=true' in its first line."
        )
    instructions = module.entry.instructions
    is_canonical = all(_CANONICAL.fullmatch(one.name) for one in instructions)
    if is_canonical and any(control_flow_callees(one) for one in instructions):
        return (
            "this text is in canonical form, without the schedule of loops and branches, "
            "so live ranges are unknown. Use the text that XLA dumps, or "
            "compiled.as_text() in JAX."
        )
    return None


def flatten_schedule(module: Module) -> Schedule:
    """Put the instructions of all computations that run into one sequence.

    A while's condition and body, the branches of a conditional and the callees of call and
    async operations stand before the instruction that names them first.
    Raises ParseError when a computation calls itself.
    """
    schedule = Schedule(module, [], {}, {}, {}, {})
    opened: set[Computation] = set()
    stack = [_walk(schedule, module.entry, opened)]  # of iterators, so that nesting has no limit
    while stack:
        if (callee := next(stack[-1], None)) is None:
            stack.pop()
        else:
            stack.append(_walk(schedule, callee, opened))
    return schedule


def _walk(
    schedule: Schedule, computation: Computation, opened: set[Computation]
) -> Iterator[Computation]:
    """Append a computation's instructions; yield the callees that must come first."""
    opened.add(computation)
    start = schedule.end
    context = schedule.async_contexts.get(computation)
    for instruction in computation.instructions:
        if instruction.opcode in CONTROL_FLOW:
            for callee in control_flow_callees(instruction):
                # Opened and not closed: it stands above on the stack, and calls itself.
                if callee in opened and callee not in schedule.spans:
                    refuse_recursion(instruction, callee)
                if callee in opened or not _is_bound(instruction, callee):
                    continue
                schedule.callers[callee] = instruction
                if instruction.opcode.startswith("async-"):
                    schedule.async_contexts[callee] = callee
                elif context is not None:
                    schedule.async_contexts[callee] = context
                yield callee
        schedule.positions[instruction] = len(schedule.sequence)
        schedule.sequence.append(instruction)
    schedule.spans[computation] = range(start, schedule.end)


def control_flow_callees(instruction: Instruction) -> tuple[Computation, ...]:
    """Return the computations an instruction runs in its own time, in execution order."""
    if instruction.opcode == "while":
        return (instruction.expect_callee("condition"), instruction.expect_callee("body"))
    if instruction.opcode in {"call", "conditional"}:
        return instruction.called_computations()
    start = find_async_start(instruction)
    return start.callees("calls") if start else ()


def _is_bound(instruction: Instruction, callee: Computation) -> bool:
    """Whether an asynchronous operation has all its operands, and a place for its result.

    A later step may bring them. XLA flattens the wrapped computation before the first that
    has both (AreOperandsAndOutputFullyBound, xla/hlo/ir/hlo_instruction_utils.cc).
    """
    if instruction.opcode not in {"async-start", "async-update"}:
        return True
    if awaits_result(instruction) and callee.root.shape != NO_RESULT:
        return False
    return len(bound_operands(instruction)) >= len(callee.parameters)


def number_post_order(schedule: Schedule) -> dict[Instruction, int]:
    """Return the place of all that runs: callers before callees, operands before users.

    Follows HloComputation::MakeInstructionPostOrder (xla/hlo/ir/hlo_computation.cc). Callees,
    and instructions that no other uses, are visited as they are scheduled: XLA goes by the order
    in which they were made, which is not in a dump. Control dependencies do not count.
    """
    order: dict[Instruction, int] = {}
    opened: set[Instruction] = set()
    ends = (one for computation in reversed(schedule.spans) for one in computation.instructions)
    for last in ends:
        pending = [] if last.users else [last]
        while pending:  # depth-first, the first operand first
            instruction = pending[-1]
            if instruction not in opened:
                opened.add(instruction)
                pending += [one for one in reversed(instruction.operands) if one not in order]
                continue
            pending.pop()
            if instruction not in order:
                order[instruction] = len(order)
    return order


def find_async_end(schedule: Schedule, computation: Computation) -> int | None:
    """Return the position of the last step, None for what runs in no asynchronous operation.

    What is defined inside lives at least so long (HloLiveRange::CalculateBufferStartEndMap,
    xla/hlo/utils/hlo_live_range.cc).
    """
    if computation not in schedule.async_contexts:
        return None
    caller = schedule.callers[schedule.async_contexts[computation]]
    return max(schedule.positions.get(step, -1) for step in (caller, *list_later_steps(caller)))
