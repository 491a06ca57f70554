"""What a profiler measured of one program: how often instructions ran, and how long."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class MeasuredTime(Struct, frozen=True):
    """All occurrences of one instruction in a profile, on all devices together.

    Of a collective in several steps, those of all steps. `alone_seconds` is the part in which
    nothing but collectives ran on the device; None for what is no collective.
    """

    count: int
    seconds: float
    alone_seconds: float | None = None


class Measurement(Struct, frozen=True):
    """The times of one program.

    `run_count` are its runs, those of all devices added up; None where nothing told them apart.
    `run_seconds` is the time from the beginning of these runs to their ends, added up. `times`
    is by the name of the instruction, which no other of a compiled module has.
    """

    device_count: int
    run_count: int | None
    run_seconds: float | None
    times: Mapping[str, MeasuredTime]

    def mean(self, seconds: float | None) -> float | None:
        """Return the part of a sum that falls on one run on one device; None if unknown."""
        return None if seconds is None or not self.run_count else seconds / self.run_count
