"""What `hlotool collectives` answers: names, units and meanings of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.rows import (
    CollectiveRow,
    CollectiveTotals,
    Exposed,
    KindRow,
    OperandRow,
)
from hlotool.analysis.collectives.rows_fields import PAYLOAD_PER_RUN, ROWS, WIRE, WIRE_PER_RUN
from hlotool.fields import Block, DocumentSpec, Field, RowList, Unit

_SUMS: Final = (
    Field("count", Unit.COUNT, "logical collectives", in_table=True, is_exact=True),
    Field(
        "textual_count",
        Unit.COUNT,
        "instructions they were folded from",
        "in text",
        in_table=True,
        is_exact=True,
    ),
    Field(
        "executions",
        Unit.COUNT,
        "how often they run, unknown trip counts taken as one",
        "runs",
        in_table=True,
    ),
    Field(
        "payload_bytes_per_run",
        Unit.BYTES,
        "their payloads in one run",
        "payload/run",
        in_table=True,
    ),
    Field(
        "wire_bytes_per_run",
        Unit.BYTES,
        "what a device sends in one run",
        "wire/run",
        in_table=True,
    ),
    Field("is_lower_bound", Unit.FLAG, "whether a trip count or a size is unknown"),
    Field(
        "is_upper_bound",
        Unit.FLAG,
        "whether a conditional, or the data, decides if all of it is sent",
    ),
)

BY_KIND: Final = RowList(
    "by_kind",
    KindRow,
    "the totals of each kind, the one that sends most first",
    sort="-wire_bytes_per_run",
    size="wire_bytes_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_upper_bound",),
    title="By opcode",
    fields=(Field("kind", Unit.TEXT, "the opcode without -start", in_table=True), *_SUMS),
)

TOTALS: Final = Block(
    "totals",
    CollectiveTotals,
    "all collectives; bytes are per device",
    row_lists=(BY_KIND,),
    fields=_SUMS,
)

EXPOSED: Final = Block(
    "exposed",
    Exposed,
    "collectives that nothing hides",
    fields=(
        Field("count", Unit.COUNT, "collectives during which no real work is done", is_exact=True),
        Field("wire_bytes_per_run", Unit.BYTES, "what a device sends for them in one run"),
        Field("is_lower_bound", Unit.FLAG, "whether something about them is unknown"),
        Field("is_upper_bound", Unit.FLAG, "whether some of it may not be sent"),
        Field("unknown_count", Unit.COUNT, "collectives of which that is not known", is_exact=True),
    ),
)

OPERANDS: Final = RowList(
    "operands",
    OperandRow,
    "with --expand: the operands of collectives that have several, largest first",
    sort="-wire_bytes_per_run,name,operand",
    size="wire_bytes_per_run",
    is_optional=True,
    title="Operands of combined collectives",
    fields=(
        Field("name", Unit.TEXT, "the collective", heading="collective", in_table=True),
        Field("kind", Unit.TEXT, "its opcode without -start", heading="opcode"),
        Field("effective_kind", Unit.TEXT, "what it amounts to", heading="kind", in_table=True),
        Field("operand", Unit.NUMBER, "the number of the array in it", "#", in_table=True),
        Field(
            "operand_name",
            Unit.TEXT,
            "the instruction that makes the operand",
            heading="operand",
            in_table=True,
            is_nullable=True,
        ),
        Field("shape", Unit.TEXT, "the array as it counts in the payload", in_table=True),
        Field("dtype", Unit.TEXT, "its element type"),
        Field("payload_bytes", Unit.BYTES, "its size, unpadded", in_table=True, is_nullable=True),
        Field("wire_bytes", Unit.BYTES, WIRE, "wire", is_nullable=True),
        Field("executions", Unit.COUNT, "as the collective", "runs", is_nullable=True),
        *PAYLOAD_PER_RUN,
        *WIRE_PER_RUN,
        Field(
            "op_name",
            Unit.TEXT,
            "the user's name of the operand",
            in_table=True,
            is_nullable=True,
            null_text="",
        ),
        Field("scope", Unit.TEXT, "the user's module", is_nullable=True, null_text=""),
    ),
)

COLLECTIVES: Final = DocumentSpec(
    "collectives",
    "what crosses the interconnect",
    blocks=(TOTALS, EXPOSED),
    row_lists=(ROWS, BY_KIND, OPERANDS),
)

# Columns that a table has only where some row has a value for them.
_WHERE_KNOWN: Final = (
    "axes",
    "span",
    "overlap_flops",
    "overlap_bytes",
    "estimated_seconds",
    "scope",
)


def choose_columns(rows: Sequence[CollectiveRow]) -> DocumentSpec:
    """Return the declaration without columns that would say nothing; JSON is always the same.

    Those are the ones without any value, and `exposed` where all are synchronous. Where
    times are estimated, the longest come first.
    """
    empty = {name for name in _WHERE_KNOWN if all(getattr(row, name) is None for row in rows)}
    if not any(row.is_async for row in rows):
        empty.add("is_exposed")
    fields = tuple(
        replace(field, in_table=False) if field.name in empty else field for field in ROWS.fields
    )
    is_estimated = "estimated_seconds" not in empty
    sort = f"-estimated_seconds,{ROWS.sort}" if is_estimated else ROWS.sort
    chosen = replace(ROWS, fields=fields, sort=sort)
    return replace(COLLECTIVES, row_lists=(chosen, BY_KIND, OPERANDS))
