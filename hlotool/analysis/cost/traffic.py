"""How many bytes does one instruction read and write?

Follows the handlers of xla/service/hlo_cost_analysis.cc (0.10.2): by default all operands
are read and all results written, a tuple operand being its table of pointers.

How many bytes does an instruction move, in each memory space?

`traffic` counts as XLA's cost analysis does. Here counts what a clock would see: of a slice,
however it is reached, what it touches; of an array in another memory space nothing that crosses
this one; of a known custom call its operands and results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from hlotool.analysis.cost.custom_calls import CustomCall, CustomCallKind, read_custom_call
from hlotool.analysis.cost.fused_traffic import (
    NO_BODY,
    TouchedBytes,
    measure_fusion_bytes,
    measure_touched,
    updated_bytes,
)
from hlotool.analysis.cost.invocations import find_custom_body
from hlotool.analysis.cost.sizes import (
    Sizes,
    UnknownCostError,
    expect_array,
    first_array,
    operand_shape,
)
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.opcodes import ASYNC_DONES, COLLECTIVES, CONTROL_FLOW, FREE, PASSES_ON, TRANSFERS


def measure_bytes(instruction: Instruction, sizes: Sizes) -> int:
    """Return the bytes an instruction reads and writes, its callees not included.

    0 for custom calls, whose traffic XLA takes to be unknown, and for control flow, which
    moves nothing itself.
    """
    handler = _SPECIAL.get(instruction.opcode)
    return handler(instruction, sizes) if handler else _all_operands_and_results(instruction, sizes)


def _all_operands_and_results(instruction: Instruction, sizes: Sizes) -> int:
    size = sizes.content_bytes(instruction.shape)
    for operand in instruction.operands:
        size += sizes.pointer_bytes(operand.shape)
    return size


def _nothing(instruction: Instruction, sizes: Sizes) -> int:  # noqa: ARG001 (one signature)
    return 0


def _table(instruction: Instruction, sizes: Sizes) -> int:
    """Count the pointers a tuple writes."""
    return sizes.pointer_bytes(instruction.shape)


def _slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count what a slice writes twice: it reads as much."""
    return 2 * sizes.content_bytes(instruction.shape)


def _dynamic_slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count a slice, and the first start index: XLA counts one of them."""
    return _slice(instruction, sizes) + sizes.content_bytes(instruction.operands[1].shape)


def _dynamic_update_slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count the update twice, read and written in place, and the first start index."""
    update, index = instruction.operands[1], instruction.operands[2]
    return 2 * sizes.content_bytes(update.shape) + sizes.content_bytes(index.shape)


def _gather(instruction: Instruction, sizes: Sizes) -> int:
    """Count what is gathered twice, read and written, and the indices."""
    return _slice(instruction, sizes) + sizes.content_bytes(instruction.operands[1].shape)


def _scatter(instruction: Instruction, sizes: Sizes) -> int:
    """Count the updates, as much of the operand read and written, and the indices."""
    half = len(instruction.operands) // 2
    updates = sum(sizes.content_bytes(one.shape) for one in instruction.operands[half + 1 :])
    return 3 * updates + sizes.content_bytes(instruction.operands[half].shape)


def _fusion(instruction: Instruction, sizes: Sizes) -> int:
    """Count what the body reads and writes; a custom fusion with a gather is only that gather."""
    body = instruction.callee()
    special = find_custom_body(instruction, body) if body else None
    if special is not None:
        return _gather(special, sizes) if special.opcode == "gather" else _scatter(special, sizes)
    if body is None:
        raise UnknownCostError(NO_BODY)
    return measure_fusion_bytes(instruction, body, sizes)


def _triangular_solve(instruction: Instruction, sizes: Sizes) -> int:
    """Count half of the triangular matrix, and all else."""
    matrix, other = instruction.operands[0], instruction.operands[1]
    whole = sizes.content_bytes(instruction.shape) + sizes.content_bytes(other.shape)
    return whole + sizes.content_bytes(matrix.shape) // 2


def _cholesky(instruction: Instruction, sizes: Sizes) -> int:
    """Count half as read and half as written."""
    return sizes.content_bytes(instruction.operands[0].shape)


def _infeed(instruction: Instruction, sizes: Sizes) -> int:
    return sizes.content_bytes(instruction.shape)


