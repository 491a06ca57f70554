"""Which instruction defines a value? Assignments only name it."""

from __future__ import annotations

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.ir.buffers import BufferAssignment
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module


def find_definers(
    module: Module, assignment: BufferAssignment, flow: Dataflow | None = None
) -> dict[str, Instruction]:
    """Return the instructions of a module by the names that an assignment has for them.

    An estimate was made of `flow`, and has full names. XLA's names are unique in the module that
    it dumps; one that several computations of this text have could be any of these, and is left
    out.
    """
    if flow is not None:
        return {one.instruction.full_name: one.instruction for one in flow.values}
    values = (value for each in assignment.allocations for value in each.values)
    wanted = {value.instruction for value in values}
    wanted -= module.repeated_names
    return {one.name: one for one in module.instructions() if one.name in wanted}


def are_told_apart(module: Module, assignment: BufferAssignment) -> bool:
    """Whether each value outside thread-local memory names one instruction, not several."""
    repeated = module.repeated_names
    return not repeated or all(
        value.instruction not in repeated
        for allocation in assignment.allocations
        if not allocation.is_thread_local
        for value in allocation.values
    )
