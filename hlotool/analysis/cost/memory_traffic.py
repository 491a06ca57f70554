"""How many bytes does an instruction move, in each memory space?

`traffic` counts as XLA's cost analysis does. Here counts what a clock would see: of a slice,
however it is reached, what it touches; of an array in another memory space nothing that crosses
this one; of a known custom call its operands and results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from hlotool.analysis.cost.custom_calls import CustomCall, CustomCallKind, read_custom_call
from hlotool.analysis.cost.fused_traffic import NO_BODY
from hlotool.analysis.cost.sizes import Sizes, UnknownCostError, operand_shape
from hlotool.analysis.cost.touched import Touched, measure_touched, updated_bytes
from hlotool.analysis.cost.traffic import is_bitcast_transpose
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import (
    ASYNC_DONES,
    COLLECTIVES,
    CONTROL_FLOW,
    FREE,
    PASSES_ON,
    TRANSFERS,
)
from hlotool.ir.shape import ArrayShape

MAIN_SPACE: Final = 0  # HBM on TPU, device memory on GPU, main memory on CPU
SpaceBytes: TypeAlias = dict[int, int]  # bytes moved, by the number of the memory space

_SCRATCH_DTYPES: Final = frozenset(("s8", "u8"))
# Of these what arrives counts when it is done; a synchronous collective reads and writes.
_READS_ONLY: Final = (TRANSFERS - COLLECTIVES) | {"copy-start", "outfeed"}
_WRITES_ONLY: Final = (ASYNC_DONES - {"async-done", "send-done"}) | {"infeed"}
_MOVES_NOTHING: Final = (FREE | CONTROL_FLOW | PASSES_ON) - _READS_ONLY - _WRITES_ONLY


def measure_memory(
    instruction: Instruction, sizes: Sizes, call: CustomCall | None = None
) -> SpaceBytes:
    """Return the bytes an instruction reads and writes, by memory space, in one execution.

    Operands are read and results written, each array once, without the padding of tiles and
    without the pointers of a tuple. A slice, dynamic-slice or gather reads as much as it makes;
    a dynamic-update-slice reads and writes its update, a scatter besides reads what it updates.
    A fusion touches what `measure_touched` says. Of a pair of start and done, the start reads
    and the done writes. Control flow moves nothing itself: what it calls does. A custom call
    reads its operands and writes its results, scratch memory left out, or moves what is stated
    of it; `call` is what is known of it. Raises UnknownCostError where a size is unknown, or
    what a custom call does.
    """
    opcode = instruction.opcode
    if opcode in _MOVES_NOTHING:
        return {}
    found: SpaceBytes = {}
    for shape, size in _find_touched(instruction, sizes, call):
        if size:
            found[shape.memory_space] = found.get(shape.memory_space, 0) + size
    return found


def _find_touched(
    instruction: Instruction, sizes: Sizes, call: CustomCall | None
) -> Iterable[Touched]:
    opcode = instruction.opcode
    if opcode == "custom-call":
        return _custom_call(instruction, sizes, call or read_custom_call(instruction))
    if opcode in _SPECIAL:
        return _SPECIAL[opcode](instruction, sizes)
    reads = [] if opcode in _WRITES_ONLY else _operands(instruction, sizes)
    return reads if opcode in _READS_ONLY else [*reads, *_results(instruction, sizes)]


def _operands(instruction: Instruction, sizes: Sizes, first: int = 0) -> list[Touched]:
    """Read operands whole, from number `first` on; one that is given twice once."""
    operands = sizes.distinct(instruction.operands[first:])
    return [(leaf, sizes.content_bytes(leaf)) for one in operands for leaf in one.shape.leaves()]


def _results(instruction: Instruction, sizes: Sizes) -> list[Touched]:
    return [(leaf, sizes.content_bytes(leaf)) for leaf in instruction.shape.leaves()]


def _slice(instruction: Instruction, sizes: Sizes) -> list[Touched]:
    """Read of the first operand as much as is made of it; indices whole."""
    source = operand_shape(instruction, 0)
    read = (source, sizes.content_bytes(instruction.shape))
    return [read, *_operands(instruction, sizes, 1), *_results(instruction, sizes)]


def _update(instruction: Instruction, sizes: Sizes) -> list[Touched]:
    """Read update and indices, and write the update; a scatter reads what it adds to."""
    size = updated_bytes(instruction, sizes)
    sources = len(instruction.operands) // 2 if instruction.opcode == "scatter" else 1
    target = operand_shape(instruction, 0)
    kept = size if instruction.opcode == "scatter" else 0
    return [(target, size + kept), *_operands(instruction, sizes, sources)]


def _fusion(instruction: Instruction, sizes: Sizes) -> list[Touched]:
    body = instruction.callee()
    if body is None:
        raise UnknownCostError(NO_BODY)
    return measure_touched(instruction, body, sizes)


def _custom_call(instruction: Instruction, sizes: Sizes, call: CustomCall) -> list[Touched]:
    """Leave out the scratch memory that libraries get as a last result of bytes."""
    if call.kind is CustomCallKind.NOTHING:
        return []
    if call.stated_bytes is not None:
        return [(ArrayShape("u8", ()), call.stated_bytes)]
    if call.bytes_from is None:
        raise UnknownCostError("a custom call may move anything")
    results = _results(instruction, sizes)
    if len(results) > 1 and _is_scratch(results[-1][0]):
        results.pop()
    return [*_operands(instruction, sizes), *results]


def _is_scratch(shape: ArrayShape) -> bool:
    return shape.dtype in _SCRATCH_DTYPES and len(shape.dims) == 1


def _transpose(instruction: Instruction, sizes: Sizes) -> list[Touched]:
    if is_bitcast_transpose(instruction):
        return []
    return [*_operands(instruction, sizes), *_results(instruction, sizes)]


_SPECIAL: Final[Mapping[str, Callable[[Instruction, Sizes], list[Touched]]]] = {
    "dynamic-slice": _slice,
    "dynamic-update-slice": _update,
    "fusion": _fusion,
    "gather": _slice,
    "scatter": _update,
    "slice": _slice,
    "transpose": _transpose,
}
