"""The figures of both programs side by side.

The few figures that a diff is summed up in.

How long would a run take on each side, by estimate?
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.chips import PRICED_AS_BF16
from hlotool.analysis.outline.clock import RunTime
from hlotool.compare.changes.instructions import LEFT, RELATIVE_DELTA, RIGHT
from hlotool.program.metrics import METRICS
from hlotool.program.program import NamedFigures
from hlotool.table import (
    BYTES,
    COUNT,
    FLOPS,
    MEASURE,
    PERCENT,
    RATIO,
    SECONDS,
    Block,
    Unit,
    column,
    figure,
)

ESTIMATED_TIME: Final = "run_time.estimated_seconds"
# What is compared, in the order of a report.
DIFFED: Final = (
    "buffers.peak_bytes", "buffers.reserved_peak_bytes", "buffers.allocated_bytes",
    "buffers.argument_bytes", "buffers.output_bytes", "buffers.alias_bytes",
    "buffers.temp_bytes", "buffers.temp_peak_bytes", "buffers.constant_bytes",
    "buffers.fragmentation_bytes", "buffers.padding_bytes", "buffers.all_spaces_bytes",
    "buffers.estimated.peak_bytes", "buffers.estimated.allocated_bytes",
    "buffers.estimated.argument_bytes", "buffers.estimated.output_bytes",
    "buffers.estimated.alias_bytes", "buffers.estimated.temp_peak_bytes",
    "collectives.count", "collectives.payload_bytes_per_run", "collectives.wire_bytes_per_run",
    "collectives.exposed_wire_bytes_per_run", "collectives.transfer_seconds",
    "collectives.exposed_seconds",
    "cost.total_flops_per_run", "cost.flops_per_run", "cost.matrix_flops_per_run",
    "cost.transcendentals_per_run",
    "cost.memory_bytes_per_run", "cost.bytes_accessed_per_run", "cost.custom_call_flops_per_run",
    "cost.unknown_custom_call_count_per_run",
    ESTIMATED_TIME, "fusions.fusion_count", "fusions.distinct_count",
    "module.instruction_count", "module.computation_count", "module.parameter_bytes",
    "module.result_bytes", "module.donated_bytes",
)  # fmt: skip


_ROUNDING: Final = 1e-9  # how far apart sums of the same seconds in another order may be


class MetricRow(Struct, frozen=True):
    """A figure on both sides; null where a side does not know it.

    `delta` is right − left, `relative_delta` that over left, `ratio` right ÷ left. The more the
    right may be, or the less the left, the larger may be the difference: it is a lower bound.
    `unit` says how the figures are written.
    """

    metric: Annotated[str, column("the figure, as budgets name it")]
    left: Annotated[
        int | float | None,
        column(
            "on the left",
            MEASURE,
            heading="old",
            unit_from="unit",
            lower_if="is_left_lower_bound",
            upper_if="is_left_upper_bound",
        ),
    ]
    right: Annotated[
        int | float | None,
        column(
            "on the right",
            MEASURE,
            heading="new",
            unit_from="unit",
            lower_if="is_right_lower_bound",
            upper_if="is_right_upper_bound",
        ),
    ]
    delta: Annotated[
        int | float | None,
        column(
            "right minus left",
            MEASURE,
            heading="difference",
            is_signed=True,
            unit_from="unit",
            lower_if="is_lower_bound",
            upper_if="is_upper_bound",
        ),
    ]
    relative_delta: Annotated[float | None, RELATIVE_DELTA]
    ratio: Annotated[float | None, figure("right divided by left", RATIO)]
    is_left_lower_bound: Annotated[bool, figure("whether the left figure is a lower bound")]
    is_left_upper_bound: Annotated[bool, figure("whether the left figure is an upper bound")]
    is_right_lower_bound: Annotated[bool, figure("whether the right figure is a lower bound")]
    is_right_upper_bound: Annotated[bool, figure("whether the right figure is an upper bound")]
    is_lower_bound: Annotated[bool, figure("whether the difference is a lower bound")]
    is_upper_bound: Annotated[bool, figure("whether the difference is an upper bound")]
    unit: Unit


def compare_metrics(
    left: NamedFigures, right: NamedFigures, paths: Iterable[str] = DIFFED
) -> tuple[MetricRow, ...]:
    """Compare all metrics that at least one side knows."""
    rows = (_compare(path, left, right) for path in paths)
    return tuple(row for row in rows if row.left is not None or row.right is not None)


def changed_metrics(rows: Iterable[MetricRow]) -> tuple[MetricRow, ...]:
    """Keep the figures that both sides know and that differ."""
    return tuple(row for row in rows if row.delta)


def by_path(rows: Iterable[MetricRow]) -> Mapping[str, MetricRow]:
    """Return the rows by their metric."""
    return {row.metric: row for row in rows}


def _compare(path: str, left: NamedFigures, right: NamedFigures) -> MetricRow:
    one, other = _number(left.metric(path)), _number(right.metric(path))
    known = one is not None and other is not None
    (is_left_lower, is_left_upper), (is_right_lower, is_right_upper) = (
        left.bounds(path),
        right.bounds(path),
    )
    return MetricRow(
        path,
        one,
        other,
        _subtract(one, other) if known else None,  # type: ignore[arg-type]
        (other - one) / one if known and one else None,  # type: ignore[operator]
        other / one if known and one else None,  # type: ignore[operator]
        is_left_lower,
        is_left_upper,
        is_right_lower,
        is_right_upper,
        is_right_lower or is_left_upper,
        is_right_upper or is_left_lower,
        METRICS[path].unit,
    )


def _subtract(left: float, right: float) -> int | float:
    """Return right − left; 0 where floats differ by rounding alone."""
    is_noise = not isinstance(left, int) and math.isclose(left, right, rel_tol=_ROUNDING)
    return 0 if is_noise else right - left


def _number(value: object) -> int | float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]


Bounds: TypeAlias = tuple[bool, bool]  # whether a difference is at least so much, at most so much


class Headline(Struct, frozen=True):
    """Peak, wire bytes, exposure, flops and fusions: the difference, and its part of the left side.

    Null where a side does not know the figure. `estimated` says of which sides the peak is
    an estimate: neither, one, or both.
    """

    estimated: Literal["neither", "one", "both"]
    left_peak_bytes: int | None
    right_peak_bytes: int | None
    peak_delta_bytes: Annotated[int | None, figure("peak", BYTES, is_signed=True)]
    peak_change: Annotated[float | None, figure("peak", PERCENT, is_signed=True)]
    wire_delta_bytes: Annotated[int | None, figure("wire", BYTES, is_signed=True)]
    wire_change: Annotated[float | None, figure("wire", PERCENT, is_signed=True)]
    exposed_delta_bytes: Annotated[int | None, figure("exposed", BYTES, is_signed=True)]
    exposed_change: Annotated[float | None, figure("exposed", PERCENT, is_signed=True)]
    exposed_delta_seconds: Annotated[float | None, figure("exposed", SECONDS, is_signed=True)]
    exposed_seconds_change: Annotated[float | None, figure("exposed", PERCENT, is_signed=True)]
    flops_delta: Annotated[int | None, figure("flops", FLOPS, is_signed=True)]
    flops_change: Annotated[float | None, figure("flops", PERCENT, is_signed=True)]
    left_fusion_count: Annotated[int | None, figure("fusions", COUNT)]
    right_fusion_count: Annotated[int | None, figure("fusions", COUNT)]
    wire_bounds: Bounds
    exposed_bounds: Bounds
    flops_bounds: Bounds


HEADLINE: Final = Block("headline", Headline, "the diff in one line")


def pick_headline(rows: Mapping[str, MetricRow]) -> Headline:
    """Pick the few figures from the metrics.

    Where only one side has a buffer assignment, the other's peak is taken as estimated.
    """
    wire = rows.get("collectives.wire_bytes_per_run")
    exposed = rows.get("collectives.exposed_wire_bytes_per_run")
    exposed_time = rows.get("collectives.exposed_seconds")
    flops = rows.get("cost.total_flops_per_run")
    fusions = rows.get("fusions.fusion_count")
    peaks = _peaks(rows)
    sides = [one for one, _ in peaks]
    delta = None if sides[0] is None or sides[1] is None else sides[1] - sides[0]
    count = sum(is_estimate for _, is_estimate in peaks)
    return Headline(
        estimated=("neither", "one", "both")[count],
        left_peak_bytes=sides[0],
        right_peak_bytes=sides[1],
        peak_delta_bytes=delta,
        peak_change=delta / sides[0] if delta is not None and sides[0] else None,
        wire_delta_bytes=_delta(wire),
        wire_change=wire.relative_delta if wire else None,
        exposed_delta_bytes=_delta(exposed),
        exposed_change=exposed.relative_delta if exposed else None,
        exposed_delta_seconds=exposed_time.delta if exposed_time else None,
        exposed_seconds_change=exposed_time.relative_delta if exposed_time else None,
        flops_delta=_delta(flops),
        flops_change=flops.relative_delta if flops else None,
        left_fusion_count=_whole(fusions.left) if fusions else None,
        right_fusion_count=_whole(fusions.right) if fusions else None,
        wire_bounds=_bounds(wire),
        exposed_bounds=_bounds(exposed_time or exposed),
        flops_bounds=_bounds(flops),
    )


def _peaks(rows: Mapping[str, MetricRow]) -> list[tuple[int | None, bool]]:
    """Return each side's peak, and whether it is an estimate."""
    known, estimated = rows.get("buffers.peak_bytes"), rows.get("buffers.estimated.peak_bytes")
    found = []
    for side in ("left", "right"):
        peak = _whole(getattr(known, side)) if known else None
        guess = _whole(getattr(estimated, side)) if estimated else None
        found.append((guess, True) if peak is None and guess is not None else (peak, False))
    return found


