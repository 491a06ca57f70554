"""How long did some instructions take together? By their names, in a profile."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hlotool.ir.measurement import MeasuredTime, Measurement


class JoinedTime(Struct, frozen=True):
    """The times of some instructions: occurrences in all, seconds in one run on one device."""

    count: int | None = None
    seconds: float | None = None
    exposed_seconds: float | None = None


_NOTHING = JoinedTime()


def join_times(measured: Measurement | None, names: Iterable[str]) -> JoinedTime:
    """Add up what was measured of instructions; all is None where none of them ran.

    Seconds are None too where nothing tells how many runs were measured.
    """
    found = _find_times(measured, names) if measured else []
    if not measured or not found:
        return _NOTHING
    alone = [each.alone_seconds for each in found if each.alone_seconds is not None]
    return JoinedTime(
        sum(each.count for each in found),
        measured.mean(sum(each.seconds for each in found)),
        measured.mean(sum(alone)) if alone else None,
    )


def _find_times(measured: Measurement, names: Iterable[str]) -> list[MeasuredTime]:
    """Return the times of each name once."""
    times = (measured.times.get(name) for name in dict.fromkeys(names))
    return [each for each in times if each is not None]
