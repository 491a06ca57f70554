"""Bytes that one instruction reads and writes: as XLA counts them, and as a clock would see.

`measure_bytes` follows the handlers of xla/service/hlo_cost_analysis.cc (0.10.2): by default all
operands are read and all results written, a tuple operand being its table of pointers.

`measure_memory` counts by memory space: of a slice, however it is reached, what it touches; of an
array in another memory space nothing that crosses this one; of a known custom call its operands
and results. Neither counts what the computations move that an instruction calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from hlotool.analysis.cost.arithmetic import find_custom_body
from hlotool.analysis.cost.cost import (
    Sizes,
    UnknownCostError,
    expect_array,
    first_array,
    operand_shape,
)
from hlotool.analysis.cost.custom_calls import CustomCall, CustomCallKind, read_custom_call
from hlotool.analysis.cost.fused_traffic import (
    TouchedBytes,
    expect_body,
    measure_fusion_traffic,
    measure_touched,
    updated_bytes,
)
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.opcodes import ASYNC_DONES, COLLECTIVES, CONTROL_FLOW, FREE, PASSES_ON, TRANSFERS


def measure_bytes(instruction: Instruction, sizes: Sizes) -> int:
    """Return the bytes an instruction reads and writes, its callees not included.

    0 for custom calls, whose traffic XLA takes to be unknown, and for control flow, which
    moves nothing itself.
    """
    opcode = instruction.opcode
    if opcode in _NOT_COUNTED:
        return 0
    if (handler := _COUNTED_APART.get(opcode)) is not None:
        return handler(instruction, sizes)
    if opcode == "transpose" and _is_bitcast(instruction):
        return 0
    pointers = sum(sizes.pointer_bytes(operand.shape) for operand in instruction.operands)
    return sizes.content_bytes(instruction.shape) + pointers


_NOT_COUNTED: Final = frozenset(
    (
        "add-dependency", "after-all", "async-start", "bitcast", "call", "conditional", "constant",
        "custom-call", "domain", "get-tuple-element", "parameter", "while",
    )
)  # fmt: skip


def _operand_bytes(instruction: Instruction, number: int, sizes: Sizes) -> int:
    return sizes.content_bytes(instruction.operands[number].shape)


def _indexed_slice(instruction: Instruction, sizes: Sizes) -> int:
    """Count a slice, read and written, and the indices; of several start indices XLA's first."""
    return 2 * sizes.content_bytes(instruction.shape) + _operand_bytes(instruction, 1, sizes)


def _scatter(instruction: Instruction, sizes: Sizes) -> int:
    """Count the updates, as much of the operand read and written, and the indices."""
    indices = len(instruction.operands) // 2
    return 3 * updated_bytes(instruction, sizes) + _operand_bytes(instruction, indices, sizes)


def _fusion(instruction: Instruction, sizes: Sizes) -> int:
    """Count what the body reads and writes; a custom fusion with a gather is only that gather."""
    if (special := find_custom_body(instruction, expect_body(instruction))) is None:
        moved = measure_fusion_traffic(instruction, sizes)
        return sum(size for _, size in (*moved.operands, *moved.constants, *moved.results))
    return (_indexed_slice if special.opcode == "gather" else _scatter)(special, sizes)


def _is_bitcast(transpose: Instruction) -> bool:
    """Whether a transpose moves no byte: the layouts undo it (IsEffectiveBitcast)."""
    before, after = expect_array(transpose.operands[0].shape), first_array(transpose.shape)
    order = transpose.integers("dimensions")
    renamed = tuple(order[number] for number in _minor_to_major(after))
    return before.dtype == after.dtype and renamed == _minor_to_major(before)


def _minor_to_major(shape: ArrayShape) -> tuple[int, ...]:
    if shape.layout is None:
        return tuple(range(len(shape.dims) - 1, -1, -1))
    return shape.layout.minor_to_major


