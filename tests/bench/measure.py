"""How is a side of a comparison measured, and how does a line of the report read?

All that counts is the CPU time of a process and its children, in seconds, user and system:
what else runs on the machine hardly moves it. Sides take turns, and their medians are compared.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

UNITS = {"s": 1.0, "ms": 1e-3, "MiB": 1 << 20}

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: how often, and how large what is made for it."""

    parse_rounds: int = 25
    process_rounds: int = 11
    large_rounds: int = 3
    large_bytes: int = 100_000_000
    proto_bytes: int = 10_000_000  # of its text
    directory_rounds: int = 5
    diff_rounds: int = 3
    diff_bytes: int = 10_000_000
    buffer_values: int = 500_000


QUICK = Effort(
    parse_rounds=1,
    process_rounds=1,
    large_rounds=1,
    large_bytes=500_000,
    proto_bytes=500_000,
    directory_rounds=1,
    diff_rounds=1,
    diff_bytes=500_000,
    buffer_values=2_000,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measured pair; `limit` is the largest ratio ours / theirs that is good enough.

    With `is_difference`, `limit` is the largest difference ours - theirs, in seconds.
    """

    name: str
    ours: float
    theirs: float
    unit: str
    limit: float
    is_difference: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the limit is kept."""
        measured = self.ours - self.theirs if self.is_difference else self.ours / self.theirs
        return measured <= self.limit

    def __str__(self) -> str:
        scale = UNITS[self.unit]
        ours, theirs = (f"{value / scale:9.1f} {self.unit}" for value in (self.ours, self.theirs))
        if self.is_difference:
            found = f"{(self.ours - self.theirs) / scale:+.1f} {self.unit}"
            limit = f"{self.limit / scale:+.0f} {self.unit}"
        else:
            found, limit = f"{self.ours / self.theirs:.2f}", f"{self.limit:.2f}"
        verdict = "ok" if self.is_good else "MISSED"
        return f"{self.name:<40} {ours:>14} {theirs:>14} {found:>10} ≤ {limit:<8} {verdict}"


def take_turns(rounds: int, *sides: Callable[[], float]) -> list[float]:
    """Measure every side once a round, and return the median of each."""
    found = [[side() for side in sides] for _ in range(rounds)]
    return [median(values) for values in zip(*found, strict=True)]


def cpu_seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU time of a call in this process, and what it returned."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def process_seconds(command: Sequence[str]) -> float:
    """Return the CPU time of a process from start to end, its children included."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime
