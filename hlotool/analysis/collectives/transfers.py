"""How many bytes does a collective hold, and how many does a device send for it?

Sizes are NCCL's: the whole array that a group shares. Wire bytes are those of the ring
algorithm, the mean over the devices of a group, as exact rationals; docs/collectives.md
has every formula.

What does each collective of a module send, once and in one run, and to how many?

What does a combined collective consist of: one row for each array that it moves?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.collectives.groups import DeviceGroups, ExactShare, GroupReader
from hlotool.analysis.collectives.logical import LogicalCollective, find_collectives, find_kind
from hlotool.analysis.collectives.mesh import Network, choose_network, find_own_network
from hlotool.analysis.collectives.rows import (
    WIRE,
    CollectiveRow,
    KnownPayloadPerRun,
    KnownWirePerRun,
    PayloadPerRun,
    WirePerRun,
)
from hlotool.analysis.graph.calls import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.origin import find_scope
from hlotool.hlo import ArrayShape, Instruction, Module, Shape, TupleShape
from hlotool.hlo.module import all_operands
from hlotool.hlo.opcodes import COLLECTIVES, MOVES
from hlotool.hlo.shape import DTYPES
from hlotool.table import BYTES, COUNT, NUMBER, column, figure

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


class TransferBytes(Struct, frozen=True):
    """Payload or wire bytes: once, per run, and per run with the unknown counted once."""

    once: int | None
    per_run: int | None
    known_per_run: int


class Transfer(Struct, frozen=True):
    """What a collective sends, and to how many.

    `share` are its wire bytes per payload byte, None where nobody knows.
    """

    collective: LogicalCollective
    kind: str
    network: Network | None
    groups: DeviceGroups
    parts: tuple[PayloadPart, ...]
    share: ExactShare | None
    payload: TransferBytes
    wire: TransferBytes

    @property
    def is_upper_bound(self) -> bool:
        """Whether the data decides how much of the payload is sent."""
        return self.kind == "ragged-all-to-all"


def measure_transfers(module: Module, executions: Executions, graph: CallGraph) -> list[Transfer]:
    """Measure every logical collective of a module, in dump order; bytes are per device.

    What counts as one is said in `logical`, payload and wire bytes in `wire_bytes`.
    """
    reader = GroupReader(module)
    collectives = find_collectives(module, executions, graph)
    own_network = find_own_network(module) if collectives else None
    found: list[Transfer] = []
    for one in collectives:
        groups = reader.read(one.operation)
        kind = find_kind(
            one.operation, one.stated_kind, is_fused=one.is_fused, group_size=groups.group_size
        )
        parts = list_parts(one.operation, kind, one.receive)
        network = choose_network(one.operation, own_network)
        share = wire_share(kind, groups)
        size = sum_sizes(parts)
        payload, wire = measure_share(size, WHOLE, one), measure_share(size, share, one)
        found.append(Transfer(one, kind, network, groups, parts, share, payload, wire))
    return found


def measure_share(
    size_bytes: int | None, share: ExactShare | None, one: LogicalCollective
) -> TransferBytes:
    """Return a share of some bytes, once and for all executions.

    It is multiplied exactly, and rounded up only then.
    """
    if size_bytes is None or share is None:
        return TransferBytes(None, None, 0)
    numerator, denominator = share
    once = -(-size_bytes * numerator // denominator)
    known = -(-size_bytes * numerator * one.executions // denominator)
    return TransferBytes(once, known if one.is_exact else None, known)


_VIEWS_AND_COPIES: Final = MOVES | {"bitcast", "convert", "get-tuple-element"}
_MOST_VIEWS: Final = 8  # steps back to something that has a name


class OperandRow(Struct, frozen=True):
    """One operand of a collective that has several."""

    name: Annotated[str, column("the collective", heading="collective", wants=26)]
    kind: Annotated[str, column("what the collective amounts to", words=COLLECTIVES)]
    opcode: Annotated[str, figure("its opcode without -start", words=COLLECTIVES)]
    operand: Annotated[int, column("number of the operand in the collective", NUMBER, heading="#")]
    operand_name: Annotated[
        str | None, column("the instruction that makes the operand", heading="operand")
    ]
    shape: Annotated[str, column("shape of the array that counts in the payload")]
    dtype: Annotated[str, figure("its element type", words=DTYPES)]
    payload_bytes: Annotated[int | None, column("its size, unpadded", BYTES)]
    wire_bytes: Annotated[int | None, figure(WIRE, BYTES, heading="wire")]
    executions: Annotated[int | None, figure("executions of the collective", COUNT, heading="runs")]
    payload_bytes_per_run: PayloadPerRun
    known_payload_bytes_per_run: KnownPayloadPerRun
    wire_bytes_per_run: WirePerRun
    known_wire_bytes_per_run: KnownWirePerRun
    op_name: Annotated[str | None, column("op_name of the operand", null_text="")]
    scope: Annotated[
        str | None, figure("module path in the user's program", null_text="", is_path=True)
    ]


def list_operands(transfer: Transfer, row: CollectiveRow) -> Iterator[OperandRow]:
    """Open a collective: one row for each part of its payload."""
    collective = transfer.collective
    for number, part in enumerate(transfer.parts):
        payload = measure_share(part.size_bytes, WHOLE, collective)
        wire = measure_share(part.size_bytes, transfer.share, collective)
        operand = _find_outer(part.operand, collective.begin)
        op_name = _find_op_name(operand)
        yield OperandRow(
            name=row.name,
            kind=row.kind,
            opcode=row.opcode,
            operand=number,
            operand_name=operand.full_name if operand else None,
            shape=str(part.shape),
            dtype=part.shape.dtype,
            payload_bytes=payload.once,
            wire_bytes=wire.once,
            executions=row.executions,
            payload_bytes_per_run=payload.per_run,
            known_payload_bytes_per_run=payload.known_per_run,
            wire_bytes_per_run=wire.per_run,
            known_wire_bytes_per_run=wire.known_per_run,
            op_name=op_name or None,
            scope=find_scope(op_name) if op_name else None,
        )


def _find_outer(operand: Instruction | None, begin: Instruction) -> Instruction | None:
    """Return what an async-start or a fusion is given for a parameter of what it wraps."""
    if (
        operand is None
        or operand.opcode != "parameter"
        or operand.computation is not begin.callee()
    ):
        return operand
    number, given = operand.parameter_number, all_operands(begin)
    return given[number] if number < len(given) else operand


def _find_op_name(operand: Instruction | None) -> str:
    """Return the op_name of an operand, or of what it is only a view or copy of."""
    for _ in range(_MOST_VIEWS):
        if operand is None:
            return ""
        op_name = operand.metadata().op_name
        if op_name or operand.opcode not in _VIEWS_AND_COPIES or not operand.operands:
            return op_name
        operand = operand.operands[0]
    return ""