_COUNTED_APART: Final[Mapping[str, Callable[[Instruction, Sizes], int]]] = {
    # Half is read and half is written.
    "cholesky": lambda one, sizes: _operand_bytes(one, 0, sizes),
    "dynamic-slice": _indexed_slice,
    # The update is read and written, in place; of the start indices XLA counts the first.
    "dynamic-update-slice": lambda one, sizes: (
        2 * _operand_bytes(one, 1, sizes) + _operand_bytes(one, 2, sizes)
    ),
    "fusion": _fusion,
    "gather": _indexed_slice,
    "infeed": lambda one, sizes: sizes.content_bytes(one.shape),
    "outfeed": lambda one, sizes: sum(sizes.content_bytes(each.shape) for each in one.operands),
    "scatter": _scatter,
    # It reads as much as it writes.
    "slice": lambda one, sizes: 2 * sizes.content_bytes(one.shape),
    # Half of the triangular matrix, and all else.
    "triangular-solve": lambda one, sizes: (
        sizes.content_bytes(one.shape)
        + _operand_bytes(one, 1, sizes)
        + _operand_bytes(one, 0, sizes) // 2
    ),
    # The pointers are written; what they point to stays where it is.
    "tuple": lambda one, sizes: sizes.pointer_bytes(one.shape),
}

MAIN_SPACE: Final = 0  # HBM on TPU, device memory on GPU, main memory on CPU
VMEM: Final = 1  # the vector memory of TPU
PADDED: Final = -1  # no space: what crosses the main one with the padding of tiles
SpaceBytes: TypeAlias = dict[int, int]  # bytes moved, by the number of the memory space

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
    what a custom call does. `PADDED` are the bytes of the main space with the padding of
    tiles, a part of an array as much as all of it: how much of it a copy skips is not known.
    """
    if instruction.opcode in _MOVES_NOTHING:
        return {}
    found: SpaceBytes = {}
    for shape, size in _list_touched(instruction, sizes, call):
        if size:
            space = shape.memory_space
            found[space] = found.get(space, 0) + size
            if space == MAIN_SPACE:
                host = shape.unpadded_bytes if shape.layout and shape.layout.tiles else None
                padded = size * (shape.size_bytes or 0) // host if host else size
                found[PADDED] = found.get(PADDED, 0) + padded
    return found


def _list_touched(
    instruction: Instruction, sizes: Sizes, call: CustomCall | None
) -> Iterable[TouchedBytes]:
    opcode = instruction.opcode
    if opcode == "custom-call":
        return _touched_by_call(instruction, sizes, call or read_custom_call(instruction))
    if opcode == "fusion":
        return measure_touched(instruction, expect_body(instruction), sizes)
    if opcode in {"dynamic-update-slice", "scatter"}:
        return _touched_by_update(instruction, sizes)
    if opcode in {"dynamic-slice", "gather", "slice"}:
        # Of the first operand as much is read as is made of it.
        source = operand_shape(instruction, 0), sizes.content_bytes(instruction.shape)
        return [source, *_operands(instruction, sizes, 1), *_results(instruction, sizes)]
    if opcode == "transpose" and _is_bitcast(instruction):
        return []
    reads = [] if opcode in _WRITES_ONLY else _operands(instruction, sizes)
    return reads if opcode in _READS_ONLY else [*reads, *_results(instruction, sizes)]


def _operands(instruction: Instruction, sizes: Sizes, first: int = 0) -> list[TouchedBytes]:
    """Read operands whole, from number `first` on; one that is given twice once."""
    operands = sizes.distinct(instruction.operands[first:])
    return [(leaf, sizes.content_bytes(leaf)) for one in operands for leaf in one.shape.leaves()]


def _results(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    return [(leaf, sizes.content_bytes(leaf)) for leaf in instruction.shape.leaves()]


def _touched_by_update(instruction: Instruction, sizes: Sizes) -> list[TouchedBytes]:
    """Read update and indices, and write the update; a scatter reads what it adds to."""
    size = updated_bytes(instruction, sizes)
    target = operand_shape(instruction, 0)
    if instruction.opcode != "scatter":
        return [(target, size), *_operands(instruction, sizes, 1)]
    return [(target, 2 * size), *_operands(instruction, sizes, len(instruction.operands) // 2)]


def _touched_by_call(
    instruction: Instruction, sizes: Sizes, call: CustomCall
) -> list[TouchedBytes]:
    """Leave out the scratch memory that libraries get as a last result of bytes."""
    if call.kind is CustomCallKind.NOTHING:
        return []
    if call.stated_bytes is not None:
        return [(ArrayShape("u8", ()), call.stated_bytes)]
    if call.bytes_from is None:
        raise UnknownCostError("a custom call may move anything")
    results = _results(instruction, sizes)
    last = results[-1][0] if len(results) > 1 else None
    if last is not None and last.dtype in {"s8", "u8"} and len(last.dims) == 1:
        results.pop()
    return [*_operands(instruction, sizes), *results]
