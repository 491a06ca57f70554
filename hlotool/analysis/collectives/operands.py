"""What does a combined collective consist of: one row for each array that it moves?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import (
    WIRE,
    CollectiveRow,
    KnownPayloadPerRun,
    KnownWirePerRun,
    PayloadPerRun,
    WirePerRun,
)
from hlotool.analysis.collectives.transfers import Transfer, measure_share
from hlotool.analysis.collectives.wire_bytes import WHOLE
from hlotool.analysis.origin.scope import find_scope
from hlotool.fields import BYTES, COUNT, NUMBER, column, figure
from hlotool.ir import Instruction
from hlotool.ir.async_chain import all_operands
from hlotool.ir.opcodes import COLLECTIVES, MOVES
from hlotool.ir.shape import DTYPES

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
