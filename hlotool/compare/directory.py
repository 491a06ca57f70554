"""What a diff of directories tells of each pair of modules, which weighs most, and all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import geometric_mean
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from hlotool.compare.answer import DEVICES, SideFacts
from hlotool.compare.changes import instructions as columns
from hlotool.compare.changes.figures import UNKNOWN, by_path, choose_peaks, compare_metrics, whole
from hlotool.compare.inputs import DiffSide
from hlotool.compare.pairing import Pairing, Way
from hlotool.compare.report import DiffReport
from hlotool.table import BYTES, COUNT, FLOPS, PERCENT, DocumentSpec, RowList, Unit, column, figure

Status: TypeAlias = Literal["identical", "changed", "added", "removed", "ambiguous", "error"]

_PATH: Final = "its path"
_SECONDS: Final = "with --chip: estimated time of one step"
_PEAKS: Final = columns.sides(column, "peak", BYTES, "peak")
_FUSIONS: Final = columns.sides(column, "fusions", COUNT, "fusions")
_ALONE: Final = columns.sides(column, "instructions without a counterpart", COUNT, "only")
_UNKNOWN: Final = "whether a part of the {} time is unknown"


def _difference(of: str, unit: Unit, heading: str) -> Meta:
    return column(f"{of}, new minus old", unit, heading=heading, is_signed=True)


def _part(of: str, heading: str) -> Meta:
    says = f"{of}, the difference relative to the old side"
    return figure(says, PERCENT, heading=heading, is_signed=True, null_text="")


class ModuleDiff(Struct, frozen=True):
    """Two modules that belong together in a row; figures are null where a side does not tell.

    Of a module without a counterpart all is a difference.
    """

    module: Annotated[str, column("the module's name", shown=lambda row: row.program or row.module)]
    status: Annotated[
        Status,
        column("its status; added and removed modules have no counterpart, ambiguous ones several"),
    ]
    place: Annotated[
        str, column("both locations, XLA's number in place of the name; one if equal")
    ] = ""
    old_path: Annotated[str | None, figure(_PATH + columns.OLD)] = None
    new_path: Annotated[str | None, figure(_PATH + columns.NEW)] = None
    identical: Annotated[bool | None, figure("whether the structure is identical")] = None
    old_peak_bytes: Annotated[int | None, _PEAKS[0]] = None
    new_peak_bytes: Annotated[int | None, _PEAKS[1]] = None
    delta_peak_bytes: Annotated[int | None, columns.DELTA_BYTES] = None
    peak_change: Annotated[float | None, columns.RELATIVE_DELTA] = None
    delta_sent_bytes: Annotated[
        int | None, _difference("bytes sent per step", BYTES, "Δ sent/step")
    ] = None
    delta_exposed_bytes: Annotated[
        int | None, figure("bytes sent that are exposed, new minus old", is_signed=True)
    ] = None
    delta_exposed_seconds: Annotated[
        float | None, figure("with --chip: time that is exposed, new minus old", is_signed=True)
    ] = None
    delta_flops: Annotated[int | None, _difference("flops per step", FLOPS, "Δ flops/step")] = None
    time_change: Annotated[
        float | None,
        column(
            "estimated time of one step, the difference relative to the old side; rough",
            PERCENT,
            heading="Δ time",
            is_signed=True,
            null_text="",
            lower_if="is_time_lower_bound",
            upper_if="is_time_upper_bound",
        ),
    ] = None
    sent_change: Annotated[float | None, _part("bytes sent per step", "Δ sent")] = None
    flops_change: Annotated[float | None, _part("flops per step", "Δ flops")] = None
    same_share: Annotated[
        float | None,
        figure(
            "part of the instructions of both sides that have an equal counterpart",
            heading="the same",
        ),
    ] = None
    old_estimated_seconds: Annotated[float | None, figure(_SECONDS + columns.OLD)] = None
    new_estimated_seconds: Annotated[float | None, figure(_SECONDS + columns.NEW)] = None
    is_time_lower_bound: Annotated[bool, figure(_UNKNOWN.format("new"))] = False
    is_time_upper_bound: Annotated[bool, figure(_UNKNOWN.format("old"))] = False
    old_fusion_count: Annotated[int | None, _FUSIONS[0]] = None
    new_fusion_count: Annotated[int | None, _FUSIONS[1]] = None
    matched_count: Annotated[int | None, figure("instructions with a counterpart")] = None
    changed_count: Annotated[int | None, column("how many of these differ", heading="changed")] = (
        None
    )
    old_only_count: Annotated[int | None, _ALONE[0]] = None
    new_only_count: Annotated[int | None, _ALONE[1]] = None
    is_estimate: Annotated[bool, figure("whether the peaks are estimates")] = False
    program: Annotated[str, figure("its name, unique in the answer")] = ""
    old_name: Annotated[str | None, figure("its name on the old side, if different")] = None
    old_devices: Annotated[int, figure(DEVICES.format("old"))] = 1
    new_devices: Annotated[int, figure(DEVICES.format("new"))] = 1
    matched_by: Annotated[Way | None, figure("method of pairing; null without a counterpart")] = (
        None
    )
    error: Annotated[str | None, figure("why it could not be compared", null_text="")] = None


MODULES: Final = RowList(
    "modules",
    ModuleDiff,
    "modules paired by path, content and name, largest part of all differences first",
    has_total=False,
    limit=0,
    screen="module,status,place,old_peak_bytes,new_peak_bytes,delta_peak_bytes,"
    "peak_change,time_change,sent_change,flops_change,same_share",
    wide_screen="delta_sent_bytes,delta_flops,changed_count",
)
DIFF_DIRECTORY: Final = DocumentSpec(
    "diff-directory", "changes from one directory of programs to another", row_lists=(MODULES,)
)


# What a table of releases has, if it has no room for all of it without both peaks.
_PARTS: Final = "time_change", "sent_change", "flops_change", "same_share"
_STAT: Final = {"module", "status", "old_peak_bytes", "new_peak_bytes", "peak_change", *_PARTS}


def choose_columns(rows: Sequence[ModuleDiff], *, is_stat: bool) -> DocumentSpec:
    """Return the answer with a column for times if any is estimated, for places if they tell."""
    shown = _STAT if is_stat else MODULES.shown()
    shown = shown - {one for one in _PARTS if all(getattr(row, one) is None for row in rows)}
    return replace(DIFF_DIRECTORY, row_lists=(MODULES.showing(shown),))


_OF_REPORT: Final = (
    *("identical", "matched_count", "changed_count", "old_only_count", "new_only_count"),
    *("old_devices", "new_devices"),
)
_EXPOSED: Final = "collectives.exposed_bytes_per_step"
_FLOPS: Final = "cost.total_flops_per_step"
_FUSION_COUNT: Final = "fusions.fusion_count"
_SENT: Final = "collectives.sent_bytes_per_step"


def describe_pair(
    pair: Pairing, facts: tuple[SideFacts, SideFacts], report: DiffReport
) -> ModuleDiff:
    """Make the row of two modules that were compared."""
    metrics, time = by_path(report.metrics), report.time
    old, new, is_estimate = choose_peaks(metrics)
    delta = columns.subtract(new, old)
    paths = [each.input.module_path or each.input.path for each in facts]
    exposed = metrics.get("collectives.exposed_seconds", UNKNOWN)
    sent, flops = metrics.get(_SENT, UNKNOWN), metrics.get(_FLOPS, UNKNOWN)
    same = every = None
    if report.matched_count is not None:
        same = 2 * (report.matched_count - (report.changed_count or 0))
        alone = (report.old_only_count or 0) + (report.new_only_count or 0)
        every = 2 * report.matched_count + alone
    row = ModuleDiff(
        pair.function,
        "changed" if report.differs else "identical",
        pair.place,
        paths[0],
        paths[1],
        old_peak_bytes=old,
        new_peak_bytes=new,
        delta_peak_bytes=delta,
        peak_change=delta / old if delta is not None and old else None,
        delta_sent_bytes=whole(sent.delta),
        delta_exposed_bytes=whole(metrics.get(_EXPOSED, UNKNOWN).delta),
        delta_exposed_seconds=exposed.delta,
        delta_flops=whole(flops.delta),
        sent_change=sent.relative_delta,
        flops_change=flops.relative_delta,
        same_share=same / every if same is not None and every else None,
        old_fusion_count=whole(metrics.get(_FUSION_COUNT, UNKNOWN).old),
        new_fusion_count=whole(metrics.get(_FUSION_COUNT, UNKNOWN).new),
        is_estimate=is_estimate,
        program=pair.name,
        old_name=pair.old.name if pair.old and pair.old.name != pair.function else None,
        matched_by=pair.way,
        **{name: getattr(report, name) for name in _OF_REPORT},
    )
    if time is None:
        return row
    return replace(
        row,
        time_change=time.relative_delta,
        old_estimated_seconds=time.old_seconds,
        new_estimated_seconds=time.new_seconds,
        is_time_lower_bound=time.is_new_lower_bound,
        is_time_upper_bound=time.is_old_lower_bound,
    )


def describe_alone(pair: Pairing, side: DiffSide, facts: SideFacts) -> ModuleDiff:
    """Make the row of a module that has no counterpart: all that it takes is a difference."""
    rows = by_path(compare_metrics(side.figures, side.figures))
    peak, _, is_estimate = choose_peaks(rows)
    fusions = whole(rows.get(_FUSION_COUNT, UNKNOWN).new)
    path = facts.input.module_path or facts.input.path
    status: Status = "removed" if pair.new is None else "added"
    sign = -1 if pair.new is None else 1

    def delta(metric: str) -> int | None:
        value = rows.get(metric, UNKNOWN).new
        return None if value is None else sign * int(value)

    row = ModuleDiff(
        pair.function,
        "ambiguous" if pair.is_ambiguous else status,
        pair.place,
        delta_peak_bytes=None if peak is None else sign * peak,
        delta_sent_bytes=delta(_SENT),
        delta_exposed_bytes=delta(_EXPOSED),
        delta_flops=delta(_FLOPS),
        is_estimate=is_estimate,
        program=pair.name,
    )
    if pair.new is None:
        return replace(row, old_path=path, old_peak_bytes=peak, old_fusion_count=fusions)
    return replace(row, new_path=path, new_peak_bytes=peak, new_fusion_count=fusions)


def weigh_rows(rows: Sequence[ModuleDiff]) -> list[float]:
    """Weigh each row by its largest part of all differences of peaks, bytes sent and flops.

    Of what is worse a weight is more than 0.
    """
    names = "delta_peak_bytes", "delta_sent_bytes", "delta_flops"
    every = [[getattr(row, name) or 0 for row in rows] for name in names]
    parts = [[one / (sum(map(abs, each)) or 1) for one in each] for each in every]
    return [max(row, key=abs) for row in zip(*parts, strict=True)]


def average_changes(rows: Iterable[ModuleDiff]) -> dict[str, tuple[float, int]]:
    """Return the geometric means of how peaks and times changed, and of how many pairs."""
    pairs = [row for row in rows if row.old_path and row.new_path]
    changes = {
        "peak": [row.peak_change for row in pairs],
        "time (estimate)": [row.time_change for row in pairs],
    }
    known = {name: [1 + one for one in all_ if one is not None] for name, all_ in changes.items()}
    return {
        name: (geometric_mean(ratios) - 1, len(ratios))
        for name, ratios in known.items()
        if len(ratios) > 1 and min(ratios) > 0
    }
