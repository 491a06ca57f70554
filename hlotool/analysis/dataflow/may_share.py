"""Sharing by choice: whether an output may be written over an operand needed no more.

Follows HloDataflowAnalysis::CanShareOperandBufferWithUser and, for GPU, GpuAliasInfo
(xla/hlo/analysis/hlo_dataflow_analysis.cc, xla/service/gpu/alias_info.cc). The CPU compiler has
no rules of its own (xla/service/cpu/cpu_compiler.cc takes AliasInfo as it is), not for the
fusions of libraries either. The TPU compiler keeps its own, which are in no open source;
nothing is assumed there. Only the estimate asks; where an assignment is at hand, offsets tell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hlotool.analysis.dataflow.values import Position, Value
from hlotool.analysis.graph.backend import Backend
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ELEMENTWISE, MATRIX_PRODUCTS, UPDATES_IN_PLACE
from hlotool.ir.shape import ArrayShape
from hlotool.ir.values import ShapeIndex

MOST_FOLLOWED: Final = 10_000  # instructions behind one output of a GPU fusion
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
        self._reordered: dict[Computation, set[Instruction]] = {}

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
        kind = pair.user.attributes.get("kind", "")
        if kind == "kOutput" and body.root.opcode == "add" and not is_gpu:
            return _is_added_to_product(parameter, body.root)
        reordered = self._reordered.get(body)
        if reordered is None:
            reordered = self._reordered[body] = _find_reordered(body, kind, is_gpu=is_gpu)
        if parameter in reordered:
            return False
        return not is_gpu or _leads_to(parameter, _output_of(body, pair.output_index), kind)


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


def _is_added_to_product(parameter: Instruction, root: Instruction) -> bool:
    """Whether a parameter's one use is to be added to a matrix product."""
    is_sum = any(one.opcode in MATRIX_PRODUCTS for one in root.operands)
    return is_sum and parameter.users == (root,)


def _find_reordered(body: Computation, kind: str, *, is_gpu: bool) -> set[Instruction]:
    """Return what a fusion, directly or not, goes over in another than its own order.

    On GPU, reductions do not count where the fusion is emitted as one, as such kernels reduce
    before they write anything else.
    """
    keeps = _keeps_order_on_gpu if is_gpu else _is_elementwise_on
    into_tuple = is_gpu or kind in {"kLoop", "kInput"}
    found: set[Instruction] = set()
    for user in reversed(body.instructions):
        if is_gpu and kind == "kInput" and user.opcode == "reduce":
            continue
        is_tuple = into_tuple and user.opcode == "tuple"
        for operand in user.operands:
            if user in found or not (is_tuple or keeps(user, operand)):
                found.add(operand)
    return found


def _is_elementwise_on(user: Instruction, operand: Instruction) -> bool:
    """Whether an element of the result is made of the operand's at the same place, if of any.

    Follows HloInstruction::IsElementwiseOnOperand (xla/hlo/ir/hlo_instruction.cc).
    """
    if user.opcode == "dynamic-update-slice":
        return user.operands[0] is operand and user.operands.count(operand) == 1
    return user.opcode in ELEMENTWISE or user.opcode == "copy"


def _keeps_order_on_gpu(user: Instruction, operand: Instruction) -> bool:
    if user.opcode in ELEMENTWISE or user.opcode == "bitcast":
        return True
    return user.opcode in UPDATES_IN_PLACE and user.operands[0] is operand


def _leads_to(parameter: Instruction, output: Instruction, kind: str) -> bool:
    """Whether an output of a GPU fusion is made of a parameter, by no reduction on the way."""
    seen = {output}
    pending = [output]
    while pending and len(seen) <= MOST_FOLLOWED:
        one = pending.pop()
        if one is parameter:
            return True
        for operand in one.operands:
            is_end = kind == "kInput" and operand.opcode == "reduce"
            if operand not in seen and not is_end:
                seen.add(operand)
                pending.append(operand)
    return False
