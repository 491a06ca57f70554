"""Sharing by choice: whether an output may be written over an operand needed no more.

Follows HloDataflowAnalysis::CanShareOperandBufferWithUser and, for GPU, GpuAliasInfo
(xla/hlo/analysis/hlo_dataflow_analysis.cc, xla/service/gpu/alias_info.cc). The CPU compiler has
no rules of its own (xla/service/cpu/cpu_compiler.cc takes AliasInfo as it is), not for the
fusions of libraries either. The TPU compiler keeps its own, which are in no open source;
nothing is assumed there. Only the estimate asks; where an assignment is at hand, offsets tell.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from hlotool.analysis.dataflow.values import Position, Value
from hlotool.analysis.graph.backend import Backend
from hlotool.ir.module import Computation, Instruction
from hlotool.ir.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, UPDATES_IN_PLACE
from hlotool.ir.shape import ArrayShape
from hlotool.ir.values import ShapeIndex

MOST_FOLLOWED: Final = 10_000  # instructions; larger fusions are taken to share nothing
_SHARING: Final = (
    ELEMENTWISE
    | UPDATES_IN_PLACE
    | {"all-reduce", "collective-broadcast", "fusion", "sort", "triangular-solve"}
)


class _Pair(NamedTuple):
    """An operand of an instruction, by its first place there, and an array it makes."""

    user: Instruction
    operand_number: int
    operand: ArrayShape
    output: ArrayShape
    output_index: ShapeIndex


class SharingRule:
    """What a backend may write over what; it keeps what it found out about fusions."""

    def __init__(self, backend: Backend | None) -> None:
        self.backend = backend
        self._made_in_order: dict[Instruction, Collection[Instruction]] = {}

    def concerns(self, opcode: str) -> bool:
        """Say whether outputs of an opcode may be written over operands at all."""
        return self.backend != "tpu" and opcode in _SHARING

    def allows(self, seen: Position, output: Value) -> bool:
        """Say whether a value may be written over another, seen at a position its maker uses."""
        (operand, index), user = seen, output.instruction
        if not self.concerns(user.opcode) or index or operand not in user.operands:
            return False
        before, after = operand.shape, output.shape
        if not isinstance(before, ArrayShape) or not isinstance(after, ArrayShape):
            return False
        if operand.opcode == "constant":
            return False
        pair = _Pair(user, user.operands.index(operand), before, after, output.index)
        if user.opcode == "fusion":
            return self._allows_fusion(pair)
        return before == after and self._allows_other(pair)

    def _allows_other(self, pair: _Pair) -> bool:
        """Say it of an instruction that is no fusion, for an operand as large as the output."""
        user, number = pair.user, pair.operand_number
        if user.opcode in ELEMENTWISE:
            return True
        if user.operands.count(user.operands[number]) > 1:
            return False
        is_paired = len(user.operands) == 1 or pair.output_index == (number,)
        if user.opcode in {"all-reduce", "collective-broadcast"}:
            return self.backend == "gpu" and is_paired
        if user.opcode == "sort":
            return is_paired
        return number == (1 if user.opcode == "triangular-solve" else 0)

    def _allows_fusion(self, pair: _Pair) -> bool:
        is_gpu = self.backend == "gpu"
        if not _is_alike(pair.operand, pair.output, is_gpu=is_gpu):
            return False
        body = pair.user.callee()
        if body is None or pair.operand_number >= len(body.parameters):
            return False
        parameter = body.parameters[pair.operand_number]
        made = self._made_in_order.get(parameter)
        if made is None and len(body.instructions) > MOST_FOLLOWED:
            made = self._made_in_order[parameter] = ()
        elif made is None:
            kind = pair.user.attributes.get("kind", "")
            made = _follow_on_gpu(parameter, kind) if is_gpu else _follow(parameter, kind)
            self._made_in_order[parameter] = made
        return _output_of(body, pair.output_index) in made if is_gpu else bool(made)


def _is_alike(operand: ArrayShape, output: ArrayShape, *, is_gpu: bool) -> bool:
    """Whether two arrays of a fusion have one shape; on GPU, as many elements and bytes."""
    if operand is output:
        return True
    if not is_gpu:
        return operand == output
    is_same_count = operand.element_count == output.element_count
    return is_same_count and operand.unpadded_bytes == output.unpadded_bytes


def _output_of(body: Computation, index: ShapeIndex) -> Instruction:
    """Return the instruction that makes one output of a fusion."""
    root = body.root
    for number in index:
        if root.opcode != "tuple" or number >= len(root.operands):
            break
        root = root.operands[number]
    return root


def _follow(parameter: Instruction, kind: str) -> Collection[Instruction]:
    """Return what a fusion makes of a parameter, () unless all is made element by element.

    The parameter counts too. Loops may put it into a tuple, a matrix product with `kOutput` may
    have it added to the result; a library's fusion (`kCustom`) may do neither.
    """
    root = parameter.computation.root
    if kind == "kOutput" and root.opcode == "add":
        is_product = any(one.opcode in MATRIX_PRODUCTS for one in root.operands)
        return {root} if is_product and parameter.users == (root,) else ()
    into_tuple = kind in {"kLoop", "kInput"}
    made = {parameter}
    for user in parameter.computation.instructions:
        operands = made.intersection(user.operands)
        if not operands:
            continue
        is_tuple = into_tuple and user.opcode == "tuple"
        if not is_tuple and not all(_is_elementwise_on(user, one) for one in operands):
            return ()
        made.add(user)
    return made


def _is_elementwise_on(user: Instruction, operand: Instruction) -> bool:
    """Whether an element of the result is made of the operand's at the same place, if of any.

    Follows HloInstruction::IsElementwiseOnOperand (xla/hlo/ir/hlo_instruction.cc).
    """
    if user.opcode == "dynamic-update-slice":
        return user.operands[0] is operand and user.operands.count(operand) == 1
    return user.opcode in ELEMENTWISE or user.opcode == "copy"


def _follow_on_gpu(parameter: Instruction, kind: str) -> Collection[Instruction]:
    """Return what a fusion makes of a parameter, () unless all goes over it in its own order.

    Elementwise operations, tuples, bitcasts and updates in place do; and reductions where the
    fusion is emitted as one, as such kernels reduce before they write anything else.
    """
    made, followed = {parameter}, {parameter}
    for user in parameter.computation.instructions:
        operands = followed.intersection(user.operands)
        if not operands:
            continue
        is_last = kind == "kInput" and user.opcode == "reduce"
        if not is_last and not all(_keeps_order_of(user, one) for one in operands):
            return ()
        made.add(user)
        if not is_last:
            followed.add(user)
    return made


def _keeps_order_of(user: Instruction, operand: Instruction) -> bool:
    if user.opcode in ELEMENTWISE or user.opcode in {"tuple", "bitcast"}:
        return True
    return user.opcode in UPDATES_IN_PLACE and user.operands[0] is operand
