"""How long did fusions and custom calls take in a profile?"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hlotool.analysis.fusions.call_census import CustomCallRow
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.analysis.measured.join import join_times
from hlotool.ir.measurement import Measurement


def add_measured_times(rows: Iterable[FusionRow], measured: Measurement) -> tuple[FusionRow, ...]:
    """Set what was measured of every row: all fusions of equal bodies together."""
    return tuple(_add(row, measured) for row in rows)


def _add(row: FusionRow, measured: Measurement) -> FusionRow:
    time = join_times(measured, row.members)
    return replace(row, measured_count=time.count, measured_seconds=time.seconds)


def add_measured_calls(
    rows: Iterable[CustomCallRow], measured: Measurement
) -> tuple[CustomCallRow, ...]:
    """Set what was measured of every row of the census; calls in fusions have no times."""
    return tuple(_add_to_call(row, measured) for row in rows)


def _add_to_call(row: CustomCallRow, measured: Measurement) -> CustomCallRow:
    time = join_times(measured, row.members)
    return replace(row, measured_count=time.count, measured_seconds=time.seconds)
