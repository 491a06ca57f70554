"""What each collective of a module sends, once and per step, and to how many devices.

Sizes are NCCL's: the whole array that a group shares, without tile padding. Bytes sent are those
of the ring algorithm, the mean over the devices of a group, as exact rationals that are rounded up
last; docs/communication.md has every formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from hlotool.analysis.collectives.groups import DeviceGroups, ExactShare, GroupReader
from hlotool.analysis.collectives.logical import LogicalCollective, choose_kind, fold_collectives
from hlotool.analysis.collectives.mesh import Interconnect, find_own_interconnect
from hlotool.analysis.graph.backend import is_between_slices
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.graph.executions import Executions, Runs
from hlotool.hlo import ArrayShape, Instruction, Module, Shape, TupleShape
from hlotool.hlo.opcodes import MOVES

_SLICE: Final = r"\{\s*(\d[\d,\s]*)\}"
_MOST_DIGITS: Final = 20
WHOLE: Final[ExactShare] = (1, 1)
_SAME_ELEMENTS: Final = MOVES | {"bitcast"}
_SENT_SHARE: Final = {  # times (n − 1)/n of the message size
    "all-gather": 1,
    "all-reduce": 2,
    "all-to-all": 1,
    "collective-broadcast": 1,
    "collective-reduce": 1,
    "reduce-scatter": 1,
}


class MessagePart(Struct, frozen=True):
    """What one operand contributes to a collective's message size."""

    operand: Instruction | None
    shape: ArrayShape

    @property
    def size_bytes(self) -> int | None:
        """Its size without tile padding, None if unknown."""
        return self.shape.unpadded_bytes


class TransferBytes(Struct, frozen=True):
    """Message size or bytes sent: once, per step, and per step with the unknown counted once."""

    once: int | None
    per_step: int | None
    known_per_step: int

    def figures(self, name: str) -> dict[str, Any]:
        """Return the fields of a row that say this of a figure."""
        known = {f"known_{name}_per_step": self.known_per_step}
        return {name: self.once, f"{name}_per_step": self.per_step, **known}


class Transfer(Struct, frozen=True):
    """What a collective sends, and to how many.

    `share` are its bytes sent per byte of the message, None where nobody knows.
    """

    collective: LogicalCollective
    kind: str
    interconnect: Interconnect | None
    groups: DeviceGroups
    parts: tuple[MessagePart, ...]
    share: ExactShare | None
    message: TransferBytes
    sent: TransferBytes

    @property
    def is_upper_bound(self) -> bool:
        """Whether the data decides how much of the message size is sent."""
        return self.kind == "ragged-all-to-all"


def measure_transfers(module: Module, executions: Executions, graph: CallGraph) -> list[Transfer]:
    """Measure every logical collective of a module, in dump order; bytes are per device.

    What counts as one is said in `logical`.
    """
    reader = GroupReader(module)
    collectives = fold_collectives(module, executions, graph)
    own_interconnect = find_own_interconnect(module) if collectives else None
    found: list[Transfer] = []
    for one in collectives:
        groups = reader.read(one.operation)
        kind = choose_kind(one, groups.group_size)
        parts = list_parts(one.operation, kind, one.receive)
        interconnect = "dcn" if is_between_slices(one.operation) else own_interconnect
        share = sent_share(kind, groups)
        size = sum_sizes(parts)
        message, sent = (measure_share(size, part, one.runs) for part in (WHOLE, share))
        found.append(Transfer(one, kind, interconnect, groups, parts, share, message, sent))
    return found