def _outfeed(instruction: Instruction, sizes: Sizes) -> int:
    return sum(sizes.content_bytes(one.shape) for one in instruction.operands)


def _transpose(instruction: Instruction, sizes: Sizes) -> int:
    """0 where only the layout's numbering changes (HloInstruction::IsEffectiveBitcast)."""
    if is_bitcast_transpose(instruction):
        return 0
    return _all_operands_and_results(instruction, sizes)


def is_bitcast_transpose(instruction: Instruction) -> bool:
    """Whether a transpose moves no byte: the layouts undo it."""
    before, after = expect_array(instruction.operands[0].shape), first_array(instruction.shape)
    order = instruction.integers("dimensions")
    renamed = tuple(order[number] for number in _minor_to_major(after))
    return before.dtype == after.dtype and renamed == _minor_to_major(before)


def _minor_to_major(shape: ArrayShape) -> tuple[int, ...]:
    if shape.layout is None:
        return tuple(range(len(shape.dims) - 1, -1, -1))
    return shape.layout.minor_to_major


_SPECIAL: Final[Mapping[str, Callable[[Instruction, Sizes], int]]] = {
    "add-dependency": _nothing,
    "after-all": _nothing,
    "async-start": _nothing,
    "bitcast": _nothing,
    "call": _nothing,
    "cholesky": _cholesky,
    "conditional": _nothing,
    "constant": _nothing,
    "custom-call": _nothing,
    "domain": _nothing,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "fusion": _fusion,
    "gather": _gather,
    "get-tuple-element": _nothing,
    "infeed": _infeed,
    "outfeed": _outfeed,
    "parameter": _nothing,
    "scatter": _scatter,
    "slice": _slice,
    "transpose": _transpose,
    "triangular-solve": _triangular_solve,
    "tuple": _table,
    "while": _nothing,
}

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
) -> Iterable[TouchedBytes]:
    opcode = instruction.opcode
    if opcode == "custom-call":
        return _custom_call(instruction, sizes, call or read_custom_call(instruction))
    if opcode in _SPECIAL_MEMORY:
        return _SPECIAL_MEMORY[opcode](instruction, sizes)
    reads = [] if opcode in _WRITES_ONLY else _operands(instruction, sizes)
    return reads if opcode in _READS_ONLY else [*reads, *_results(instruction, sizes)]


def _operands(instruction: Instruction, sizes: Sizes, first: int = 0) -> list[TouchedBytes]:
    """Read operands whole, from number `first` on; one that is given twice once."""
    operands = sizes.distinct(instruction.operands[first:])
    return [(leaf, sizes.content_bytes(leaf)) for one in operands for leaf in one.shape.leaves()]


def _results(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    return [(leaf, sizes.content_bytes(leaf)) for leaf in instruction.shape.leaves()]


def _slice_memory(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    """Read of the first operand as much as is made of it; indices whole."""
    source = operand_shape(instruction, 0)
    read = (source, sizes.content_bytes(instruction.shape))
    return [read, *_operands(instruction, sizes, 1), *_results(instruction, sizes)]


def _update(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    """Read update and indices, and write the update; a scatter reads what it adds to."""
    size = updated_bytes(instruction, sizes)
    sources = len(instruction.operands) // 2 if instruction.opcode == "scatter" else 1
    target = operand_shape(instruction, 0)
    kept = size if instruction.opcode == "scatter" else 0
    return [(target, size + kept), *_operands(instruction, sizes, sources)]


def _fusion_memory(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    body = instruction.callee()
    if body is None:
        raise UnknownCostError(NO_BODY)
    return measure_touched(instruction, body, sizes)


def _custom_call(instruction: Instruction, sizes: Sizes, call: CustomCall) -> list[TouchedBytes]:
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


def _transpose_memory(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    if is_bitcast_transpose(instruction):
        return []
    return [*_operands(instruction, sizes), *_results(instruction, sizes)]


_SPECIAL_MEMORY: Final[Mapping[str, Callable[[Instruction, Sizes], list[TouchedBytes]]]] = {
    "dynamic-slice": _slice_memory,
    "dynamic-update-slice": _update,
    "fusion": _fusion_memory,
    "gather": _slice_memory,
    "scatter": _update,
    "slice": _slice_memory,
    "transpose": _transpose_memory,
}
