"""Which figures are worse than `--threshold` allows, in a line?"""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.compare.blocks.metrics import MetricRow
from hlotool.fields import Line, Unit, quote_braces
from hlotool.render.units import format_value


def worse_line(rows: Sequence[MetricRow], label: str = "") -> Line:
    """Name the figures that have grown by more, with their differences."""
    parts = ", ".join(f"{row.metric} {_write(row)}" for row in rows)
    side = f"{label} is " if label else ""
    return Line(quote_braces(f"{side}worse than --threshold allows: {parts}"))


def _write(row: MetricRow) -> str:
    delta = format_value(row.delta, row.unit, is_signed=True)
    if row.relative_delta is None:
        return delta
    return f"{delta} ({format_value(row.relative_delta, Unit.PERCENT, is_signed=True)})"
