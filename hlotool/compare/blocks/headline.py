"""The few figures that a diff is summed up in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.blocks.metrics import MetricRow
from hlotool.fields import BYTES, COUNT, FLOPS, PERCENT, SECONDS, Block, figure

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
