"""Which results of a fused computation reach memory, and which stay inside the fusion?"""

from __future__ import annotations

from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ASYNC_DONES, ASYNC_STARTS, FREE, LATER_STEPS

_MAKES_NONE = FREE | ASYNC_STARTS | (LATER_STEPS - ASYNC_DONES)


def find_outputs(body: Computation) -> frozenset[Instruction]:
    """Return the instructions of a fused computation whose results reach memory.

    They are the root, or what its tuple holds; a bitcast's result is its operand's.
    """
    root = body.root
    outputs: set[Instruction] = set()
    for output in (root, *(root.operands if root.opcode == "tuple" else ())):
        found = output
        while found not in outputs:
            outputs.add(found)
            if found.opcode == "bitcast" and found.operands:
                found = found.operands[0]
    return frozenset(outputs)


def find_intermediates(body: Computation) -> list[Instruction]:
    """Return the instructions of a fused computation whose results reach no memory.

    What is `FREE` makes none, fused or not; of asynchronous steps the last makes the result.
    """
    outputs = find_outputs(body)
    return [
        one for one in body.instructions if one.opcode not in _MAKES_NONE and one not in outputs
    ]
