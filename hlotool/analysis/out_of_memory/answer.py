"""What does `hlotool buffers` answer about an out-of-memory message?"""

from __future__ import annotations

from typing import Final

from hlotool.analysis.out_of_memory.report import ListedRow, MessageFigures, PartRow
from hlotool.fields import Block, DocumentSpec, Fold, RowList

ROWS: Final = RowList(
    "rows",
    ListedRow,
    "buffers that the message lists, the largest first",
    sort="-size_bytes",
    size="size_bytes",
    key="number",
    fold=Fold(
        keys=("shape", "size_bytes", "opcode", "allocation_type", "scope", "source"),
        name="instruction",
    ),
    title="Listed buffers",
)
PARTS: Final = RowList(
    "parts",
    PartRow,
    "the sums that the message writes out, in its order",
    has_total=False,
    title="Sums",
)
FIGURES: Final = Block("message", MessageFigures, "what the last message says")
OUT_OF_MEMORY: Final = DocumentSpec(
    "out-of-memory",
    "what was asked when memory ran out",
    row_lists=(ROWS, PARTS),
    scalars=FIGURES,
)
_WHERE_KNOWN: Final = (
    *("instruction", "opcode", "allocation_type", "padding_factor", "scope", "source", "op_name"),
)


def choose_message_columns(rows: tuple[ListedRow, ...]) -> DocumentSpec:
    """Return the declaration without the columns in which no row has anything; JSON has all."""
    shown = ROWS.shown()
    for name in _WHERE_KNOWN:
        if not any(getattr(row, name) for row in rows):
            shown -= {name}
    return DocumentSpec(
        OUT_OF_MEMORY.name,
        OUT_OF_MEMORY.meaning,
        row_lists=(ROWS.showing(shown), PARTS),
        scalars=FIGURES,
    )
