"""How much arithmetic does an instruction do itself, without the computations it calls?

Follows the handlers of xla/service/hlo_cost_analysis.cc (0.10.2). An opcode that is in no
table here does no arithmetic that XLA counts: data movement, collectives but all-reduce,
batch-norm-*, topk and the like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from hlotool.analysis.cost.convolutions import work_of_convolution
from hlotool.analysis.cost.cost import Work
from hlotool.analysis.cost.matrices import work_of_dot, work_of_ragged_dot
from hlotool.analysis.cost.sizes import count_all_elements, count_elements, operand_shape
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ELEMENTWISE, TRANSCENDENTAL

_FFT_FLOPS: Final = 2 * 4  # a multiply-add, four of them in a complex multiplication


def work_of_fft(instruction: Instruction) -> Work:
    """Count eight for each input element and each halving of every transformed dimension."""
    halvings = prod(
        max(length, 1).bit_length() - 1 for length in instruction.integers("fft_length")
    )
    return Work(_FFT_FLOPS * halvings * count_elements(operand_shape(instruction, 0)))


def work_of_triangular_solve(instruction: Instruction) -> Work:
    """Count two for each element of b and row of a; XLA does not take off the zero half."""
    rows = operand_shape(instruction, 0).dims[-1]
    return Work(2 * rows * count_elements(operand_shape(instruction, 1)))


def work_of_cholesky(instruction: Instruction) -> Work:
    """Count n**3 / 3 for each matrix, rounded down."""
    matrices = operand_shape(instruction, 0)
    return Work(count_elements(matrices) * matrices.dims[-1] // 3)


def work_of_sort(instruction: Instruction) -> Work:
    """Count E log2 E, rounded up, for the E elements of the first operand; not the comparator."""
    elements = count_elements(operand_shape(instruction, 0))
    return Work(elements * (elements - 1).bit_length() if elements else 0)


def work_of_rng(instruction: Instruction) -> Work:
    """Count a transcendental for each random number."""
    return Work(0, count_elements(instruction.shape))


def work_of_rng_bits(instruction: Instruction) -> Work:
    """Count a transcendental for each element of the result, the new state included."""
    return Work(0, count_all_elements(instruction.shape))


def work_of_all_reduce(instruction: Instruction) -> Work:
    """Count an addition for each element, as if two devices took part; `to_apply` is not read."""
    return Work(count_all_elements(instruction.shape))


_OPERATIONS: Final[Mapping[str, Callable[[Instruction], Work]]] = {
    "all-reduce": work_of_all_reduce,
    "all-reduce-start": work_of_all_reduce,
    "cholesky": work_of_cholesky,
    "convolution": work_of_convolution,
    "dot": work_of_dot,
    "fft": work_of_fft,
    "ragged-dot": work_of_ragged_dot,
    "rng": work_of_rng,
    "rng-bit-generator": work_of_rng_bits,
    "scaled-dot": work_of_dot,
    "sort": work_of_sort,
    "triangular-solve": work_of_triangular_solve,
}

WORKING: Final = ELEMENTWISE | _OPERATIONS.keys()
_FLOPS: Final = ELEMENTWISE - TRANSCENDENTAL


def find_work(instruction: Instruction) -> Work:
    """Return the arithmetic of an instruction itself; raises UnknownCostError.

    An elementwise operation counts one for each element of its result, whatever the type;
    transcendental functions are counted apart.
    """
    opcode = instruction.opcode
    if opcode in _FLOPS:
        return Work(count_elements(instruction.shape))
    if opcode in TRANSCENDENTAL:
        return Work(0, count_elements(instruction.shape))
    handler = _OPERATIONS.get(opcode)
    return handler(instruction) if handler else _NO_WORK


_NO_WORK: Final = Work()
