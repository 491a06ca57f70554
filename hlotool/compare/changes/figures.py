"""The figures of both programs side by side, the time of a step, and how much one may grow.

Figures are named as budgets name them (METRICS of `program`). Where one side's figure is a bound,
the difference is one as well: the more the new may be, or the less the old side, the larger it is.
Times are estimates of one step. A threshold judges the figures of which less is better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from hlotool.analysis.cost.chips import ASSUMED_BF16
from hlotool.analysis.outline.clock import StepTime
from hlotool.compare.changes.instructions import NEW, OLD, RELATIVE_DELTA, subtract_bounds
from hlotool.errors import UsageError
from hlotool.program.metrics import METRICS
from hlotool.program.program import NamedFigures
from hlotool.table import MEASURE, PERCENT, Unit, column, figure
from hlotool.table.units import TIMES, find_share, parse_size, parse_time

ESTIMATED_TIME: Final = "step_time.estimated_seconds"
# What is compared, in the order of a report.
DIFFED: Final = (
    *("buffers.peak_bytes", "buffers.reserved_peak_bytes", "buffers.allocated_bytes"),
    *("buffers.argument_bytes", "buffers.output_bytes", "buffers.alias_bytes"),
    *("buffers.temp_bytes", "buffers.temp_peak_bytes", "buffers.constant_bytes"),
    *("buffers.fragmentation_bytes", "buffers.padding_bytes", "buffers.all_spaces_bytes"),
    *("buffers.estimated.peak_bytes", "buffers.estimated.allocated_bytes"),
    *("buffers.estimated.argument_bytes", "buffers.estimated.output_bytes"),
    *("buffers.estimated.alias_bytes", "buffers.estimated.temp_peak_bytes"),
    *("collectives.count", "collectives.message_bytes_per_step"),
    *("collectives.sent_bytes_per_step", "collectives.exposed_bytes_per_step"),
    *("collectives.transfer_seconds", "collectives.exposed_seconds"),
    *("cost.total_flops_per_step", "cost.flops_per_step", "cost.matrix_flops_per_step"),
    *("cost.transcendentals_per_step", "cost.traffic_bytes_per_step"),
    *("cost.bytes_accessed_per_step", "cost.custom_call_flops_per_step"),
    "cost.unknown_custom_call_count_per_step",
    *(ESTIMATED_TIME, "fusions.fusion_count", "fusions.distinct_count"),
    *("module.instruction_count", "module.computation_count", "module.parameter_bytes"),
    *("module.result_bytes", "module.donated_bytes"),
)


_ROUNDING: Final = 1e-9  # how far apart sums of the same seconds in another order may be


def _on(side: str, heading: str) -> Meta:
    """Declare the figure of one side, with its own marks of bounds."""
    return column(
        f"on the {side}",
        MEASURE,
        heading=heading,
        lower_if=f"is_{side}_lower_bound",
        upper_if=f"is_{side}_upper_bound",
    )


def _is_bound(what: str, which: str) -> Meta:
    return figure(f"whether the {what} is {which} bound")


class MetricRow(Struct, frozen=True):
    """A figure on both sides; null where a side does not know it.

    `delta` is new − old, `relative_delta` that over old, `ratio` new ÷ old. The more the
    new may be, or the less the old side, the larger may be the difference: it is a lower bound.
    `unit` says how the figures are written.
    """

    metric: Annotated[str, column("the figure, as budgets name it")]
    old: Annotated[int | float | None, _on("old", "old")] = None
    new: Annotated[int | float | None, _on("new", "new")] = None
    delta: Annotated[
        int | float | None,
        column(
            "new minus old",
            MEASURE,
            heading="difference",
            is_signed=True,
            lower_if="is_lower_bound",
            upper_if="is_upper_bound",
        ),
    ] = None
    relative_delta: Annotated[float | None, RELATIVE_DELTA] = None
    ratio: Annotated[float | None, figure("new divided by old")] = None
    is_old_lower_bound: Annotated[bool, _is_bound("old figure", "a lower")] = False
    is_old_upper_bound: Annotated[bool, _is_bound("old figure", "an upper")] = False
    is_new_lower_bound: Annotated[bool, _is_bound("new figure", "a lower")] = False
    is_new_upper_bound: Annotated[bool, _is_bound("new figure", "an upper")] = False
    is_lower_bound: Annotated[bool, _is_bound("difference", "a lower")] = False
    is_upper_bound: Annotated[bool, _is_bound("difference", "an upper")] = False
    unit: Unit = Unit.NUMBER


def compare_metrics(
    old: NamedFigures,
    new: NamedFigures,
    paths: Iterable[str] = DIFFED,
    devices: tuple[int, int] = (1, 1),
) -> tuple[MetricRow, ...]:
    """Compare all metrics that at least one side knows: bytes and flops of so many devices."""
    rows = (_compare(path, old, new, devices) for path in paths)
    return tuple(row for row in rows if row.old is not None or row.new is not None)


def _compare(
    path: str, old: NamedFigures, new: NamedFigures, devices: tuple[int, int]
) -> MetricRow:
    one, other = _find_number(old.metric(path)), _find_number(new.metric(path))
    if devices[0] != devices[1] and METRICS[path].unit in {Unit.BYTES, Unit.FLOPS}:
        one = None if one is None else one * devices[0]
        other = None if other is None else other * devices[1]
    here, there = old.bounds(path), new.bounds(path)
    delta: int | float | None = None
    if one is not None and other is not None:
        is_noise = not isinstance(one, int) and math.isclose(one, other, rel_tol=_ROUNDING)
        delta = 0 if is_noise else other - one
    relative = (other - one) / one if one and other is not None else None
    ratio = other / one if one and other is not None else None
    bounds = *here, *there, *subtract_bounds(there, here)
    return MetricRow(path, one, other, delta, relative, ratio, *bounds, METRICS[path].unit)


def _find_number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def changed_metrics(rows: Iterable[MetricRow]) -> tuple[MetricRow, ...]:
    """Keep the figures that both sides know and that differ."""
    return tuple(row for row in rows if row.delta)


def by_path(rows: Iterable[MetricRow]) -> Mapping[str, MetricRow]:
    """Return the rows by their metric."""
    return {row.metric: row for row in rows}


PEAKS: Final = ("buffers.peak_bytes", "buffers.estimated.peak_bytes")
UNKNOWN: Final = MetricRow("")


def choose_peaks(rows: Mapping[str, MetricRow]) -> tuple[int | None, int | None, bool]:
    """Return both peaks, and whether any is an estimate: that of a side without assignment."""
    known, guess = (rows.get(path, UNKNOWN) for path in PEAKS)
    sides = ((known.old, guess.old), (known.new, guess.new))
    old, new = (estimated if exact is None else exact for exact, estimated in sides)
    is_estimate = any(exact is None and estimated is not None for exact, estimated in sides)
    return whole(old), whole(new), is_estimate


def whole(value: float | None) -> int | None:
    """Return a figure that is a whole number, None where it is unknown."""
    return None if value is None else int(value)


_TIME: Final = "with --chip: estimated time of one step at the chip's peaks,"
_MEMORY: Final = "part of that time that memory traffic limits,"
_EXPOSED: Final = "part of that time in which work waits for collectives,"


_Both: TypeAlias = tuple[float | None, float | None]  # of the old side, of the new side


class TimeChange(Struct, frozen=True):
    """The estimated time of one step on both sides, for one chip.

    Without --chip the ratios of the reference chip tell by how much it differs, and no times.
    """

    chip: Annotated[str, figure("the chip of --chip, else the reference chip")]
    old_seconds: Annotated[float | None, figure(_TIME + OLD)]
    new_seconds: Annotated[float | None, figure(_TIME + NEW)]
    relative_delta: Annotated[
        float | None,
        figure("the difference of the times relative to the old side", PERCENT, is_signed=True),
    ]
    old_memory_share: Annotated[float | None, figure(_MEMORY + OLD)]
    new_memory_share: Annotated[float | None, figure(_MEMORY + NEW)]
    old_exposed_share: Annotated[float | None, figure(_EXPOSED + OLD)]
    new_exposed_share: Annotated[float | None, figure(_EXPOSED + NEW)]
    is_old_lower_bound: Annotated[bool, figure("whether a part of the old time is unknown")]
    is_new_lower_bound: Annotated[bool, figure("whether a part of the new time is unknown")]
    assumed_bf16: Annotated[tuple[str, ...], figure(ASSUMED_BF16)]
    links: Annotated[
        tuple[str, ...], figure("the links that the user gave, in place of the chip's")
    ]


def compare_times(old: StepTime | None, new: StepTime | None) -> TimeChange | None:
    """Put two estimates side by side; None where a side has none, or they are of two chips."""
    if old is None or new is None or old.chip != new.chip:
        return None
    here, there = old.duration, new.duration
    is_timed = old.is_timed and new.is_timed
    seconds: _Both = (here.total, there.total) if is_timed else (None, None)
    change = _part(there.total - here.total, here.total)
    memory = _part(here.memory, here.total), _part(there.memory, there.total)
    exposed = _part(here.exposed, here.total), _part(there.exposed, there.total)
    bounds = not here.is_known, not there.is_known
    assumed = tuple(dict.fromkeys((*old.assumed_bf16, *new.assumed_bf16)))
    links = tuple(dict.fromkeys((*old.links, *new.links)))
    return TimeChange(old.chip, *seconds, change, *memory, *exposed, *bounds, assumed, links)


def _part(seconds: float, of_seconds: float) -> float | None:
    return seconds / of_seconds if of_seconds else None


# Of these less is better; of a count, of fusions say, that is not so.
JUDGED: Final = frozenset(
    (
        *("buffers.peak_bytes", "buffers.reserved_peak_bytes", "buffers.allocated_bytes"),
        *("buffers.all_spaces_bytes", "buffers.estimated.peak_bytes"),
        *("collectives.sent_bytes_per_step", "collectives.exposed_bytes_per_step"),
        *("collectives.exposed_seconds", "cost.total_flops_per_step"),
        "cost.traffic_bytes_per_step",
    )
)
_OPTION: Final = "--threshold"
_PART: Final = re.compile(r"[0-9.eE+-]+ ?(?P<unit>%|s|ms|us|µs|ns)")


class Threshold(Struct, frozen=True):
    """What a figure may grow by: a part of the old side, bytes, seconds.

    Where a part and an amount are given, the looser counts, as in budgets: a part of little is
    noise, and a fixed amount of much is nothing. A figure in neither bytes nor seconds, such as
    flops, has the part alone, and without one no limit.
    """

    share: Fraction | None = None
    size_bytes: int | None = None
    seconds: float | None = None

    def allows(self, row: MetricRow) -> bool:
        """Say whether a figure has grown by no more. What a side does not know is allowed."""
        if row.delta is None or row.old is None:
            return True
        amounts = {Unit.BYTES: self.size_bytes, Unit.SECONDS: self.seconds}
        amount = amounts.get(row.unit)
        part = None if self.share is None else self.share * Fraction(row.old)
        limits = [limit for limit in (part, amount) if limit is not None]
        return not limits or row.delta <= max(limits)


def parse_threshold(text: str) -> Threshold:
    """Read `--threshold '2%,64MiB'`.

    threshold = limit { "," limit }
    limit = number "%" | size | time

    Raises UsageError for anything else, and for two limits of one kind.
    """
    found: dict[str, Fraction | int | float] = {}
    value: Fraction | int | float
    for part in (one.strip() for one in text.split(",")):
        match = _PART.fullmatch(part)
        unit = match["unit"] if match else ""
        share = find_share(part) if unit == "%" else None
        if share is not None:
            name, value = "share", share
        elif unit in TIMES:
            name, value = "seconds", parse_time(part, _OPTION)
        else:
            name, value = "size_bytes", parse_size(part, _OPTION)
        if name in found:
            raise UsageError(f"{_OPTION} {text}: expected at most one %, one size and one time.")
        found[name] = value
    return Threshold(**found)  # type: ignore[arg-type]


def find_worse(rows: Iterable[MetricRow], threshold: Threshold | None) -> tuple[MetricRow, ...]:
    """Return the figures of which less is better and that grew by more, if there is a limit."""
    if threshold is None:
        return ()
    return tuple(row for row in rows if row.metric in JUDGED and not threshold.allows(row))
