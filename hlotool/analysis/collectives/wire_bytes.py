"""How many bytes does a collective hold, and how many does a device send for it?

Sizes are NCCL's: the whole array that a group shares. Wire bytes are those of the ring
algorithm, the mean over the devices of a group, as exact rationals; docs/collectives.md
has every formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.groups.device_groups import DeviceGroups, ExactShare
from hlotool.ir import ArrayShape, Instruction, Shape, TupleShape
from hlotool.ir.opcodes import MOVES

_SLICE: Final = r"\{\s*(\d[\d,\s]*)\}"
_MOST_DIGITS: Final = 20
WHOLE: Final[ExactShare] = (1, 1)
_SAME_ELEMENTS: Final = MOVES | {"bitcast"}
_SENT_SHARE: Final = {  # times (n − 1)/n of the payload
    "all-gather": 1,
    "all-reduce": 2,
    "all-to-all": 1,
    "collective-broadcast": 1,
    "collective-reduce": 1,
    "reduce-scatter": 1,
}


class PayloadPart(Struct, frozen=True):
    """What one operand contributes to a collective's payload; `size_bytes` None if unknown."""

    operand: Instruction | None
    shape: ArrayShape
    size_bytes: int | None


def list_parts(
    operation: Instruction, kind: str, receive: Instruction | None = None
) -> tuple[PayloadPart, ...]:
    """List the arrays that make up the payload, one or more for each operand.

    all-gather: the gathered results, which between slices a `receive` takes; reduce-scatter:
    the operands before they are scattered and, where `kind` makes one of an
    all-reduce, before they are padded; a permute in place: its slices; ragged-all-to-all and
    send: the data alone; all others: the operands. Sizes are without tile padding.
    """
    operands = operation.operands
    opcode = operation.opcode
    if opcode == "send":
        if kind == "all-gather":
            gathered = list_received(receive) if receive else ()
            return _pair(operands[:1], tuple(part.shape for part in gathered))
        return list_sent(operation)
    if opcode in {"all-gather", "all-gather-start"}:
        return _pair(operands, _results(operation))
    if opcode == "ragged-all-to-all":
        operands = operands[:1]
    elif "slice_sizes" in operation.attributes:
        return _slices(operation)
    if kind == "reduce-scatter" and opcode == "all-reduce":
        operands = tuple(_before_padding(operand) for operand in operands)
    return _parts(operands)


def list_sent(send: Instruction) -> tuple[PayloadPart, ...]:
    """List the arrays that a send is given; its last operand is a token."""
    return _parts(send.operands[:1])


def list_received(receive: Instruction) -> tuple[PayloadPart, ...]:
    """List the arrays that a recv makes; its shape is (data, context, token)."""
    shape = receive.shape
    data = shape.elements[:1] if isinstance(shape, TupleShape) else ()
    return tuple(_part(None, leaf) for one in data for leaf in one.leaves())


def sum_sizes(parts: Sequence[PayloadPart]) -> int | None:
    """Add up the parts; None where one is unknown, or where there is none."""
    total = 0
    for part in parts:
        if part.size_bytes is None:
            return None
        total += part.size_bytes
    return total if parts else None


def name_dtypes(parts: Iterable[PayloadPart]) -> str:
    """Return the element type of the parts, several with commas between."""
    return ",".join(sorted({part.shape.dtype for part in parts}))


def wire_share(kind: str, groups: DeviceGroups) -> ExactShare | None:
    """Return wire bytes per payload byte: the mean a device sends, on a ring of n devices.

    all-reduce 2(n−1)/n; all-gather, reduce-scatter, all-to-all, collective-broadcast and
    collective-reduce (n−1)/n; collective-permute the share of its devices that send to
    another, and so one-to-one between slices and a send; of a send that names no pairs 1;
    ragged-all-to-all 1 where n > 1, an upper bound. None for a kind or a group that is not
    known, and for a permute without pairs.
    """
    if kind in {"collective-permute", "one-to-one"}:
        return groups.sent_share()
    if kind == "send":  # between slices, nobody says what it is a part of
        return None if groups.mode == "cross_slice" else groups.sent_share() or WHOLE
    size = groups.group_size
    if size is None:
        return None
    if kind == "ragged-all-to-all":
        return int(size > 1), 1
    times = _SENT_SHARE.get(kind)
    if times is None:
        return None
    return (times * (size - 1), size) if size > 1 else (0, 1)


def _results(operation: Instruction) -> tuple[ArrayShape, ...]:
    """Return the arrays a gather makes; a start's shape is (operands, results)."""
    shape: Shape = operation.shape
    if operation.opcode == "all-gather-start" and isinstance(shape, TupleShape):
        shape = shape.elements[1] if len(shape.elements) > 1 else TupleShape(())
    return tuple(shape.leaves())


def _pair(
    operands: tuple[Instruction, ...], shapes: tuple[ArrayShape, ...]
) -> tuple[PayloadPart, ...]:
    """Put results beside the operands they were made from."""
    if len(operands) != len(shapes):
        return tuple(_part(None, shape) for shape in shapes)
    return tuple(_part(operand, shape) for operand, shape in zip(operands, shapes, strict=True))


def _parts(operands: Iterable[Instruction]) -> tuple[PayloadPart, ...]:
    return tuple(_part(operand, leaf) for operand in operands for leaf in operand.shape.leaves())


def _part(operand: Instruction | None, shape: ArrayShape) -> PayloadPart:
    return PayloadPart(operand, shape, shape.unpadded_bytes)


def _slices(operation: Instruction) -> tuple[PayloadPart, ...]:
    """List what a permute in place sends: `slice_sizes={{1,8},{4}}` of its first operand."""
    leaves = [leaf for source in operation.operands[:1] for leaf in source.shape.leaves()]
    sizes = [text.split(",") for text in re.findall(_SLICE, operation.attributes["slice_sizes"])]
    if not leaves or not sizes or any(len(one) > _MOST_DIGITS for dims in sizes for one in dims):
        return ()
    leaves += leaves[:1] * (len(sizes) - len(leaves))
    return tuple(
        _part(operation.operands[0], ArrayShape(leaf.dtype, tuple(map(int, dims))))
        for leaf, dims in zip(leaves, sizes, strict=False)
    )


def _before_padding(operand: Instruction) -> Instruction:
    """Look through a pad inside the fusion: what is padded on is not the program's."""
    source = operand
    while source.opcode in _SAME_ELEMENTS and source.operands:
        source = source.operands[0]
    return source.operands[0] if source.opcode == "pad" else operand
