"""Which instructions make a value?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from hlotool.analysis.dataflow.in_place import follow
from hlotool.analysis.graph.call_graph import find_branches
from hlotool.analysis.origin.scope import is_of_loop
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.module import Module
from hlotool.ir.opcodes import CONTROL_FLOW, MOVES
from hlotool.ir.shape import TupleShape
from hlotool.ir.values import ShapeIndex

MOST_MAKERS: Final = 64  # of one value; whoever asks wants the near ones
_MOST_OPERANDS: Final = 8  # of one instruction that are followed
# Their elements are those of the first operand, all or some of them.
_MOVING: Final = MOVES | {
    "async-done", "async-update", "bitcast", "convert", "copy-done", "copy-start",
    "dynamic-slice", "opt-barrier", "pad", "slice",
}  # fmt: skip
_UPDATING: Final = "dynamic-update-slice"
_JOINING: Final = "ConcatBitcast"  # TPU: slices of one array, fetched one by one, are one again
_ENTERED: Final = frozenset(("async-start", "call", "fusion"))
_CALLING: Final = frozenset(("custom-call", "reduce", "sort"))

Place: TypeAlias = tuple[Instruction, ShapeIndex]


class Makers:
    """Finds the instructions that make a value, for one module.

    `callers` are the instructions, loops among them, that name each computation.
    """

    def __init__(
        self, module: Module, callers: Mapping[Computation, Sequence[Instruction]]
    ) -> None:
        self.entry = module.entry
        self.loops = {
            computation: loop
            for computation, found in callers.items()
            if (loop := next((one for one in found if one.opcode == "while"), None))
        }
        self.loop_lines = {
            (place.file, place.line)
            for loop in dict.fromkeys(self.loops.values())
            for one in (loop, *(condition.root for condition in loop.callees("condition")))
            if (place := one.source_location())
        }

    def of(self, instruction: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
        """Yield an instruction, then what makes its value: nearest first, at most MOST_MAKERS.

        The last round of a loop makes its state, or what enters it where no round changes it;
        the inside of a fusion, a call or an asynchronous start its result, the update what is
        written in place, the operand what is only moved: copied, converted, cut out, brought
        into another layout. Of what a loop does for itself, the operands are makers. An entry
        parameter is yielded where the value is only moved from it.
        """
        pending = deque([_Step(instruction, index)])
        seen = {(instruction, index)}
        for _ in range(MOST_MAKERS):
            if not pending:
                return
            step = pending.popleft()
            yield step.instruction
            for other in self._behind(step):
                place = other.instruction, other.shape_index
                if place not in seen and self._may_tell(other):
                    seen.add(place)
                    pending.append(other)

    def places_behind(self, instruction: Instruction, index: ShapeIndex) -> tuple[Place, ...]:
        """Return where the search for a value's makers goes from its definition."""
        steps = self._behind(_Step(instruction, index))
        return tuple((one.instruction, one.shape_index) for one in steps)

    def is_vague(self, instruction: Instruction) -> bool:
        """Whether an instruction's scope and line are no value's own, if another's are known.

        So it is where it runs others, where it is a fusion of several results, and where it is a
        loop's own: there JAX cuts the state of a round out of arrays, stacks results and counts.
        """
        if instruction.opcode in CONTROL_FLOW:
            return True
        if instruction.opcode == "fusion" and isinstance(instruction.shape, TupleShape):
            return True
        return self._is_of_loop(instruction)

    def is_in_loop_line(self, instruction: Instruction) -> bool:
        """Whether an instruction's line is one that calls a loop, and so may be the loop's."""
        place = instruction.source_location()
        return place is not None and (place.file, place.line) in self.loop_lines

    def _is_of_loop(self, instruction: Instruction) -> bool:
        is_in_line = self.is_in_loop_line(instruction)
        return is_in_line and is_of_loop(instruction.metadata().op_name)

    def _may_tell(self, step: _Step) -> bool:
        one = step.instruction
        is_given = one.opcode == "parameter" and one.computation is self.entry
        return one.opcode != "constant" and (step.is_moved or not is_given)

    def _behind(self, step: _Step) -> list[_Step]:
        one, index = step.instruction, step.shape_index
        opcode = one.opcode
        if opcode == "parameter":
            return self._before_parameter(step)
        if opcode == "while":
            return [step.to(body.root, index) for body in one.callees("body")]
        if opcode == "conditional":
            return [step.into(branch, index) for branch in find_branches(one)[:MOST_MAKERS]]
        if opcode in _ENTERED:
            callee = one.callee()
            inner = index[1:] if opcode == "async-start" else index
            return [step.into(callee, inner)] if callee else []
        return self._before_operation(step)

    def _before_operation(self, step: _Step) -> list[_Step]:
        """Go from an operation to the operands that make its result, if any do."""
        one = step.instruction
        operands = one.operands[:_MOST_OPERANDS]
        if one.opcode == _UPDATING:
            return [step.to(each) for each in operands[1:2]]
        if one.opcode in _MOVING or _is_joined(one):
            index = step.shape_index if one.opcode == "opt-barrier" else ()
            return [step.to(each, index) for each in operands[:1]]
        if self._is_of_loop(one):
            return [step.to(each)._replace(is_moved=False) for each in operands]
        if step.is_in_fusion and one.opcode not in _CALLING:
            changed = step._replace(is_moved=False, is_handed_on=False)
            return [changed.to(each) for each in operands]
        return []

    def _before_parameter(self, step: _Step) -> list[_Step]:
        """Go from a parameter to what the loop, or the caller that only moves it, puts in."""
        parameter, index = step.instruction, step.shape_index
        loop = self.loops.get(parameter.computation)
        if loop is not None:
            last = [step.to(body.root, index) for body in loop.callees("body")]
            is_kept = all((one.instruction, one.shape_index) == (parameter, index) for one in last)
            return [step.to(each, index) for each in loop.operands[:1]] if is_kept else last
        caller = step.caller
        if caller is None or caller.instruction.opcode == "conditional" or not step.is_handed_on:
            return []
        number = parameter.parameter_number
        outer = caller._replace(is_moved=step.is_moved)
        return [outer.to(each, index) for each in caller.instruction.operands[number : number + 1]]


class _Step(NamedTuple):
    """Where the search is: in what `caller` calls, or where the value is defined.

    `is_moved`: it has only met operations that move data. `is_handed_on`: so it is inside the
    caller, but for what a loop does for itself.
    """

    instruction: Instruction
    shape_index: ShapeIndex
    caller: _Step | None = None
    is_moved: bool = True
    is_handed_on: bool = True

    @property
    def is_in_fusion(self) -> bool:
        """Whether the instruction is a part of a fusion."""
        return self.caller is not None and self.caller.instruction.opcode == "fusion"

    def to(self, instruction: Instruction, index: ShapeIndex = ()) -> _Step:
        """Go to another instruction, or to what it only names."""
        found, at = follow(instruction, index)
        return _Step(found, at, self.caller, self.is_moved, self.is_handed_on)

    def into(self, callee: Computation, index: ShapeIndex) -> _Step:
        """Go to the result of what the instruction calls."""
        found, at = follow(callee.root, index)
        return _Step(found, at, self, self.is_moved)


def _is_joined(instruction: Instruction) -> bool:
    return instruction.opcode == "custom-call" and instruction.custom_call_target == _JOINING
