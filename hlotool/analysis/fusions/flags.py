"""What is odd about a fusion?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import FREE, MOVES

Flag: TypeAlias = Literal[
    "trivial", "multi-output", "duplicate-output", "convert-only", "copy-only"
]
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)
FLAG_MEANINGS: Final[Mapping[Flag, str]] = {
    "trivial": "at most one real operation",
    "multi-output": "the result is a tuple of several",
    "duplicate-output": "two results are the same value, perhaps behind bitcasts",
    "convert-only": "real operations are all converts",
    "copy-only": "real operations all move data without computing: copy, transpose, reshape",
}


def find_flags(body: Computation) -> tuple[Flag, ...]:
    """Return the flags of a fused computation, in the order of `FLAGS`.

    A real operation is anything but parameter, constant, tuple, get-tuple-element and
    bitcast. `FLAG_MEANINGS` says what each flag means.
    """
    real = [one.opcode for one in body.instructions if one.opcode not in FREE]
    opcodes = set(real)
    root = body.root
    outputs = _find_outputs(body) if root.opcode == "tuple" else []
    found: dict[Flag, bool] = {
        "trivial": len(real) <= 1,
        "multi-output": len(outputs) > 1,
        "duplicate-output": len(set(outputs)) < len(outputs),
        "convert-only": opcodes == {"convert"},
        "copy-only": is_copy_only(body),
    }
    return tuple(flag for flag in FLAGS if found[flag])


def is_copy_only(body: Computation) -> bool:
    """Whether a fused computation has the flag `copy-only`."""
    moves = False
    for instruction in body.instructions:
        opcode = instruction.opcode
        if opcode in MOVES:
            moves = True
        elif opcode not in FREE:
            return False
    return moves


def _find_outputs(body: Computation) -> list[Instruction]:
    """Return what the operands of the root are, behind bitcasts."""
    behind: dict[Instruction, Instruction] = {}
    for one in body.instructions:
        is_bitcast = one.opcode == "bitcast" and one.operands
        behind[one] = behind[one.operands[0]] if is_bitcast else one
    return [behind[one] for one in body.root.operands]
