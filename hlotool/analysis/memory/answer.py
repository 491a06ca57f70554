"""The document of `hlotool buffers`: its records, in the order of the JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.memory.donation import DonationRow
from hlotool.analysis.memory.figures import ESTIMATED, FIT, PEAK, SPACES, TOTALS, MemoryFigures
from hlotool.analysis.memory.placed import REPLICATED
from hlotool.analysis.memory.reduction_plan import RELIEF, WITHOUT
from hlotool.analysis.memory.rows import AllocationRow, BufferRow
from hlotool.analysis.memory.timeline import Instant, TimelineRow
from hlotool.table import Block, DocumentSpec, Fold, RowList

ROWS: Final = RowList(
    "rows",
    BufferRow,
    "values that hold memory at the instant, largest first",
    sort="-live_bytes,-size_bytes",
    size="live_bytes",
    key="value",
    no_total_across="space",
    fold=Fold(
        keys="allocation_type,shape,size_bytes,opcode,scope,scope_from,source,stack,"
        "parameter_name,global_shape,spec_text,space",
        name="value",
    ),
    screen="live_bytes,size_bytes,saves_bytes,count,space,shape,value,origin,source",
    wide_screen="allocation_type,padding_bytes,global_shape,spec_text,copies",
)
ALLOCATIONS: Final = RowList(
    "allocations",
    AllocationRow,
    "allocations, largest first",
    sort="-size_bytes,allocation",
    size="size_bytes",
    key="allocation",
    no_total_across="space",
    option="--all",
    title="Allocations",
)
TIMELINE: Final = RowList(
    "timeline",
    TimelineRow,
    "bytes in use at every position",
    size="bytes",
    has_total=False,
    option="--timeline",
    title="Timeline",
)
PEAKS: Final = replace(
    TIMELINE,
    name="peaks",
    meaning="the highest peaks, separated by falls of a tenth or more",
    option="--peaks N",
    title="Peaks",
)
DONATION: Final = RowList(
    "donation",
    DonationRow,
    "parameters that are or could be donated: by savings, then by size",
    sort="-saves_bytes,-size_bytes,parameter_number",
    size="size_bytes",
    key="parameter_number",
    option="--donation",
    title="Donation",
)
INSTANT: Final = Block(
    "at", Instant, "the instant that the rows show", is_nullable=True, is_optional=True
)
BUFFERS: Final = DocumentSpec(
    "buffers",
    "values that hold memory",
    blocks=(TOTALS, PEAK, ESTIMATED, INSTANT, WITHOUT, FIT),
    row_lists=(ROWS, SPACES, ALLOCATIONS, TIMELINE, PEAKS, DONATION, RELIEF, REPLICATED),
    scalars=Block("sources", MemoryFigures, "sources of the figures"),
)


def choose_buffer_columns(
    *,
    is_tiled: bool,
    is_all: bool,
    has_spaces: bool,
    is_placed: bool,
    donations: Sequence[DonationRow],
) -> DocumentSpec:
    """Return the declaration with the columns that suit an answer; JSON is always the same.

    Padding where layouts have tiles; sizes instead of what is held where no instant is shown; the
    memory space where there are several; how parameters are sharded, where they are; who copies a
    donated parameter where anyone does, and what donation saves where anything is not donated and
    that is known.
    """
    rows, shown = ROWS, ROWS.shown()
    if is_tiled:
        shown |= {"padding_bytes"}
    if has_spaces:
        shown |= {"space"}
    if is_placed:
        shown |= {"global_shape", "spec_text", "copies"}
    if is_all:
        shown = (shown | {"size_bytes"}) - {"live_bytes"}
        rows = replace(ROWS, sort="-size_bytes", size="", has_total=False)
    donated = DONATION.shown()
    if not any(row.saves_bytes is not None and row.is_missed for row in donations):
        donated -= {"saves_bytes"}
    names = "copy_instruction", "reason"
    donated -= {name for name in names if not any(getattr(row, name) for row in donations)}
    changed = {"rows": rows.showing(shown), "donation": DONATION.showing(donated)}
    lists = tuple(changed.get(one.name, one) for one in BUFFERS.row_lists)
    return replace(BUFFERS, row_lists=lists)
