"""In-place operations: which output must, or may, lie in the memory of which operand.

`must_share` follows AliasInfo::GetInPlaceInputOutputPairs (xla/hlo/analysis/alias_info.cc):
the pairs every backend keeps to.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import UPDATES_IN_PLACE, VIEWS
from hlotool.ir.shape import TupleShape
from hlotool.ir.values import ShapeIndex

MOST_STEPS: Final = 64  # bitcasts and tuples followed inside one fusion
_ALIASING: Final = "output_to_operand_aliasing"
_ANNOTATED: Final = frozenset(("custom-call", "async-start", "async-update"))
_BY_OPCODE: Final = UPDATES_IN_PLACE | {
    "all-reduce-start",
    "collective-permute",
    "collective-permute-start",
    "ragged-all-to-all",
}
_SHARING: Final = _BY_OPCODE | _ANNOTATED
_FUSED: Final = _SHARING | VIEWS  # or lead to such a root


class Sharing(NamedTuple):
    """Output `output` of an instruction lies where operand `operand` lies at an index."""

    operand: int
    operand_index: ShapeIndex
    output: ShapeIndex


def must_share(instruction: Instruction) -> tuple[Sharing, ...]:
    """Return the pairs of operand and output that are one buffer."""
    opcode = instruction.opcode
    if opcode == "fusion":
        return (*_annotated(instruction), *_fused(instruction))
    if opcode in _ANNOTATED:
        return _annotated(instruction)
    return _by_opcode(instruction) if opcode in _BY_OPCODE else ()


def _by_opcode(instruction: Instruction) -> tuple[Sharing, ...]:
    opcode, count = instruction.opcode, len(instruction.operands)
    if opcode in {"dynamic-update-slice", "set-dimension-size"} and count:
        return (Sharing(0, (), ()),)
    if opcode == "scatter":
        return _one_to_one((count - 1) // 2)
    if opcode == "all-reduce-start":
        return (
            ()
            if "nvshmem" in instruction.attributes.get("backend_config", "").lower()
            else (_one_to_one(count))
        )
    if opcode == "ragged-all-to-all" and count > 1:
        return (Sharing(1, (), ()),)
    if opcode in {"collective-permute", "collective-permute-start"} and (
        count == 4 and "slice_sizes" in instruction.attributes  # noqa: PLR2004
    ):
        output = () if opcode == "collective-permute" else (1,)
        shape = instruction.operands[1].shape
        nested = range(len(shape.elements)) if isinstance(shape, TupleShape) else range(0)
        return (
            Sharing(1, (), output),
            *(Sharing(1, (number,), (*output, number)) for number in nested),
        )
    return ()


def _one_to_one(count: int) -> tuple[Sharing, ...]:
    """Operand i with output i; one operand with the whole output."""
    if count == 1:
        return (Sharing(0, (), ()),)
    return tuple(Sharing(number, (), (number,)) for number in range(count))


def _annotated(instruction: Instruction) -> tuple[Sharing, ...]:
    """Pairs that `output_to_operand_aliasing` states."""
    if _ALIASING not in instruction.attributes:
        return ()
    return tuple(
        Sharing(pair.number, pair.index, pair.output_index) for pair in instruction.aliasing()
    )


def _fused(fusion: Instruction) -> tuple[Sharing, ...]:
    """Pairs found inside a fusion: an in-place root whose operand is a parameter."""
    body = fusion.callee()
    if body is None or body.root.opcode not in _FUSED:
        return ()
    found: list[Sharing] = []
    for index, _ in fusion.shape.leaves_with_index():
        root, at = follow(body.root, index)
        for pair in must_share(root) if root.opcode in _SHARING else ():
            if pair.output == at and pair.operand < len(root.operands):
                source, inner = follow(root.operands[pair.operand], pair.operand_index)
                if source.opcode == "parameter":
                    found.append(Sharing(source.parameter_number, inner, index))
    return tuple(found)


def follow(instruction: Instruction, index: ShapeIndex) -> tuple[Instruction, ShapeIndex]:
    """Go back through tuples, get-tuple-elements and bitcasts to where a value is made."""
    for _ in range(MOST_STEPS):
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "bitcast" and not index and operands:
            instruction = operands[0]
        elif opcode == "tuple" and index and index[0] < len(operands):
            instruction, index = operands[index[0]], index[1:]
        elif opcode == "get-tuple-element" and operands:
            instruction, index = operands[0], (instruction.tuple_index, *index)
        else:
            break
    return instruction, index
