"""Facts about a value: opcode, uses, scope and source line of what defines it.

They come from the module where it is there, else from the instruction texts that the
used-values section of an assignment repeats.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow, find_values
from hlotool.analysis.dataflow.in_place import follow
from hlotool.analysis.dataflow.schedule import flatten_schedule
from hlotool.analysis.graph.call_graph import find_callers
from hlotool.analysis.graph.naming import name_instructions
from hlotool.analysis.origin.scope import find_scope
from hlotool.ir.buffers import Allocation, BufferAssignment, BufferValue, ValueKey, format_position
from hlotool.ir.module import Computation, Instruction, Module
from hlotool.ir.opcodes import MOVES, USES_NOTHING
from hlotool.ir.values import ShapeIndex, SourceLocation

MOST_MAKERS: Final = 64  # instructions that are asked for a scope or a line of one value
_MOST_OPERANDS: Final = 8  # of one instruction that are followed
_MOVING: Final = MOVES | {"bitcast", "convert", "copy-done", "copy-start"}
_CALLING: Final = frozenset(("call", "conditional", "custom-call", "reduce", "sort"))


class Facts(Struct, frozen=True):
    """What is known about the definition of a value; None for what is not.

    `op_name` is the instruction's own. Loops, fusions and copies often have none, or one
    that names no module; `scope` and the source line are then those of what makes the value.
    `moved_parameter` names the entry parameter of which the value is a copy, or a conversion.
    """

    opcode: str | None = None
    op_name: str | None = None
    scope: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    use_count: int | None = None
    moved_parameter: str | None = None


class FactBook:
    """Looks facts up, for one program."""

    def __init__(self, module: Module | None, assignment: BufferAssignment) -> None:
        self.module = module
        self.assignment = assignment
        named = name_instructions(module) if module else {}
        self.instructions = {name: instruction for instruction, name in named.items()}

    def facts_of(self, value: BufferValue) -> Facts:
        """Return the facts about a value."""
        instruction = self.instructions.get(value.instruction)
        if instruction is None:
            return self._from_text(value)
        scope, place, moved = self._origins.find(instruction, value.index or ())
        return Facts(
            instruction.opcode,
            instruction.metadata().op_name or None,
            scope,
            place.file if place else None,
            place.line if place else None,
            self._use_count(value),
            moved,
        )

    @cached_property
    def _origins(self) -> _Origins:
        if self.module is None:
            raise ValueError("no module to look in")
        return _Origins(self.module)

    def parameter_name(self, allocation: Allocation) -> str | None:
        """Return what the user calls the parameter that owns an allocation, None if nothing."""
        number = allocation.parameter
        if number is None:
            return None
        if self.module is not None:
            parameters = self.module.entry.parameters
            found = parameters[number].metadata().op_name if number < len(parameters) else ""
        else:
            found = self._parameter_from_text(allocation)
        index = allocation.parameter_index
        return format_position(found, index or None) if found else None

    def _parameter_from_text(self, allocation: Allocation) -> str:
        for value in allocation.values:
            definition = self.assignment.find_definition(value.number)
            if definition and definition.opcode == "parameter":
                return definition.metadata.op_name
        return ""

    def _from_text(self, value: BufferValue) -> Facts:
        definition = self.assignment.find_definition(value.number)
        if definition is None:
            return Facts()
        metadata = definition.metadata
        return Facts(
            definition.opcode,
            metadata.op_name or None,
            find_scope(metadata.op_name),
            metadata.source_file or None,
            metadata.source_line or None,
            self._use_count(value),
        )

    def _use_count(self, value: BufferValue) -> int | None:
        if self.assignment.used is not None:
            used = self.assignment.used.get(value.number)
            return used.use_count if used else None
        return self._derived_use_counts.get(value.key)

    @cached_property
    def _derived_use_counts(self) -> dict[ValueKey, int]:
        if self.module is None:
            return {}
        return count_uses(find_values(flatten_schedule(self.module)))


def count_uses(flow: Dataflow) -> dict[ValueKey, int]:
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
    counts: dict[ValueKey, int] = {}
    for value in flow.values:
        counts[flow.schedule.names[value.instruction], value.index] = sum(
            nested.get(instruction, 0) + returned.get((instruction, index[0]), 0)
            if index
            else top.get(instruction, 0)
            for instruction, index in [(value.instruction, value.index), *value.positions]
        )
    return counts


class _Origins:
    """Finds where a value comes from in the user's program."""

    def __init__(self, module: Module) -> None:
        self.entry = module.entry
        loops = find_callers(module, {"while"})
        self.loops = {computation: found[0] for computation, found in loops.items()}

    def find(
        self, instruction: Instruction, index: ShapeIndex
    ) -> tuple[str | None, SourceLocation | None, str | None]:
        """Return scope and source line, the instruction's or of what makes the value.

        And the name of the entry parameter, where the value is only a parameter moved.
        """
        scope: str | None = None
        place: SourceLocation | None = None
        for maker in self._makers(instruction, index):
            if maker.opcode == "parameter" and maker.computation is self.entry:
                return scope, place, maker.metadata().op_name or None
            scope = scope or find_scope(maker.metadata().op_name)
            place = place or maker.source_location()
            if scope and place:
                break
        return scope, place, None

    def _makers(self, instruction: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
        """Yield an instruction, then what makes its value: nearest first.

        The last round of a loop makes its state, the inside of a fusion its result, the
        update what is written in place, and the operand what is only copied, converted or
        brought into another layout.
        """
        seen = {instruction}
        pending = deque([_Step(instruction, index)])
        for _ in range(MOST_MAKERS):
            if not pending:
                return
            step = pending.popleft()
            yield step.instruction
            for other in self._behind(step, instruction.computation):
                if other.instruction not in seen and other.instruction.opcode != "constant":
                    seen.add(other.instruction)
                    pending.append(other)

    def _behind(self, step: _Step, home: Computation) -> list[_Step]:
        one, index = step.instruction, step.shape_index
        opcode = one.opcode
        if opcode == "parameter":
            return self._before_parameter(step)
        if opcode == "while":
            return [_Step(*follow(body.root, index)) for body in one.callees("body")]
        if opcode == "fusion":
            bodies = one.callees("calls")
            return [_Step(*follow(body.root, index), one, is_moved=True) for body in bodies]
        is_moving = opcode in _MOVING or opcode == "dynamic-update-slice"
        if not is_moving and (one.computation is home or opcode in _CALLING):
            return []
        operands = one.operands[:_MOST_OPERANDS]
        if opcode == "dynamic-update-slice":
            operands = operands[1:2]
        is_moved = step.is_moved and is_moving
        return [_Step(*follow(each, ()), step.fusion, is_moved=is_moved) for each in operands]

    def _before_parameter(self, step: _Step) -> list[_Step]:
        """Go from a parameter to what the loop, or the fusion that only moves it, puts in."""
        parameter = step.instruction
        loop = self.loops.get(parameter.computation)
        if loop is not None:
            bodies = loop.callees("body")
            return [_Step(*follow(body.root, step.shape_index)) for body in bodies]
        if step.fusion is None or not step.is_moved:
            return []
        number = parameter.parameter_number
        outer = step.fusion.operands[number : number + 1]
        return [_Step(*follow(each, ())) for each in outer]


class _Step(NamedTuple):
    """Where the search is: inside `fusion`, and having only met operations that move data."""

    instruction: Instruction
    shape_index: ShapeIndex
    fusion: Instruction | None = None
    is_moved: bool = False
