"""Which results of a fused computation reach memory, and which stay inside the fusion?

What happens inside one fusion: what comes from memory, what stays on chip, what goes back?
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.fusions.rows import (
    ELEMENTARY,
    FLOATING_POINT,
    FirstOpName,
    FirstSourceFile,
    FirstSourceLine,
    Opcode,
    ResultShape,
    SharedScope,
)
from hlotool.analysis.origin import Stack, StackFrame, find_origin
from hlotool.errors import UsageError
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import ASYNC_DONES, ASYNC_STARTS, FREE, LATER_STEPS
from hlotool.table import BYTES, FLOPS, column, figure

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


_NAMED: Final = 3  # fusions named where several could be meant

BodyRole: TypeAlias = Literal["operand", "constant", "on chip", "result", "alias"]


class BodyRow(Struct, frozen=True):
    """One instruction of a fused computation.

    `bytes_accessed` adds up to the fusion's.
    """

    name: Annotated[str, column("the instruction", heading="instruction", wants=26)]
    opcode: Opcode
    shape: ResultShape
    operands: Annotated[tuple[str, ...], column("its operands by name")]
    role: Annotated[
        BodyRole,
        column(
            "an operand or constant read from memory, a value that stays on chip, a result "
            "written to memory, or an alias of another value"
        ),
    ]
    result_bytes: Annotated[int, figure("size of the result", BYTES, is_summed=False)]
    bytes_accessed: Annotated[
        int,
        column("bytes of it read from or written to memory", BYTES, heading="memory"),
    ]
    saved_bytes: Annotated[int, column("bytes that stay on chip", BYTES, heading="on chip")]
    flops: Annotated[int, column(FLOATING_POINT, FLOPS)]
    transcendentals: Annotated[int, figure(ELEMENTARY, FLOPS)]
    scope: SharedScope
    op_name: FirstOpName
    source_file: FirstSourceFile
    source_line: FirstSourceLine
    stack: Stack = None
    stack_frame: StackFrame = None


def expand_fusion(name: str, module: Module, costs: CostModel) -> tuple[BodyRow, ...]:
    """List the body of the fusion that `find_fusion` finds, in dump order.

    An operand's `bytes_accessed` is what the fusion reads of it: its slices where it is only
    sliced. Names are those of the text. Raises UsageError when there is no such fusion.
    """
    fusion = find_fusion(name, module)
    body = fusion.callees("calls")[0]
    touched = _measure_touched(fusion, costs)
    outputs = find_outputs(body)
    kept = frozenset(find_intermediates(body))
    return tuple(_make_row(one, costs, touched[one], outputs, kept) for one in body.instructions)


def find_fusion(name: str, module: Module) -> Instruction:
    """Return the fusion of this full name, else the first that calls a computation of this name.

    An asynchronous fusion has the name of its start, too. Raises UsageError when there is no
    such fusion.
    """
    wanted = name.removeprefix("%")
    fusions = [
        one for one in module.instructions() if one.opcode == "fusion" and one.callees("calls")
    ]
    for fusion in fusions:
        if fusion.full_name == wanted:
            return fusion
    for fusion in fusions:
        if fusion.callees("calls")[0].name == wanted:
            return fusion
    found = module.find_instruction(wanted)
    if found is not None:
        callee = found.callee() if found.opcode == "async-start" else None
        if callee and callee.root in fusions:
            return callee.root
        if found.opcode == "fusion":
            raise UsageError(f"--body: {wanted!r} names no computation.")
        raise UsageError(f"--body: {wanted!r} is not a fusion; its opcode is {found.opcode}.")
    alike = [one.full_name for one in fusions if one.name == wanted]
    if alike:
        several = " or ".join(alike[:_NAMED])
        raise UsageError(f"--body: several computations have a {wanted!r}; give {several}.")
    raise UsageError(f"--body: there is no fusion {wanted!r}.")


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
) -> BodyRow:
    cost = costs.of(instruction)
    origin = find_origin(instruction)
    size = costs.size_bytes(instruction.shape)
    return BodyRow(
        name=instruction.name,
        opcode=instruction.opcode,
        shape=str(instruction.shape),
        operands=tuple(one.name for one in instruction.operands),
        role=_find_role(instruction, outputs, kept),
        result_bytes=size,
        bytes_accessed=touched_bytes,
        saved_bytes=size if instruction in kept else 0,
        flops=cost.flops,
        transcendentals=cost.transcendentals,
        scope=origin.scope,
        op_name=origin.op_name,
        source_file=origin.source_file,
        source_line=origin.source_line,
        stack_frame=origin.frame or None,
    )


def _find_role(
    instruction: Instruction, outputs: frozenset[Instruction], kept: frozenset[Instruction]
) -> BodyRole:
    if instruction.opcode == "parameter":
        return "operand"
    if instruction.opcode == "constant":
        return "constant"
    if instruction in kept:
        return "on chip"
    if instruction in outputs and instruction.opcode != "tuple":
        return "result"
    return "alias"
