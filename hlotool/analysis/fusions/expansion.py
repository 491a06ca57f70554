"""What happens inside one fusion: what comes from memory, what stays on chip, what goes back?"""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost import CostModel
from hlotool.analysis.fusions.report import find_intermediates, find_outputs
from hlotool.analysis.origin.origin import find_origin
from hlotool.errors import UsageError
from hlotool.ir.module import Instruction, Module

Place: TypeAlias = Literal["operand", "constant", "on chip", "result", "alias"]


class ExpandedRow(Struct, frozen=True):
    """One instruction of a fused computation.

    `place`: an operand or constant read from memory, a value that stays on chip, a result
    written to memory, or an alias, which is no value of its own. `bytes_accessed` adds up to
    the fusion's.
    """

    name: str
    opcode: str
    shape: str
    operands: tuple[str, ...]
    place: Place
    result_bytes: int
    bytes_accessed: int
    saved_bytes: int
    flops: int
    transcendentals: int
    op_name: str | None
    scope: str | None
    source_file: str | None
    source_line: int | None


def expand_fusion(name: str, module: Module, costs: CostModel) -> tuple[ExpandedRow, ...]:
    """List the body of the fusion `name`, or of the fused computation `name`, in dump order.

    An operand's `bytes_accessed` is what the fusion reads of it: its slices where it is only
    sliced. Raises UsageError when there is no such fusion.
    """
    fusion = _find(name.removeprefix("%"), module)
    body = fusion.callees("calls")[0]
    touched = _measure_touched(fusion, costs)
    outputs = find_outputs(body)
    kept = frozenset(find_intermediates(body))
    return tuple(_make_row(one, costs, touched[one], outputs, kept) for one in body.instructions)


def _find(name: str, module: Module) -> Instruction:
    fusions = [
        one for one in module.instructions() if one.opcode == "fusion" and one.callees("calls")
    ]
    for fusion in fusions:
        if name in {fusion.name, fusion.callees("calls")[0].name}:
            return fusion
    found = module.find_instruction(name)
    what = f"{name!r} is of opcode {found.opcode}" if found else f"there is no fusion {name!r}"
    raise UsageError(f"--expand: {what}.")


def _measure_touched(fusion: Instruction, costs: CostModel) -> Counter[Instruction]:
    """Return the memory traffic of a fusion by the instruction of its body that causes it."""
    touched: Counter[Instruction] = Counter()
    traffic = costs.fusion_traffic(fusion)
    if traffic is not None:
        for part in (traffic.operands, traffic.constants, traffic.results):
            for instruction, size in part:
                touched[instruction] += size
    return touched


def _make_row(
    instruction: Instruction,
    costs: CostModel,
    touched_bytes: int,
    outputs: frozenset[Instruction],
    kept: frozenset[Instruction],
) -> ExpandedRow:
    cost = costs.of(instruction)
    origin = find_origin(instruction)
    size = costs.size_bytes(instruction.shape)
    return ExpandedRow(
        name=instruction.name,
        opcode=instruction.opcode,
        shape=str(instruction.shape),
        operands=tuple(one.name for one in instruction.operands),
        place=_find_place(instruction, outputs, kept),
        result_bytes=size,
        bytes_accessed=touched_bytes,
        saved_bytes=size if instruction in kept else 0,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        op_name=origin.op_name,
        scope=origin.scope,
        source_file=origin.source_file,
        source_line=origin.source_line,
    )


def _find_place(
    instruction: Instruction, outputs: frozenset[Instruction], kept: frozenset[Instruction]
) -> Place:
    if instruction.opcode == "parameter":
        return "operand"
    if instruction.opcode == "constant":
        return "constant"
    if instruction in kept:
        return "on chip"
    if instruction in outputs and instruction.opcode != "tuple":
        return "result"
    return "alias"
