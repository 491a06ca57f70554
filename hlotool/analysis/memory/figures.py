"""The records of memory figures: names are those of the JSON, meanings in docs/semantics.md."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend

MemorySource: TypeAlias = Literal["buffer-assignment", "estimate"]
LifetimeSource: TypeAlias = Literal["live-range", "derived"]


class SpaceRow(Struct, frozen=True):
    """One memory space: what is reserved in it by class, and its peaks.

    `*_bytes` of classes are sums of allocations; null in an estimate. Peaks are null where
    nothing says when values are live. `padding_bytes` is that of the values at the peak.
    """

    color: int
    name: str | None
    allocated_bytes: int | None
    argument_bytes: int | None
    output_bytes: int | None
    alias_bytes: int | None
    temp_bytes: int | None
    constant_bytes: int | None
    peak_bytes: int | None
    peak_position: int | None
    peak_instruction: str | None
    temp_peak_bytes: int | None
    temp_peak_position: int | None
    reserved_peak_bytes: int | None
    fragmentation_bytes: int | None
    padding_bytes: int | None


class Totals(Struct, frozen=True):
    """The figures of space 0, and those of all spaces together."""

    allocated_bytes: int | None
    argument_bytes: int | None
    output_bytes: int | None
    alias_bytes: int | None
    temp_bytes: int | None
    constant_bytes: int | None
    peak_bytes: int | None
    peak_position: int | None
    peak_instruction: str | None
    temp_peak_bytes: int | None
    temp_peak_position: int | None
    reserved_peak_bytes: int | None
    fragmentation_bytes: int | None
    padding_bytes: int | None
    thread_local_bytes: int | None
    all_spaces_bytes: int | None
    reported_total_bytes: int | None
    reported_total_matches: bool | None


class Peak(Struct, frozen=True):
    """Where a space is fullest, and what XLA itself printed about its peak.

    `temp_bytes` is what temp allocations hold at that position; their own peak may be
    elsewhere. `bytes_at_xla_position` is ours at the instant XLA names.
    """

    color: int
    bytes: int | None
    position: int | None
    sequence_length: int | None
    instruction: str | None
    temp_bytes: int | None
    temp_peak_bytes: int | None
    temp_peak_position: int | None
    reserved_peak_bytes: int | None
    xla_position: int | None
    xla_bytes: int | None
    bytes_at_xla_position: int | None


class Estimated(Struct, frozen=True):
    """What the schedule alone tells; only where there is no buffer assignment.

    `is_lower_bound` where a shape has a dimension nobody knows.
    """

    peak_bytes: int
    position: int
    sequence_length: int
    instruction: str | None
    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_peak_bytes: int
    is_lower_bound: bool


class MemoryFigures(Struct, frozen=True):
    """All figures about a module's memory, without the map they were read off.

    `peak` and `estimated` are about space 0.
    """

    source: MemorySource
    lifetimes: LifetimeSource | None
    backend: Backend | None
    spaces: tuple[SpaceRow, ...]
    totals: Totals
    peak: Peak
    estimated: Estimated | None
