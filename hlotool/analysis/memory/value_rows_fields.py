"""What `hlotool buffers` answers: names, units and meanings of its figures."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.analysis.memory.donation import DonationRow
from hlotool.analysis.memory.figures_fields import ESTIMATED, PEAK, SPACES, TOTALS
from hlotool.analysis.memory.timeline import TimelineRow
from hlotool.analysis.memory.value_rows import AllocationRow, BufferRow, Headroom, Instant, Sources
from hlotool.fields import Block, DocumentSpec, Field, Fold, RowList, Unit

CLASSES: Final = ("parameter", "output", "temp", "constant", "thread-local")

_VALUE_FIELDS: Final = (
    Field(
        "occupied_bytes",
        Unit.BYTES,
        "the bytes that are its own at the instant; shared ones go to the value born last. "
        "Null with --all",
        heading="holds",
        in_table=True,
        is_nullable=True,
    ),
    Field("size_bytes", Unit.BYTES, "size the backend gives it", heading="size", is_summed=False),
    Field("count", Unit.TIMES, "values folded into the row", heading="×", in_table=True),
    Field("class", Unit.TEXT, "class of its allocation", in_table=True, values=CLASSES),
    Field("value", Unit.TEXT, "defining instruction and index", in_table=True),
    Field("shape", Unit.TEXT, "its shape, without layout", in_table=True),
    Field("opcode", Unit.TEXT, "of the defining instruction", is_nullable=True),
    Field("born", Unit.NUMBER, "first position it is live at", in_table=True, is_nullable=True),
    Field("dies", Unit.NUMBER, "last position it is live at", in_table=True, is_nullable=True),
    Field(
        "scope",
        Unit.TEXT,
        "module path in the op_name, transformations taken off; of what makes the value where "
        "its instruction names none",
        is_nullable=True,
    ),
    Field(
        "source",
        Unit.TEXT,
        "file and line without directories",
        in_table=True,
        is_nullable=True,
    ),
    Field(
        "parameter_name",
        Unit.TEXT,
        "what the program calls the parameter whose memory it is",
        is_nullable=True,
        null_text="",
    ),
    Field(
        "origin",
        Unit.TEXT,
        "name of the parameter, else the scope, else the parameter it is a copy of",
        heading="belongs to",
        in_table=True,
        is_nullable=True,
    ),
    Field("instruction", Unit.TEXT, "the defining instruction"),
    Field(
        "index",
        Unit.LIST,
        "place in the instruction's tuple; null where it is none, empty for the table itself",
        is_nullable=True,
        items=Unit.NUMBER,
    ),
    Field("dtype", Unit.TEXT, "element type; null for a tuple's table", is_nullable=True),
    Field(
        "unpadded_bytes",
        Unit.BYTES,
        "without tiles; of a tuple, its table; null where a dimension is unknown",
        is_nullable=True,
        is_summed=False,
    ),
    Field(
        "padding_bytes",
        Unit.BYTES,
        "what tiles and the allocator's minima add",
        is_nullable=True,
    ),
    Field("aliases", Unit.LIST, "live values that lie in its bytes, born last first (at most 100)"),
    Field("allocation", Unit.NUMBER, "number of its allocation", is_nullable=True),
    Field("offset", Unit.NUMBER, "first byte inside the allocation", is_nullable=True),
    Field("color", Unit.NUMBER, "memory space"),
    Field("is_donated", Unit.FLAG, "whether the memory is a parameter's and an output's"),
    Field("span", Unit.NUMBER, "positions it is live at", is_nullable=True),
    Field("use_count", Unit.NUMBER, "operands through which it is used", is_nullable=True),
    Field("op_name", Unit.TEXT, "of the instruction itself", is_nullable=True),
    Field("source_file", Unit.TEXT, "where it comes from", is_nullable=True),
    Field("source_line", Unit.NUMBER, "line in that file", is_nullable=True),
    Field(
        "parameter",
        Unit.TEXT,
        "the parameter whose memory it is: its name, else its number",
        is_nullable=True,
        null_text="(none)",
    ),
)

ROWS: Final = RowList(
    "rows",
    BufferRow,
    "values that hold memory at the instant, the largest first",
    sort="-occupied_bytes,-size_bytes",
    size="occupied_bytes",
    key="value",
    fold=Fold(
        keys=(
            "class",
            "shape",
            "size_bytes",
            "opcode",
            "scope",
            "source",
            "parameter_name",
            "color",
        ),
        name="value",
    ),
    fields=_VALUE_FIELDS,
)

ALLOCATIONS: Final = RowList(
    "allocations",
    AllocationRow,
    "allocations, the largest first",
    sort="-size_bytes,allocation",
    size="size_bytes",
    key="allocation",
    is_optional=True,
    title="Allocations",
    fields=(
        Field("allocation", Unit.NUMBER, "its number", in_table=True),
        Field("size_bytes", Unit.BYTES, "what is reserved", heading="size", in_table=True),
        Field("color", Unit.NUMBER, "memory space", heading="space", in_table=True),
        Field("class", Unit.TEXT, "its class", in_table=True, values=CLASSES),
        Field(
            "parameter",
            Unit.NUMBER,
            "number of the parameter",
            is_nullable=True,
            null_text="",
        ),
        Field(
            "parameter_name",
            Unit.TEXT,
            "what the program calls the parameter",
            heading="parameter",
            in_table=True,
            is_nullable=True,
            null_text="",
        ),
        Field("is_constant", Unit.FLAG, "read-only data of the program"),
        Field("is_live_out", Unit.FLAG, "whether an output may lie in it"),
        Field("is_thread_local", Unit.FLAG, "of threads; in no total but the reported one"),
        Field("value_count", Unit.COUNT, "values placed in it", heading="values", in_table=True),
        Field(
            "peak_bytes",
            Unit.BYTES,
            "the most in use at once",
            heading="peak",
            in_table=True,
            is_nullable=True,
            null_text="",
            is_summed=False,
        ),
        Field(
            "fragmentation_bytes",
            Unit.BYTES,
            "size of a temp allocation that is never in use at once, alignment included; null "
            "for other classes",
            heading="fragmentation",
            in_table=True,
            is_nullable=True,
            null_text="",
            is_summed=False,
        ),
    ),
)

_POSITION: Final = Field("position", Unit.NUMBER, "place in the schedule", in_table=True)
_RUNNING: Final = Field(
    "instruction",
    Unit.TEXT,
    "what runs there; null after the last",
    in_table=True,
    is_nullable=True,
)
_IN_USE: Final = Field(
    "bytes", Unit.BYTES, "what is in use", heading="in use", in_table=True, is_summed=False
)

TIMELINE: Final = RowList(
    "timeline",
    TimelineRow,
    "bytes in use at every position",
    size="bytes",
    has_total=False,
    is_optional=True,
    title="Timeline",
    fields=(_POSITION, _IN_USE, _RUNNING),
)

PEAKS: Final = RowList(
    "peaks",
    TimelineRow,
    "the highest peaks between which memory falls by a tenth or more",
    size="bytes",
    has_total=False,
    is_optional=True,
    title="Peaks",
    fields=(_POSITION, _IN_USE, _RUNNING),
)

DONATION: Final = RowList(
    "donation",
    DonationRow,
    "parameters that are, or could be, donated, the largest first",
    sort="-size_bytes,parameter",
    size="size_bytes",
    key="parameter",
    is_optional=True,
    title="Donation",
    fields=(
        Field("size_bytes", Unit.BYTES, "size of the array", heading="size", in_table=True),
        Field(
            "status",
            Unit.TEXT,
            "donated; copied: donated, and copied first; not-donated: an output of equal shape "
            "has memory of its own",
            in_table=True,
            values=("donated", "not-donated", "copied"),
        ),
        Field("parameter", Unit.NUMBER, "number of the parameter", in_table=True),
        Field(
            "parameter_name",
            Unit.TEXT,
            "what the program calls it",
            heading="name",
            in_table=True,
            is_nullable=True,
        ),
        Field("shape", Unit.TEXT, "shape of the array", in_table=True),
        Field(
            "output_index",
            Unit.LIST,
            "the output in its memory, or the one that could be",
            heading="output",
            in_table=True,
            is_nullable=True,
            items=Unit.NUMBER,
        ),
        Field(
            "copy_instruction",
            Unit.TEXT,
            "what copies it first",
            heading="copied by",
            in_table=True,
            is_nullable=True,
            null_text="",
        ),
    ),
)

SOURCES: Final = Block(
    "sources",
    Sources,
    "where the figures come from",
    fields=(
        Field(
            "source",
            Unit.TEXT,
            "whether sizes are those of a buffer assignment or estimated",
            values=("buffer-assignment", "estimate"),
        ),
        Field(
            "lifetimes",
            Unit.TEXT,
            "whether lifetimes are printed or derived from the schedule; null where neither",
            is_nullable=True,
            values=("live-range", "derived"),
        ),
    ),
)

INSTANT: Final = Block(
    "at",
    Instant,
    "the instant that the rows show",
    is_nullable=True,
    is_optional=True,
    fields=(
        Field("color", Unit.NUMBER, "memory space; null for all", is_nullable=True),
        Field("position", Unit.NUMBER, "place in the schedule"),
        Field("instruction", Unit.TEXT, "what runs there", is_nullable=True),
        Field("bytes", Unit.BYTES, "what is in use"),
    ),
)

HEADROOM: Final = Block(
    "headroom",
    Headroom,
    "space 0 against a limit; the program's own code is not in a dump",
    is_optional=True,
    fields=(
        Field("limit_bytes", Unit.BYTES, "what --hbm gives"),
        Field("allocated_bytes", Unit.BYTES, "what is reserved in space 0", is_nullable=True),
        Field(
            "headroom_bytes",
            Unit.BYTES,
            "what is left; negative where it does not fit",
            is_nullable=True,
            is_signed=True,
        ),
        Field("fits", Unit.FLAG, "whether it fits", is_nullable=True),
    ),
)

BUFFERS: Final = DocumentSpec(
    "buffers",
    "who holds memory",
    blocks=(TOTALS, PEAK, ESTIMATED, INSTANT, HEADROOM),
    row_lists=(ROWS, SPACES, ALLOCATIONS, TIMELINE, PEAKS, DONATION),
    scalars=SOURCES,
)


def choose_columns(*, is_tiled: bool, is_all: bool, has_copies: bool) -> DocumentSpec:
    """Return the declaration with the columns that suit an answer; JSON is always the same.

    Padding where layouts have tiles; sizes instead of what is held where no instant is
    shown; who copies a donated parameter where anyone does.
    """
    in_table = {field.name for field in ROWS.fields if field.in_table}
    if is_tiled:
        in_table.add("padding_bytes")
    rows = ROWS
    if is_all:
        in_table = (in_table | {"size_bytes"}) - {"occupied_bytes"}
        rows = replace(ROWS, sort="-size_bytes", size="", has_total=False)
    rows = replace(rows, fields=_only(ROWS.fields, in_table))
    donated = {field.name for field in DONATION.fields if field.in_table}
    if not has_copies:
        donated.discard("copy_instruction")
    donation = replace(DONATION, fields=_only(DONATION.fields, donated))
    changed = {"rows": rows, "donation": donation}
    lists = tuple(changed.get(one.name, one) for one in BUFFERS.row_lists)
    return replace(BUFFERS, row_lists=lists)


def _only(fields: tuple[Field, ...], in_table: set[str]) -> tuple[Field, ...]:
    return tuple(replace(field, in_table=field.name in in_table) for field in fields)
