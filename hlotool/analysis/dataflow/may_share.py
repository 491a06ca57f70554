"""Sharing by choice: whether an output may be written over an operand needed no more.

Follows HloDataflowAnalysis::CanShareOperandBufferWithUser and, for GPU fusions, GpuAliasInfo
(xla/hlo/analysis/hlo_dataflow_analysis.cc, xla/service/gpu/alias_info.cc). The TPU compiler
keeps its own rules, which are in no open source; nothing is assumed there. Only the estimate
asks; where an assignment is at hand, offsets tell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend
from hlotool.ir.module import Instruction
from hlotool.ir.opcodes import ELEMENTWISE, UPDATES_IN_PLACE
from hlotool.ir.shape import ArrayShape, Shape
from hlotool.ir.values import ShapeIndex

MOST_FOLLOWED: Final = 10_000  # instructions; larger fusions are taken to share nothing
_SHARING: Final = (
    ELEMENTWISE
    | UPDATES_IN_PLACE
    | {"all-reduce", "collective-broadcast", "fusion", "sort", "triangular-solve"}
)


class Pair(NamedTuple):
    """An operand array of an instruction, and an array it makes."""

    user: Instruction
    operand_number: int
    operand: Shape
    output: Shape
    output_index: ShapeIndex


def shares_by_choice(opcode: str, backend: Backend | None) -> bool:
    """Say whether a backend may write outputs of an opcode over operands at all."""
    return backend != "tpu" and opcode in _SHARING


def may_share(pair: Pair, backend: Backend | None) -> bool:
    """Say whether a backend may write the output over the operand."""
    user, number = pair.user, pair.operand_number
    operand, output = pair.operand, pair.output
    if not shares_by_choice(user.opcode, backend) or user.operands.count(user.operands[number]) > 1:
        return False
    if not isinstance(operand, ArrayShape) or not isinstance(output, ArrayShape):
        return False
    if user.opcode == "fusion":
        return _fusion_may_share(pair, operand, output, backend)
    if operand != output:
        return False
    if user.opcode in {"all-reduce", "collective-broadcast"}:
        return backend == "gpu" and (len(user.operands) == 1 or pair.output_index == (number,))
    if user.opcode == "sort":
        return len(user.operands) == 1 or pair.output_index == (number,)
    if user.opcode == "triangular-solve":
        return number == 1
    if user.opcode in UPDATES_IN_PLACE:
        return number == 0
    return user.opcode in ELEMENTWISE


def _fusion_may_share(
    pair: Pair, operand: ArrayShape, output: ArrayShape, backend: Backend | None
) -> bool:
    if not _is_alike(operand, output, backend):
        return False
    body = pair.user.callee()
    if body is None or pair.operand_number >= len(body.parameters):
        return False
    parameter = body.parameters[pair.operand_number]
    kind = pair.user.attributes.get("kind")
    if backend == "gpu":
        made = _output_of(body.root, pair.output_index)
        return _Way(made, kind == "kInput").keeps_order_from(parameter)
    return kind in {"kLoop", "kInput"} and _Way().keeps_order_from(parameter)


def _is_alike(operand: ArrayShape, output: ArrayShape, backend: Backend | None) -> bool:
    """Whether two arrays of a fusion have one shape; on GPU, as many elements and bytes."""
    if operand is output:
        return True
    if backend != "gpu":
        return operand == output
    is_same_count = operand.element_count == output.element_count
    return is_same_count and operand.unpadded_bytes == output.unpadded_bytes


def _output_of(root: Instruction, index: ShapeIndex) -> Instruction:
    """Return the instruction that makes one output of a fusion."""
    for number in index:
        if root.opcode != "tuple" or number >= len(root.operands):
            break
        root = root.operands[number]
    return root


class _Way(Struct, frozen=True):
    """From a fusion's parameter to what is made of it, element by element.

    Only elementwise operations and tuples may follow. On GPU, where `output` is given and
    must be met, also bitcasts and updates in place; and reductions where the fusion is
    emitted as one, as such kernels reduce before they write anything else.
    """

    output: Instruction | None = None
    may_reduce: bool = False

    def keeps_order_from(self, parameter: Instruction) -> bool:
        """Say whether all that follows a parameter goes over it in its own order."""
        seen = {parameter}
        followed = {parameter}
        instructions = parameter.computation.instructions
        if len(instructions) > MOST_FOLLOWED:
            return False
        for user in instructions:
            if followed.isdisjoint(user.operands):
                continue
            if not all(self._allows(user, one) for one in user.operands if one in followed):
                return False
            seen.add(user)
            if not self.may_reduce or user.opcode != "reduce":
                followed.add(user)
        return self.output is None or self.output in seen

    def _allows(self, user: Instruction, operand: Instruction) -> bool:
        if user.opcode in ELEMENTWISE or user.opcode == "tuple":
            return True
        if self.output is None:
            return False
        if user.opcode == "reduce":
            return self.may_reduce
        return user.opcode == "bitcast" or (
            user.opcode in UPDATES_IN_PLACE and user.operands[0] is operand
        )
