"""Is a fused all-reduce a reduce-scatter in effect?

TPU writes a reduce-scatter as a fusion: an all-reduce, then the slices that belong to this
device. No device needs the rest, and the compiler moves only what a reduce-scatter moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.ir import ArrayShape, Instruction, TupleShape
from hlotool.ir.opcodes import DEVICE_NUMBERS, MOVES

_SAME_ORDER: Final = (MOVES - {"transpose"}) | {"bitcast"}  # of elements
_MARK: Final = "all-reduce-scatter"  # what libtpu calls such computations


def find_kind(operation: Instruction, kind: str, *, is_fused: bool, group_size: int | None) -> str:
    """Return what a collective amounts to: its kind, or `reduce-scatter`.

    It is one if it is an all-reduce inside a fusion, and the only use there of each of its
    results is a dynamic-slice, one group_size-th in length along one dimension and whole
    along the others, at an offset made from partition-id or replica-id. Where the offset
    comes from outside the fusion, the computation's name has to say so.
    """
    if kind != "all-reduce" or not is_fused or not group_size or group_size < 2:  # noqa: PLR2004
        return kind
    results = _list_results(operation)
    is_scattered = results and all(_is_scattered(one, group_size) for one in results)
    return "reduce-scatter" if is_scattered else kind


def _list_results(operation: Instruction) -> Sequence[Instruction]:
    """Return what holds each result: the operation, or of several a get-tuple-element each.

    None of them where one result has no or several such, or anything else uses the tuple.
    """
    shape = operation.shape
    if not isinstance(shape, TupleShape):
        return (operation,)
    users = operation.users
    if any(one.opcode != "get-tuple-element" for one in users):
        return ()
    indices = sorted(one.tuple_index for one in users)
    return users if indices == list(range(len(shape.elements))) else ()


def _is_scattered(result: Instruction, group_size: int) -> bool:
    """Whether only this device's shard of a result is used."""
    slicing = _find_slice(result)
    if slicing is None:
        return False
    dimension = _find_scattered_dimension(slicing, group_size)
    if dimension is None or dimension + 1 >= len(slicing.operands):
        return False
    return _is_of_this_device(slicing.operands[dimension + 1])


def _find_slice(result: Instruction) -> Instruction | None:
    """Follow the only use of a result to a dynamic-slice."""
    current = result
    while True:
        users = current.users
        if len(users) != 1 or not users[0].operands or users[0].operands[0] is not current:
            return None
        current = users[0]
        if current.opcode == "dynamic-slice":
            return current
        if current.opcode not in _SAME_ORDER:
            return None


def _find_scattered_dimension(slicing: Instruction, group_size: int) -> int | None:
    """Return the dimension of which one group_size-th is left, if all others are whole."""
    whole, part = slicing.operands[0].shape, slicing.shape
    if not isinstance(whole, ArrayShape) or not isinstance(part, ArrayShape):
        return None
    if len(whole.dims) != len(part.dims):
        return None
    changed = [at for at, size in enumerate(whole.dims) if part.dims[at] != size]
    if len(changed) != 1 or part.dims[changed[0]] * group_size != whole.dims[changed[0]]:
        return None
    return changed[0]


def _is_of_this_device(offset: Instruction) -> bool:
    """Whether an offset is made from this device's number."""
    seen = {offset}
    pending = [offset]
    is_from_outside = False
    while pending:
        current = pending.pop()
        if current.opcode in DEVICE_NUMBERS:
            return True
        is_from_outside |= current.opcode == "parameter"
        new = [one for one in current.operands if one not in seen]
        seen.update(new)
        pending += new
    return is_from_outside and offset.computation.name.startswith(_MARK)
