"""The declared names, units and meanings of the figures in `memory_records`."""

from __future__ import annotations

from typing import Final

from hlotool.analysis.memory.figures import Estimated, Peak, SpaceRow, Totals
from hlotool.fields import Block, Field, RowList, Unit

_ALLOCATED: Final = "what is reserved, thread-local memory left out"
_FIGURES: Final = (
    ("allocated_bytes", Unit.BYTES, _ALLOCATED, "allocated"),
    ("argument_bytes", Unit.BYTES, "allocations of parameters", "arguments"),
    ("output_bytes", Unit.BYTES, "allocations an output may lie in", "outputs"),
    ("alias_bytes", Unit.BYTES, "allocations that are both", "aliased"),
    ("temp_bytes", Unit.BYTES, "allocations of temporary values", "temp"),
    ("constant_bytes", Unit.BYTES, "allocations of constants", "constants"),
    ("peak_bytes", Unit.BYTES, "the most in use at once", "peak"),
    ("peak_position", Unit.NUMBER, "where that is in the schedule", "at"),
    ("peak_instruction", Unit.TEXT, "what runs there", "instruction"),
    ("temp_peak_bytes", Unit.BYTES, "the most in use at once in temp allocations", "temp peak"),
    ("temp_peak_position", Unit.NUMBER, "where that is", "temp peak at"),
    (
        "reserved_peak_bytes",
        Unit.BYTES,
        "parameters, constants and outputs in full, and the peak of temp",
        "reserved peak",
    ),
    (
        "fragmentation_bytes",
        Unit.BYTES,
        "temp allocations less the most in use in each",
        "fragmentation",
    ),
    ("padding_bytes", Unit.BYTES, "padding of the values that hold memory at the peak", "padding"),
)
_IN_TABLE: Final = frozenset(
    (
        "allocated_bytes", "argument_bytes", "output_bytes", "alias_bytes", "temp_bytes",
        "constant_bytes", "peak_bytes", "peak_position", "peak_instruction",
    )
)  # fmt: skip


def _figures(in_table: bool) -> tuple[Field, ...]:
    return tuple(
        Field(
            name,
            unit,
            meaning,
            heading=heading,
            in_table=in_table and name in _IN_TABLE,
            is_nullable=True,
        )
        for name, unit, meaning, heading in _FIGURES
    )


SPACES: Final = RowList(
    "spaces",
    SpaceRow,
    "memory spaces",
    sort="color",
    size="allocated_bytes",
    key="color",
    has_total=False,
    title="Memory spaces",
    fields=(
        Field("color", Unit.NUMBER, "number of the memory space", heading="space", in_table=True),
        Field(
            "name",
            Unit.TEXT,
            "what the backend calls it; null where nobody says",
            heading="",
            in_table=True,
            is_nullable=True,
        ),
        *_figures(in_table=True),
    ),
)

TOTALS: Final = Block(
    "totals",
    Totals,
    "space 0, and all spaces together; null in an estimate",
    fields=(
        *_figures(in_table=False),
        Field("thread_local_bytes", Unit.BYTES, "memory of threads", is_nullable=True),
        Field(
            "all_spaces_bytes",
            Unit.BYTES,
            "allocated in all spaces together: fast and slow memory mixed",
            is_nullable=True,
        ),
        Field(
            "reported_total_bytes",
            Unit.BYTES,
            "`Total bytes used` of the dump: all spaces, thread-local memory too",
            is_nullable=True,
        ),
        Field(
            "reported_total_matches",
            Unit.FLAG,
            "whether the allocations add up to it",
            is_nullable=True,
        ),
    ),
)

PEAK: Final = Block(
    "peak",
    Peak,
    "where a memory space is fullest, and what XLA says of that",
    fields=(
        Field("color", Unit.NUMBER, "memory space"),
        Field("bytes", Unit.BYTES, "the most in use at once", is_nullable=True),
        Field("position", Unit.NUMBER, "where that is in the schedule", is_nullable=True),
        Field("sequence_length", Unit.NUMBER, "instructions in the schedule", is_nullable=True),
        Field("instruction", Unit.TEXT, "what runs there", is_nullable=True),
        Field("temp_bytes", Unit.BYTES, "of it in temp allocations", is_nullable=True),
        Field("temp_peak_bytes", Unit.BYTES, "the most in temp allocations", is_nullable=True),
        Field("temp_peak_position", Unit.NUMBER, "where that is", is_nullable=True),
        Field(
            "reserved_peak_bytes",
            Unit.BYTES,
            "parameters, constants and outputs in full, and the peak of temp",
            is_nullable=True,
        ),
        Field("xla_position", Unit.NUMBER, "the peak XLA prints", is_nullable=True),
        Field("xla_bytes", Unit.BYTES, "the sum of what XLA lists there", is_nullable=True),
        Field(
            "bytes_at_xla_position",
            Unit.BYTES,
            "what is in use there",
            is_nullable=True,
        ),
    ),
)

ESTIMATED: Final = Block(
    "estimated",
    Estimated,
    "what the schedule alone tells, where there is no buffer assignment",
    is_optional=True,
    fields=(
        Field("peak_bytes", Unit.BYTES, "estimate of the most in use at once"),
        Field("position", Unit.NUMBER, "where that is in the schedule"),
        Field("sequence_length", Unit.NUMBER, "instructions in the schedule"),
        Field("instruction", Unit.TEXT, "what runs there", is_nullable=True),
        Field("argument_bytes", Unit.BYTES, "memory of parameters"),
        Field("output_bytes", Unit.BYTES, "memory an output lies in"),
        Field("alias_bytes", Unit.BYTES, "memory that is both"),
        Field("temp_peak_bytes", Unit.BYTES, "estimate of the most in temporary values"),
        Field("is_lower_bound", Unit.FLAG, "whether a size is unknown and counted as 0"),
    ),
)
