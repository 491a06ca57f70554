"""How long does `hlotool buffers` take on a synthetic assignment of many values?

Prints each step as a multiple of splitting the same text into words, which any reader of
it must at least do. The values lie as a heap places them: slots used over and over, some
of them by two values in place; every tenth overlaps its neighbour by half.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from bench.measure import cpu_seconds

from hlotool.analysis.memory.report import analyze_memory
from hlotool.analysis.memory.rows import rows_at
from hlotool.analysis.memory.timeline import choose_peaks, timeline
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.text import Source

_SLOTS: Final = 4096
_SLOT_BYTES: Final = 65_536


def make_text(count: int) -> str:
    """Write an old single-file assignment with one temp allocation of `count` values."""
    chance = random.Random(1)  # noqa: S311  (any sequence will do, but always the same)
    length = max(count // 2, 1)
    free_at = [0] * _SLOTS
    lines = [f"allocation 0: size {_SLOTS * _SLOT_BYTES}, preallocated-temp:\n"]
    ranges = []
    at_first: list[int] = []
    for number in range(count):
        slot = chance.randrange(_SLOTS)
        start = min(max(free_at[slot], number * length // count), length)
        end = min(length, start + chance.randrange(1, 400))
        free_at[slot] = end
        shift = _SLOT_BYTES // 2 if number % 10 == 0 and slot < _SLOTS - 1 else 0
        lines.append(
            f" value: <{number} fusion.{number} @0> (size={_SLOT_BYTES},"
            f"offset={slot * _SLOT_BYTES + shift}): f32[128,128]{{1,0}}\n"
        )
        if start == 0:
            at_first.append(number)
        ranges.append(f"    fusion.{number}{{}}:{start}-{end}\n")
    steps = [f"    {place}:step.{place}\n" for place in range(length)]
    return "".join(
        (
            "BufferAssignment:\n",
            *lines,
            f"\nHloLiveRange (max {length}):\n  InstructionSequence:\n",
            *steps,
            "  BufferLiveRange:\n",
            *ranges,
            "  Live ranges at 0 (peak):\n",
            *(f"    fusion.{number}: {_SLOT_BYTES} bytes\n" for number in at_first),
        )
    )


def measure_buffers(count: int) -> Iterator[str]:
    """Run every step once and yield a line for each."""
    source = Source(make_text(count), "synthetic")
    unit, _ = cpu_seconds(lambda: len(source.text.split()))
    reading, assignment = cpu_seconds(lambda: parse_buffer_assignment(source))
    finding, report = cpu_seconds(lambda: analyze_memory(None, assignment))
    curve, live_ranges, peak = (
        report.map.curve(0),
        report.map.live_ranges,
        report.figures.peak.position,
    )
    assert curve is not None
    assert live_ranges is not None
    assert peak is not None
    sequence = live_ranges.sequence
    listing, _ = cpu_seconds(lambda: rows_at(report, peak, 0))
    drawing, _ = cpu_seconds(lambda: (timeline(curve, sequence), choose_peaks(curve, sequence, 5)))
    steps = {
        "split into words": unit,
        "read the assignment": reading,
        "find the peaks": finding,
        "rows at the peak": listing,
        "timeline and peaks": drawing,
    }
    for name, seconds in steps.items():
        yield f"{name:20}  {seconds:7.2f} s  {seconds / unit:6.1f} ×"