def measure_share(size_bytes: int | None, share: ExactShare | None, runs: Runs) -> TransferBytes:
    """Return a share of some bytes, once and for all executions.

    It is multiplied exactly, and rounded up only then.
    """
    if size_bytes is None or share is None:
        return TransferBytes(None, None, 0)
    numerator, denominator = share
    once = -(-size_bytes * numerator // denominator)
    known = -(-size_bytes * numerator * runs.known // denominator)
    return TransferBytes(once, known if runs.is_exact else None, known)


def list_parts(
    operation: Instruction, kind: str, receive: Instruction | None = None
) -> tuple[MessagePart, ...]:
    """List the arrays that make up the message size, one or more for each operand.

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
        made: Shape = operation.shape
        if opcode == "all-gather-start" and isinstance(made, TupleShape):  # (operands, results)
            made = made.elements[1] if len(made.elements) > 1 else TupleShape(())
        return _pair(operands, tuple(made.leaves()))
    if opcode == "ragged-all-to-all":
        operands = operands[:1]
    elif "slice_sizes" in operation.attributes:
        return _slices(operation)
    if kind == "reduce-scatter" and opcode == "all-reduce":
        operands = tuple(map(_look_through_pad, operands))
    return _parts(operands)


def list_sent(send: Instruction) -> tuple[MessagePart, ...]:
    """List the arrays that a send is given; its last operand is a token."""
    return _parts(send.operands[:1])


def list_received(receive: Instruction) -> tuple[MessagePart, ...]:
    """List the arrays that a recv makes; its shape is (data, context, token)."""
    shape = receive.shape
    data = shape.elements[:1] if isinstance(shape, TupleShape) else ()
    return tuple(MessagePart(None, leaf) for one in data for leaf in one.leaves())


def sum_sizes(parts: Sequence[MessagePart]) -> int | None:
    """Add up the parts; None where one is unknown, or where there is none."""
    sizes = [part.size_bytes for part in parts if part.size_bytes is not None]
    return sum(sizes) if parts and len(sizes) == len(parts) else None


def name_dtypes(parts: Iterable[MessagePart]) -> str:
    """Return the element type of the parts, several with commas between."""
    return ",".join(sorted({part.shape.dtype for part in parts}))


def sent_share(kind: str, groups: DeviceGroups) -> ExactShare | None:
    """Return bytes sent per byte of the message: the mean a device sends, on a ring of n devices.

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
    if (size := groups.group_size) is None:
        return None
    if kind == "ragged-all-to-all":
        return int(size > 1), 1
    if (times := _SENT_SHARE.get(kind)) is None:
        return None
    return (times * (size - 1), size) if size > 1 else (0, 1)


def _pair(
    operands: tuple[Instruction, ...], shapes: tuple[ArrayShape, ...]
) -> tuple[MessagePart, ...]:
    """Put results beside the operands they were made from."""
    known = operands if len(operands) == len(shapes) else (None,) * len(shapes)
    return tuple(map(MessagePart, known, shapes))


def _parts(operands: Iterable[Instruction]) -> tuple[MessagePart, ...]:
    return tuple(MessagePart(one, leaf) for one in operands for leaf in one.shape.leaves())


def _slices(operation: Instruction) -> tuple[MessagePart, ...]:
    """List what a permute in place sends: `slice_sizes={{1,8},{4}}` of its first operand."""
    leaves = [leaf for source in operation.operands[:1] for leaf in source.shape.leaves()]
    sizes = [text.split(",") for text in re.findall(_SLICE, operation.attributes["slice_sizes"])]
    if not leaves or not sizes or any(len(one) > _MOST_DIGITS for dims in sizes for one in dims):
        return ()
    leaves += leaves[:1] * (len(sizes) - len(leaves))
    return tuple(
        MessagePart(operation.operands[0], ArrayShape(leaf.dtype, tuple(map(int, dims))))
        for leaf, dims in zip(leaves, sizes, strict=False)
    )


def _look_through_pad(operand: Instruction) -> Instruction:
    """Look through a pad inside the fusion: what is padded on is not the program's."""
    source = operand
    while source.opcode in _SAME_ELEMENTS and source.operands:
        source = source.operands[0]
    return source.operands[0] if source.opcode == "pad" else operand
