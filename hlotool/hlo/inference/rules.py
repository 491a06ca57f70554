"""How large may the inferred shapes of a module be, all together?

A stated shape is as long as its text. Inferred ones can double with every line.

Which rule says what shape an opcode has? One table, a row a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from hlotool.hlo.inference import (
    arrays as moves,
)
from hlotool.hlo.inference import (
    arrays as products,
)
from hlotool.hlo.inference import (
    arrays as solvers,
)
from hlotool.hlo.inference import (
    arrays as windows,
)
from hlotool.hlo.inference import (
    elementwise,
)
from hlotool.hlo.inference import (
    elementwise as calls,
)
from hlotool.hlo.inference.operands import fail
from hlotool.hlo.module import Instruction
from hlotool.hlo.scanner import MOST_NESTED
from hlotool.hlo.shape import ArrayShape, Shape
from hlotool.hlo.shape_parser import is_countable

MOST_PARTS: Final = 1 << 20  # tuples, arrays and dimensions; what people write has thousands


class SizeLimit:
    """Counts the parts of the shapes that are inferred for one module."""

    def __init__(self) -> None:
        self._parts = 0

    def count(self, instruction: Instruction, shape: Shape) -> None:
        """Count a shape's parts; refuse one that is too large."""
        pending = [(shape, 1)]
        while pending:
            part, level = pending.pop()
            self._parts += 1
            if isinstance(part, ArrayShape):
                self._parts += len(part.dims)
                if not is_countable(part.dims):
                    fail(instruction, "it has more elements than 64 bits count")
            else:
                pending.extend((element, level + 1) for element in part.elements)
            if self._parts + len(pending) > MOST_PARTS:
                fail(instruction, f"shapes left out have more than {MOST_PARTS:,} parts together")
            if level > MOST_NESTED:
                fail(instruction, f"tuples are nested more than {MOST_NESTED} deep")


_Rule: TypeAlias = Callable[[Instruction], Shape]

# The opcodes of CanInferShape (xla/hlo/parser/hlo_parser.cc), and two whose result is as plain:
# XLA's parser reads no fusion and no opt-barrier without its shape.
_OPCODES: Final[Mapping[_Rule, str]] = {
    elementwise.infer_unary: (
        "acos acosh asin asinh atanh cbrt ceil cholesky cosh cosine count-leading-zeros erf "
        "exponential exponential-minus-one floor log log-plus-one logistic negate not popcnt "
        "batch-norm-inference reverse round-nearest-afz round-nearest-even rsqrt "
        "select-and-scatter sign sine sinh sqrt tan tanh"
    ),
    elementwise.infer_real: "abs imag real",
    elementwise.infer_is_finite: "is-finite",
    elementwise.infer_binary: (
        "add and atan2 divide maximum minimum mulhi multiply or power remainder shift-left "
        "shift-right-arithmetic shift-right-logical subtract xor"
    ),
    elementwise.infer_compare: "compare",
    elementwise.infer_complex: "complex",
    elementwise.infer_clamp: "clamp",
    elementwise.infer_select: "select",
    moves.infer_same: "add-dependency copy domain opt-barrier",
    moves.infer_tuple: "tuple",
    moves.infer_element: "get-tuple-element",
    moves.infer_token: "after-all",
    moves.infer_device_number: "partition-id replica-id",
    moves.infer_broadcast: "broadcast",
    moves.infer_transpose: "transpose",
    moves.infer_concatenate: "concatenate",
    moves.infer_pad: "pad",
    moves.infer_gather: "gather",
    moves.infer_top_k: "topk",
    moves.infer_dimension_size: "get-dimension-size",
    moves.infer_set_dimension_size: "set-dimension-size",
    products.infer_dot: "dot",
    products.infer_scaled_dot: "scaled-dot",
    products.infer_ragged_dot: "ragged-dot",
    products.infer_convolution: "convolution",
    windows.infer_reduce_window: "reduce-window",
    calls.infer_call: "call",
    calls.infer_fusion: "fusion",
    calls.infer_while: "while",
    calls.infer_conditional: "conditional",
    calls.infer_map: "map",
    calls.infer_reduce: "reduce",
    calls.infer_sort: "sort",
    calls.infer_scatter: "scatter",
    calls.infer_scan: "scan",
    solvers.infer_fft: "fft",
    solvers.infer_triangular_solve: "triangular-solve",
    solvers.infer_batch_norm: "batch-norm-grad batch-norm-training",
}
_RULES: Final = {opcode: rule for rule, opcodes in _OPCODES.items() for opcode in opcodes.split()}


def can_infer(opcode: str) -> bool:
    """Say whether there is a rule for an opcode."""
    return opcode in _RULES


def infer_shape(instruction: Instruction, limit: SizeLimit) -> Shape:
    """Return the shape of an instruction whose operands and attributes have been read.

    Checks what the shape depends on and leaves the rest to XLA. Raises ParseError where there
    is no answer. Readers of attributes compare ranks with the instruction's shape, so it must
    have one meanwhile: that of its first operand.
    """
    if instruction.operands:
        instruction.shape = instruction.operands[0].shape
    shape = _RULES[instruction.opcode](instruction)
    limit.count(instruction, shape)
    return shape
