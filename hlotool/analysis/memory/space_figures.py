"""What does one memory space hold, where does it peak, and what do all spaces hold together?"""

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict

from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.graph.space_names import find_space_name
from hlotool.analysis.memory.estimate.value_size import HOST_ARRAY_BYTES
from hlotool.analysis.memory.figures import MemoryEstimate, MemoryTotals, Peak, SpaceRow
from hlotool.analysis.memory.holdings import find_holdings
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.padding import padding_bytes_of, unpadded_bytes_of
from hlotool.analysis.memory.space_sums import SpaceSums, add_up_space

# What the estimate gives an array that has an unknown dimension.
_UNSURE_BYTES: Final = frozenset((0, HOST_ARRAY_BYTES))


def measure_space(memory: MemoryMap, color: int, backend: Backend | None) -> SpaceRow:
    """Return the figures of one space.

    Class sums follow CompiledMemoryStats (xla/pjrt/pjrt_executable.cc).
    """
    sums = add_up_space(memory, color)
    peak = measure_peak(memory, color, sums)
    return SpaceRow(
        space=color,
        name=find_space_name(backend, color),
        allocated_bytes=sums.allocated,
        argument_bytes=sums.argument,
        output_bytes=sums.output,
        alias_bytes=sums.alias,
        temp_bytes=sums.temp,
        constant_bytes=sums.constant,
        peak_bytes=peak.bytes,
        peak_position=peak.position,
        peak_instruction=peak.instruction,
        temp_peak_bytes=peak.temp_peak_bytes,
        temp_peak_position=peak.temp_peak_position,
        reserved_peak_bytes=peak.reserved_peak_bytes,
        fragmentation_bytes=_fragmentation_bytes(memory, color),
        padding_bytes=_padding_bytes(memory, color, peak.position),
    )


def add_all_spaces(memory: MemoryMap, space: SpaceRow) -> MemoryTotals:
    """Return the figures of a space with those of all spaces beside them."""
    allocations = memory.assignment.allocations
    reported = memory.assignment.reported_total_bytes
    everything = sum(one.size_bytes for one in allocations)
    thread_local = sum(one.size_bytes for one in allocations if one.is_thread_local)
    return MemoryTotals(
        **asdict(space),
        thread_local_bytes=thread_local,
        all_spaces_bytes=everything - thread_local,
        reported_total_bytes=reported,
        reported_total_matches=None if reported is None else reported == everything,
    )


def measure_peak(memory: MemoryMap, color: int, sums: SpaceSums) -> Peak:
    """Return where a space is fullest; without lifetimes nothing but the space is known."""
    live = memory.assignment.live_ranges
    curve, temps = memory.curve(color), memory.curve(color, "temp")
    if curve is None or temps is None or memory.lifetimes is None:
        return Peak(color)
    most, position = curve.peak()
    temp_most, temp_position = temps.peak()
    at = live.peak_position if live else None
    entries = live.peak_entries if live and at is not None else None
    return Peak(
        space=color,
        bytes=most,
        position=position,
        sequence_length=memory.lifetimes.end,
        instruction=memory.lifetimes.instruction_at(position),
        temp_bytes=temps.at(position),
        temp_peak_bytes=temp_most,
        temp_peak_position=temp_position,
        reserved_peak_bytes=sums.allocated - sums.temp + temp_most,
        xla_position=at,
        xla_bytes=None if entries is None else sum(entry.size_bytes for entry in entries),
        bytes_at_xla_position=None if at is None else curve.at(at),
    )


def measure_estimate(
    memory: MemoryMap, peak: Peak, sums: SpaceSums, temp_bytes: int | None
) -> MemoryEstimate:
    """Return the figures of the peak's space in an estimated assignment.

    `temp_bytes` is what all its temp allocations take together, None where unknown.
    """
    return MemoryEstimate(
        allocated_bytes=None if temp_bytes is None else sums.allocated - sums.temp + temp_bytes,
        peak_bytes=peak.bytes or 0,
        position=peak.position or 0,
        sequence_length=peak.sequence_length or 0,
        instruction=peak.instruction,
        argument_bytes=sums.argument,
        output_bytes=sums.output,
        alias_bytes=sums.alias,
        temp_peak_bytes=peak.temp_peak_bytes or 0,
        is_lower_bound=any(
            value.size_bytes in _UNSURE_BYTES and unpadded_bytes_of(value) is None
            for allocation in memory.placed(peak.space)
            for value in allocation.values
        ),
    )


def _fragmentation_bytes(memory: MemoryMap, color: int) -> int | None:
    """Add up, over temp allocations, the size that is never in use at once."""
    if memory.lifetimes is None:
        return None
    return sum(
        one.size_bytes - curve.peak()[0]
        for one in memory.placed(color)
        if one.allocation_class == "temp" and (curve := memory.curve_of(one))
    )


def _padding_bytes(memory: MemoryMap, color: int, position: int | None) -> int | None:
    """Add up the padding of the values that hold bytes at a position."""
    if position is None:
        return None
    total = 0
    for holding in find_holdings(memory, position, color):
        padding = padding_bytes_of(holding.value)
        if padding is None:
            return None
        total += padding
    return total
