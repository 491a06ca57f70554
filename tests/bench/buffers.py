"""How long `hlotool buffers` takes on a synthetic assignment of 500,000 values.

    python tests/bench/buffers.py [VALUES]

Prints each step as a multiple of splitting the same text into words, which any reader of
it must at least do. The values lie as a heap places them: slots used over and over, some
of them by two values in place; every tenth overlaps its neighbour by half.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hlotool.analysis.memory.report import analyze_memory
from hlotool.analysis.memory.timeline import find_peaks, timeline
from hlotool.analysis.memory.value_rows import rows_at
from hlotool.parse.buffers import parse_buffer_assignment
from hlotool.source import Source

VALUES: Final = 500_000
_SLOTS: Final = 4096
_SLOT_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class Step:
    """One measured step; `ratio` is against splitting the text into words."""

    name: str
    seconds: float
    ratio: float


def make_text(count: int) -> str:
    """Write an old single-file assignment with one temp allocation of `count` values."""
    chance = random.Random(1)  # noqa: S311  (any sequence will do, but always the same)
    length = max(count // 2, 1)
    free_at = [0] * _SLOTS
    lines = [f"allocation 0: size {_SLOTS * _SLOT_BYTES}, preallocated-temp:\n"]
    ranges = []
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
        ranges.append(f"    fusion.{number}{{}}:{start}-{end}\n")
    steps = [f"    {place}:step.{place}\n" for place in range(length)]
    return "".join(
        (
            "BufferAssignment:\n",
            *lines,
            f"\nTotal bytes used: {_SLOTS * _SLOT_BYTES} (256.00MiB)\n\n",
            f"\nHloLiveRange (max {length}):\n  InstructionSequence:\n",
            *steps,
            "  BufferLiveRange:\n",
            *ranges,
            "  Live ranges at 0 (peak):\n",
        )
    )


def measure(count: int = VALUES) -> list[Step]:
    """Run every step once and return what each took."""
    source = Source(make_text(count), "synthetic")
    unit, _ = _timed(lambda: len(source.text.split()))
    steps = [Step("split into words", unit, 1.0)]

    def step(name: str, work: Callable[[], Any]) -> Any:
        seconds, result = _timed(work)
        steps.append(Step(name, seconds, seconds / unit))
        return result

    assignment = step("read the assignment", lambda: parse_buffer_assignment(source))
    report = step("find the peaks", lambda: analyze_memory(None, assignment))
    curve, sequence = report.map.curve(0), report.map.lifetimes.sequence
    step("rows at the peak", lambda: rows_at(report, None, report.peak.position, 0))
    step("timeline and peaks", lambda: (timeline(curve, sequence), find_peaks(curve, sequence, 5)))
    return steps


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def main() -> None:
    """Print the steps."""
    count = int(sys.argv[1]) if sys.argv[1:] else VALUES
    print(f"{count:,} values")  # noqa: T201
    for one in measure(count):
        print(f"{one.name:20}  {one.seconds:7.2f} s  {one.ratio:6.1f} ×")  # noqa: T201


if __name__ == "__main__":
    main()
