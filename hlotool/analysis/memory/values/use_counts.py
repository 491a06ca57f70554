"""How often is each value used?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from hlotool.analysis.dataflow.dataflow import Dataflow, find_values
from hlotool.analysis.dataflow.schedule import flatten_schedule
from hlotool.ir.buffers import BufferAssignment, BufferValue
from hlotool.ir.module import Instruction, Module
from hlotool.ir.opcodes import USES_NOTHING
from hlotool.ir.values import ShapeIndex


class UseCounts:
    """The use counts of one program: those of the used-values section, else counted."""

    def __init__(
        self,
        module: Module | None,
        assignment: BufferAssignment,
        definers: Mapping[str, Instruction],
    ) -> None:
        self.module = module
        self.assignment = assignment
        self.definers = definers

    def of(self, value: BufferValue) -> int | None:
        """Return how many operands a value is; None where neither source tells."""
        if self.assignment.used is not None:
            used = self.assignment.used.get(value.number)
            return used.use_count if used else None
        instruction = self.definers.get(value.instruction)
        return self._counted.get((instruction, value.index or ())) if instruction else None

    @cached_property
    def _counted(self) -> dict[tuple[Instruction, ShapeIndex], int]:
        if self.module is None:
            return {}
        return count_uses(find_values(flatten_schedule(self.module)))


def count_uses(flow: Dataflow) -> dict[tuple[Instruction, ShapeIndex], int]:
    """Count the operands through which instructions use each value.

    Follows HloValue::GetUses (xla/service/hlo_value.cc): tuple and domain only pass values
    on, unless they are what a computation returns; get-tuple-element and copy look at the
    top of a tuple alone, a returned get-tuple-element at its element too.
    """
    top: dict[Instruction, int] = {}
    nested: dict[Instruction, int] = {}
    returned: dict[tuple[Instruction, int], int] = {}
    for user in flow.schedule.sequence:
        if user.opcode in USES_NOTHING and not user.is_root:
            continue
        for operand in user.operands:
            top[operand] = top.get(operand, 0) + 1
            if user.opcode == "get-tuple-element":
                element = (operand, user.tuple_index)
                returned[element] = returned.get(element, 0) + user.is_root
            elif user.opcode != "copy":
                nested[operand] = nested.get(operand, 0) + 1
    counts: dict[tuple[Instruction, ShapeIndex], int] = {}
    for value in flow.values:
        counts[value.instruction, value.index] = sum(
            nested.get(instruction, 0) + returned.get((instruction, index[0]), 0)
            if index
            else top.get(instruction, 0)
            for instruction, index in [(value.instruction, value.index), *value.positions]
        )
    return counts
