"""The figures of both programs side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Protocol

from msgspec import Struct

from hlotool.compare.blocks.columns import RELATIVE_DELTA
from hlotool.fields import MEASURE, RATIO, Unit, column, figure
from hlotool.program.metrics import METRICS

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


class Figures(Protocol):
    """Where metrics come from: a program, or a saved document."""

    def metric(self, path: str) -> object:
        """Return a metric, None where unknown."""

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""


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
    left: Figures, right: Figures, paths: Iterable[str] = DIFFED
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


def _compare(path: str, left: Figures, right: Figures) -> MetricRow:
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
