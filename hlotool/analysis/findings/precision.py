"""In which precision does a program compute?"""

from __future__ import annotations

from hlotool.analysis.graph.executions import Executions
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import MATRIX_PRODUCTS
from hlotool.ir.shape import DTYPE_BITS, ArrayShape

_MATRIX_TARGETS = ("__cublas$", "__cudnn$", "te_fused_attn")
_HALF_BITS = 16


def computes_in_16_bits(executions: Executions) -> bool:
    """Whether more than half of the matrix products have operands of 16 bits or fewer.

    Counted are dots, convolutions and the custom calls that stand for them, in executed
    computations and the fusions there, each once.
    """
    narrow = wide = 0
    for computation in executions.executed:
        for instruction in computation.instructions:
            for one in _inside(instruction):
                if is_matrix_product(one):
                    if _is_narrow(one):
                        narrow += 1
                    else:
                        wide += 1
    return narrow > wide


def _inside(instruction: Instruction) -> list[Instruction]:
    body: Computation | None = instruction.callee() if instruction.opcode == "fusion" else None
    return body.instructions if body else [instruction]


def is_matrix_product(instruction: Instruction) -> bool:
    """Whether an instruction is a dot, a convolution, or a library's."""
    if instruction.opcode == "custom-call":
        return instruction.custom_call_target.startswith(_MATRIX_TARGETS)
    return instruction.opcode in MATRIX_PRODUCTS


def _is_narrow(instruction: Instruction) -> bool:
    """Whether the first operand's elements have 16 bits or fewer."""
    shape = instruction.operands[0].shape if instruction.operands else None
    return isinstance(shape, ArrayShape) and DTYPE_BITS.get(shape.dtype, 64) <= _HALF_BITS
