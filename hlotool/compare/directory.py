"""What a diff of directories tells of each pair of modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from hlotool.compare.answer import SideFacts
from hlotool.compare.changes.figures import UNKNOWN, by_path, choose_peaks, compare_metrics, whole
from hlotool.compare.changes.instructions import (
    DELTA_BYTES,
    LEFT,
    RELATIVE_DELTA,
    RIGHT,
    sides,
    subtract,
)
from hlotool.compare.inputs import DiffSide
from hlotool.compare.pairing import Pairing, Way
from hlotool.compare.report import DiffReport
from hlotool.table import (
    BYTES,
    COUNT,
    FLOPS,
    PERCENT,
    SECONDS,
    WHOLE,
    DocumentSpec,
    RowList,
    Unit,
    column,
    figure,
)

Status: TypeAlias = Literal["identical", "changed", "added", "removed", "ambiguous", "error"]

_PATH: Final = "its path"
_SECONDS: Final = "with --chip: estimated time of one run"
_PEAKS: Final = sides(column, "peak", BYTES, "peak", hide_order=1)
_FUSIONS: Final = sides(column, "fusions", COUNT, "fusions", hide_order=4)
_ALONE: Final = sides(column, "instructions without a partner", COUNT, "only", hide_order=5)
_UNKNOWN: Final = "whether a part of the {} time is unknown"


def _difference(of: str, unit: Unit, heading: str, hide_order: int) -> Meta:
    says = f"{of}, right minus left"
    return column(says, unit, heading=heading, is_signed=True, hide_order=hide_order)


class ModuleDiff(Struct, frozen=True):
    """Two modules that belong together in a row; figures are null where a side does not tell.

    Of a module without a partner all is a difference.
    """

    module: Annotated[str, column("the module's name")]
    status: Annotated[
        Status,
        column(
            "how it compares; added and removed modules have no partner, ambiguous ones several"
        ),
    ]
    place: Annotated[
        str,
        column(
            "where both lie in their directories, in short: XLA's number in place of the name; "
            "once where that is the same",
            min_width=WHOLE,
        ),
    ] = ""
    left_path: Annotated[str | None, figure(_PATH + LEFT)] = None
    right_path: Annotated[str | None, figure(_PATH + RIGHT)] = None
    identical: Annotated[bool | None, figure("whether the structure is identical")] = None
    left_peak_bytes: Annotated[int | None, _PEAKS[0]] = None
    right_peak_bytes: Annotated[int | None, _PEAKS[1]] = None
    peak_delta_bytes: Annotated[int | None, DELTA_BYTES] = None
    peak_change: Annotated[float | None, RELATIVE_DELTA] = None
    wire_delta_bytes: Annotated[
        int | None, _difference("wire bytes per run", BYTES, "Δ wire/run", hide_order=3)
    ] = None
    exposed_delta_bytes: Annotated[
        int | None, figure("bytes sent that no work hides, right minus left", BYTES, is_signed=True)
    ] = None
    exposed_delta_seconds: Annotated[
        float | None,
        figure("with --chip: time that no work hides, right minus left", SECONDS, is_signed=True),
    ] = None
    flops_delta: Annotated[
        int | None, _difference("flops per run", FLOPS, "Δ flops/run", hide_order=2)
    ] = None
    time_change: Annotated[
        float | None,
        column(
            "estimated time of one run, the difference relative to the left; rough",
            PERCENT,
            heading="Δ time (estimate)",
            is_signed=True,
            hide_order=2,
            null_text="",
            lower_if="is_time_lower_bound",
            upper_if="is_time_upper_bound",
        ),
    ] = None
    left_estimated_seconds: Annotated[float | None, figure(_SECONDS + LEFT, SECONDS)] = None
    right_estimated_seconds: Annotated[float | None, figure(_SECONDS + RIGHT, SECONDS)] = None
    is_time_lower_bound: Annotated[bool, figure(_UNKNOWN.format("right"))] = False
    is_time_upper_bound: Annotated[bool, figure(_UNKNOWN.format("left"))] = False
    left_fusion_count: Annotated[int | None, _FUSIONS[0]] = None
    right_fusion_count: Annotated[int | None, _FUSIONS[1]] = None
    matched_count: Annotated[int | None, figure("instructions with a partner", COUNT)] = None
    changed_count: Annotated[
        int | None, column("how many of these differ", COUNT, heading="changed", hide_order=5)
    ] = None
    left_only_count: Annotated[int | None, _ALONE[0]] = None
    right_only_count: Annotated[int | None, _ALONE[1]] = None
    is_estimate: Annotated[bool, figure("whether the peaks are estimates")] = False
    paired_by: Annotated[Way | None, figure("how its partner was found; null without one")] = None
    error: Annotated[str | None, figure("why it could not be compared", null_text="")] = None


MODULES: Final = RowList(
    "modules",
    ModuleDiff,
    "modules paired by path, content and name, largest difference of peaks first",
    key="module",
    has_total=False,
    limit=0,
)
DIFF_DIRECTORY: Final = DocumentSpec(
    "diff-directory", "what changed from one directory of programs to another", row_lists=(MODULES,)
)


def choose_columns(rows: Iterable[ModuleDiff]) -> DocumentSpec:
    """Return the answer with a column for times if any is estimated."""
    if any(row.time_change is not None for row in rows):
        return DIFF_DIRECTORY
    return replace(DIFF_DIRECTORY, row_lists=(MODULES.showing(MODULES.shown() - {"time_change"}),))


_EXPOSED: Final = "collectives.exposed_wire_bytes_per_run"
_FLOPS: Final = "cost.total_flops_per_run"
_FUSION_COUNT: Final = "fusions.fusion_count"
_WIRE: Final = "collectives.wire_bytes_per_run"


def describe_pair(
    pair: Pairing, facts: tuple[SideFacts, SideFacts], report: DiffReport
) -> ModuleDiff:
    """Make the row of two modules that were compared."""
    metrics, time = by_path(report.metrics), report.time
    left, right, is_estimate = choose_peaks(metrics)
    delta = subtract(right, left)
    paths = [each.input.module_path or each.input.path for each in facts]
    exposed = metrics.get("collectives.exposed_seconds", UNKNOWN)
    row = ModuleDiff(
        pair.name,
        "changed" if report.differs else "identical",
        pair.place,
        paths[0],
        paths[1],
        identical=report.identical,
        left_peak_bytes=left,
        right_peak_bytes=right,
        peak_delta_bytes=delta,
        peak_change=delta / left if delta is not None and left else None,
        wire_delta_bytes=whole(metrics.get(_WIRE, UNKNOWN).delta),
        exposed_delta_bytes=whole(metrics.get(_EXPOSED, UNKNOWN).delta),
        exposed_delta_seconds=exposed.delta,
        flops_delta=whole(metrics.get(_FLOPS, UNKNOWN).delta),
        left_fusion_count=whole(metrics.get(_FUSION_COUNT, UNKNOWN).left),
        right_fusion_count=whole(metrics.get(_FUSION_COUNT, UNKNOWN).right),
        matched_count=report.matched_count,
        changed_count=report.changed_count,
        left_only_count=report.left_only_count,
        right_only_count=report.right_only_count,
        is_estimate=is_estimate,
        paired_by=pair.way,
    )
    if time is None:
        return row
    return replace(
        row,
        time_change=time.relative_delta,
        left_estimated_seconds=time.left_seconds,
        right_estimated_seconds=time.right_seconds,
        is_time_lower_bound=time.is_right_lower_bound,
        is_time_upper_bound=time.is_left_lower_bound,
    )


def describe_alone(pair: Pairing, side: DiffSide, facts: SideFacts) -> ModuleDiff:
    """Make the row of a module that has no partner: all that it takes is a difference."""
    rows = by_path(compare_metrics(side.figures, side.figures))
    peak, _, is_estimate = choose_peaks(rows)
    fusions = whole(rows.get(_FUSION_COUNT, UNKNOWN).right)
    path = facts.input.module_path or facts.input.path
    status: Status = "removed" if pair.right is None else "added"
    sign = -1 if pair.right is None else 1

    def delta(metric: str) -> int | None:
        value = rows.get(metric, UNKNOWN).right
        return None if value is None else sign * int(value)

    row = ModuleDiff(
        pair.name,
        "ambiguous" if pair.is_ambiguous else status,
        pair.place,
        peak_delta_bytes=None if peak is None else sign * peak,
        wire_delta_bytes=delta(_WIRE),
        exposed_delta_bytes=delta(_EXPOSED),
        flops_delta=delta(_FLOPS),
        is_estimate=is_estimate,
    )
    if pair.right is None:
        return replace(row, left_path=path, left_peak_bytes=peak, left_fusion_count=fusions)
    return replace(row, right_path=path, right_peak_bytes=peak, right_fusion_count=fusions)