def _delta(row: MetricRow | None) -> int | None:
    return _whole(row.delta) if row else None


def _bounds(row: MetricRow | None) -> Bounds:
    return (row.is_lower_bound, row.is_upper_bound) if row else (False, False)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


_TIME = "with --chip: estimated time of one run at the chip's peaks,"
_MEMORY = "part of that time that memory traffic limits,"
_EXPOSED = "part of that time in which work waits for collectives,"


class TimeChange(Struct, frozen=True):
    """The estimated time of one run on both sides, for one chip.

    Without --chip the ratios of the reference chip tell by how much it differs, and no times.
    """

    chip: Annotated[str, figure("the chip of --chip, else the reference chip")]
    left_seconds: Annotated[float | None, figure(_TIME + LEFT, SECONDS)]
    right_seconds: Annotated[float | None, figure(_TIME + RIGHT, SECONDS)]
    relative_delta: Annotated[
        float | None,
        figure("the difference of the times relative to the left", PERCENT, is_signed=True),
    ]
    left_memory_share: Annotated[float | None, figure(_MEMORY + LEFT, PERCENT)]
    right_memory_share: Annotated[float | None, figure(_MEMORY + RIGHT, PERCENT)]
    left_exposed_share: Annotated[float | None, figure(_EXPOSED + LEFT, PERCENT)]
    right_exposed_share: Annotated[float | None, figure(_EXPOSED + RIGHT, PERCENT)]
    is_left_lower_bound: Annotated[bool, figure("whether a part of the left time is unknown")]
    is_right_lower_bound: Annotated[bool, figure("whether a part of the right time is unknown")]
    priced_as_bf16: Annotated[tuple[str, ...], figure(PRICED_AS_BF16)]
    links: Annotated[
        tuple[str, ...], figure("the links that the user states, in place of the chip's")
    ]


def compare_times(left: RunTime | None, right: RunTime | None) -> TimeChange | None:
    """Put two estimates side by side; None where a side has none, or they are of two chips."""
    if left is None or right is None or left.chip != right.chip:
        return None
    here, there = left.duration, right.duration
    is_timed = left.is_timed and right.is_timed
    return TimeChange(
        left.chip,
        here.total if is_timed else None,
        there.total if is_timed else None,
        _part(there.total - here.total, here.total),
        _part(here.memory, here.total),
        _part(there.memory, there.total),
        _part(here.exposed, here.total),
        _part(there.exposed, there.total),
        not here.is_known,
        not there.is_known,
        tuple(dict.fromkeys((*left.priced_as_bf16, *right.priced_as_bf16))),
        tuple(dict.fromkeys((*left.links, *right.links))),
    )


def _part(seconds: float, of_seconds: float) -> float | None:
    return seconds / of_seconds if of_seconds else None
