"""Which instructions make a value?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from hlotool.analysis.dataflow.in_place import follow
from hlotool.analysis.graph.call_graph import find_callers
from hlotool.ir.module import Computation, Instruction, Module
from hlotool.ir.opcodes import MOVES
from hlotool.ir.values import ShapeIndex

MOST_MAKERS: Final = 64  # of one value; whoever asks wants the near ones
_MOST_OPERANDS: Final = 8  # of one instruction that are followed
_MOVING: Final = MOVES | {"bitcast", "convert", "copy-done", "copy-start"}
_CALLING: Final = frozenset(("call", "conditional", "custom-call", "reduce", "sort"))


class Makers:
    """Finds the instructions that make a value, for one module."""

    def __init__(self, module: Module) -> None:
        loops = find_callers(module, {"while"})
        self.loops = {computation: found[0] for computation, found in loops.items()}

    def of(self, instruction: Instruction, index: ShapeIndex) -> Iterator[Instruction]:
        """Yield an instruction, then what makes its value: nearest first, at most MOST_MAKERS.

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
