"""The figures of a module's memory; docs/memory.md says how they are counted.

`report` measures them. Those of a `SpaceRow` are XLA's CompiledMemoryStats, and peaks that XLA does
not print; an estimate fills a `MemoryEstimate` instead, so that nobody takes it for a measurement.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.live_ranges import LiveRangeSource
from hlotool.analysis.graph.backend import SPACE_NAMES, Backend
from hlotool.table import BYTES, NUMBER, Block, RowList, column, figure

SizeSource: TypeAlias = Literal["buffer-assignment", "estimate"]

_PEAK: Final = "most bytes in use at once"
_POSITION: Final = "its position in the schedule"
_RUNNING: Final = "the instruction that runs there"
_LENGTH: Final = "instructions in the schedule"
_RESERVED: Final = "parameters, constants and outputs in full, and the peak of temp"


class SpaceRow(Struct, frozen=True):
    """One memory space: what is reserved in it by allocation type, and its peaks.

    `*_bytes` of types are sums of allocations. Peaks are None where nothing says when
    values are live.
    """

    space: Annotated[int, column("number of the memory space")] = 0
    name: Annotated[
        str | None, column("the backend's name for it; null where unknown", words=SPACE_NAMES)
    ] = None
    allocated_bytes: Annotated[
        int | None, column("bytes reserved, excluding thread-local memory")
    ] = None
    argument_bytes: Annotated[
        int | None, column("allocations of parameters", heading="arguments")
    ] = None
    output_bytes: Annotated[
        int | None, column("allocations that may hold an output", heading="outputs")
    ] = None
    alias_bytes: Annotated[
        int | None, column("allocations that are both argument and output", heading="aliased")
    ] = None
    temp_bytes: Annotated[int | None, column("allocations of temporary values")] = None
    constant_bytes: Annotated[
        int | None, column("allocations of constants", heading="constants")
    ] = None
    peak_bytes: Annotated[int | None, column(_PEAK)] = None
    peak_position: Annotated[int | None, column(_POSITION, heading="at")] = None
    peak_instruction: Annotated[str | None, column(_RUNNING, heading="instruction")] = None
    temp_peak_bytes: Annotated[int | None, figure(f"{_PEAK} in temp allocations")] = None
    temp_peak_position: Annotated[
        int | None, figure("position of that peak", heading="temp peak at")
    ] = None
    reserved_peak_bytes: Annotated[int | None, figure(_RESERVED)] = None
    fragmentation_bytes: Annotated[
        int | None, figure("size of temp allocations minus the peak of each")
    ] = None
    padding_bytes: Annotated[
        int | None, figure("padding of the values that hold memory at the peak")
    ] = None


class MemoryTotals(SpaceRow, frozen=True):
    """The figures of one space, and those of all spaces together.

    An estimate has none of them.
    """

    space: int = 0  # which space that is stands elsewhere in an answer: no figure here
    name: str | None = None
    thread_local_bytes: Annotated[int | None, figure("thread-local memory")] = None
    all_spaces_bytes: Annotated[
        int | None, figure("allocated in all spaces together, fast and slow memory mixed")
    ] = None
    reported_total_bytes: Annotated[
        int | None, figure("`Total bytes used` of the dump: all spaces, with thread-local memory")
    ] = None
    reported_total_matches: Annotated[
        bool | None, figure("whether the allocations add up to reported_total_bytes")
    ] = None


class Peak(Struct, frozen=True):
    """Where a space is fullest, and what XLA itself printed about its peak.

    `temp_bytes` is what temp allocations hold at that position; their own peak may be
    elsewhere. `bytes_at_xla_position` is ours at the instant XLA names.
    """

    space: Annotated[int, figure("number of the memory space")]
    bytes: Annotated[int | None, figure(_PEAK)] = None
    position: Annotated[int | None, figure(_POSITION)] = None
    sequence_length: Annotated[int | None, figure(_LENGTH, NUMBER)] = None
    instruction: Annotated[str | None, figure(_RUNNING)] = None
    temp_bytes: Annotated[int | None, figure("the part of it in temp allocations")] = None
    temp_peak_bytes: Annotated[int | None, figure("the most in temp allocations")] = None
    temp_peak_position: Annotated[int | None, figure("position of that peak")] = None
    reserved_peak_bytes: Annotated[int | None, figure(_RESERVED)] = None
    xla_position: Annotated[int | None, figure("position of the peak that XLA prints")] = None
    xla_bytes: Annotated[int | None, figure("sum of the values that XLA lists there")] = None
    bytes_at_xla_position: Annotated[int | None, figure("bytes in use there", BYTES)] = None


class MemoryEstimate(Struct, frozen=True):
    """What the schedule alone tells of a space; only where there is no buffer assignment."""

    peak_bytes: Annotated[int, figure("estimate of the most in use at once")]
    position: Annotated[int, figure(_POSITION)]
    sequence_length: Annotated[int, figure(_LENGTH, NUMBER)]
    instruction: Annotated[str | None, figure(_RUNNING)]
    allocated_bytes: Annotated[
        int | None,
        figure(
            "estimate of the bytes reserved; null on an unknown backend, and on TPU in all "
            "spaces but 0"
        ),
    ]
    argument_bytes: Annotated[int, figure("memory of parameters")]
    output_bytes: Annotated[int, figure("memory that holds an output")]
    alias_bytes: Annotated[int, figure("memory that is both argument and output")]
    temp_peak_bytes: Annotated[
        int, figure("estimate of the most in use in temp allocations; on TPU an upper bound")
    ]
    is_lower_bound: Annotated[bool, figure("whether a size is unknown and counted as 0")]


class Fit(Struct, frozen=True):
    """Space 0 against a limit; None where the allocated size is unknown."""

    limit_bytes: Annotated[int, figure("limit from --hbm, or the memory of --chip")]
    allocated_bytes: Annotated[
        int | None, figure("bytes reserved in space 0, or an estimate of them")
    ]
    free_bytes: Annotated[
        int | None, figure("free memory; negative if it does not fit", is_signed=True)
    ]
    fits: Annotated[
        bool | None, figure("whether it fits; null if an estimate is too close to decide")
    ]
    is_estimate: Annotated[bool, figure("whether the allocated size is an estimate")]
    chip: Annotated[
        str | None,
        figure("the chip if the limit is its whole memory, of which programs get less; else null"),
    ] = None


class MemoryFigures(Struct, frozen=True):
    """All figures about a module's memory, without the map they were read off.

    `totals`, `peak` and `estimated` are about space 0.
    """

    sizes_from: Annotated[
        SizeSource, figure("whether sizes are those of a buffer assignment or estimated")
    ]
    live_ranges_from: Annotated[
        LiveRangeSource | None,
        figure("whether live ranges are printed or derived from the schedule; null if unknown"),
    ]
    backend: Backend | None
    spaces: tuple[SpaceRow, ...]
    totals: MemoryTotals
    peak: Peak
    estimated: MemoryEstimate | None


SPACES: Final = RowList(
    "spaces",
    SpaceRow,
    "memory spaces",
    sort="space",
    size="allocated_bytes",
    key="space",
    has_total=False,
    title="Memory spaces",
    screen="space,name,allocated_bytes,temp_bytes,peak_bytes,peak_position,peak_instruction",
    wide_screen="argument_bytes,output_bytes",
)
TOTALS: Final = Block(
    "totals", MemoryTotals, "space 0, and all spaces together; null in an estimate"
)
PEAK: Final = Block("peak", Peak, "the peak of a memory space, and XLA's own figures for it")
ESTIMATED: Final = Block(
    "estimated",
    MemoryEstimate,
    "estimates from the schedule, without a buffer assignment",
    is_optional=True,
)
FIT: Final = Block(
    "fit", Fit, "space 0 against a limit; program code is not included", is_optional=True
)
