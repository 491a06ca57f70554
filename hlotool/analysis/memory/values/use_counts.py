"""How often is each value used?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from hlotool.analysis.dataflow.dataflow import Dataflow, find_values
from hlotool.analysis.dataflow.schedule import flatten_schedule
from hlotool.analysis.dataflow.values import Value
from hlotool.ir.buffers import BufferAssignment, BufferValue
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.opcodes import USES_NOTHING
from hlotool.ir.values import ShapeIndex


class UseCounts:
    """The use counts of one program: those of the used-values section, else counted.

    `flow` are the values of the module, where somebody has found them already.
    """

    def __init__(
        self,
        module: Module | None,
        assignment: BufferAssignment,
        definers: Mapping[str, Instruction],
        flow: Dataflow | None = None,
    ) -> None:
        self.module = module
        self.assignment = assignment
        self.definers = definers
        self._given = flow
        self._counter = UseCounter()

    def of(self, value: BufferValue) -> int | None:
        """Return how many operands a value is; None where neither source tells."""
        if self.assignment.used is not None:
            used = self.assignment.used.get(value.number)
            return used.use_count if used else None
        instruction, index = self.definers.get(value.instruction), value.index or ()
        if instruction is None or self._flow is None:
            return None
        found = self._flow.value_at(instruction, index)
        if found is None or (found.instruction, found.index) != (instruction, index):
            return None
        return self._counter.of(found)

    @cached_property
    def _flow(self) -> Dataflow | None:
        if self._given is not None or self.module is None:
            return self._given
        return find_values(flatten_schedule(self.module))


class UseCounter:
    """Counts the operands through which instructions use each value.

    Follows HloValue::GetUses (xla/service/hlo_value.cc): tuple and domain only pass values
    on, unless they are what a computation returns; get-tuple-element and copy look at the
    top of a tuple alone, a returned get-tuple-element at its element too.
    """

    def __init__(self) -> None:
        self._known: dict[Instruction, _Uses] = {}

    def of(self, value: Value) -> int:
        """Return the uses of a value at all places where it is seen."""
        places = [(value.instruction, value.index), *value.positions]
        return sum(self._uses_of(one).at(index) for one, index in places)

    def _uses_of(self, instruction: Instruction) -> _Uses:
        found = self._known.get(instruction)
        if found is None:
            found = self._known[instruction] = _count_uses(instruction)
        return found


class _Uses(Struct):
    """Operands that look at the top of a result, at all that it holds, at an element returned."""

    top: int = 0
    nested: int = 0
    returned: dict[int, int] = field(default_factory=dict)

    def at(self, index: ShapeIndex) -> int:
        """Return the uses of what stands at an index of the result."""
        return self.nested + self.returned.get(index[0], 0) if index else self.top


def _count_uses(instruction: Instruction) -> _Uses:
    uses = _Uses()
    for user in instruction.users:
        if user.opcode in USES_NOTHING and not user.is_root:
            continue
        times = user.operands.count(instruction)
        uses.top += times
        if user.opcode == "get-tuple-element":
            if user.is_root:
                uses.returned[user.tuple_index] = 1
        elif user.opcode != "copy":
            uses.nested += times
    return uses
