"""What a diff of directories tells of each pair of modules."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.blocks.columns import DELTA_BYTES, LEFT, RELATIVE_DELTA, RIGHT
from hlotool.compare.blocks.headline import pick_headline
from hlotool.compare.blocks.metrics import by_path, compare_metrics
from hlotool.compare.pairing import Way
from hlotool.compare.report import DiffSide
from hlotool.fields import (
    BYTES,
    COUNT,
    FLOPS,
    SECONDS,
    WHOLE,
    DocumentSpec,
    RowList,
    column,
    figure,
)

Status: TypeAlias = Literal["identical", "changed", "added", "removed", "ambiguous", "error"]

_PATH: Final = "its path"
_ALONE: Final = "instructions without a partner"


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
            wants=WHOLE,
        ),
    ] = ""
    left_path: Annotated[str | None, figure(_PATH + LEFT)] = None
    right_path: Annotated[str | None, figure(_PATH + RIGHT)] = None
    identical: Annotated[bool | None, figure("whether the structure is identical")] = None
    left_peak_bytes: Annotated[
        int | None, column("peak" + LEFT, BYTES, heading="old peak", give_way=1)
    ] = None
    right_peak_bytes: Annotated[
        int | None, column("peak" + RIGHT, BYTES, heading="new peak", give_way=1)
    ] = None
    peak_delta_bytes: Annotated[int | None, DELTA_BYTES] = None
    peak_change: Annotated[float | None, RELATIVE_DELTA] = None
    wire_delta_bytes: Annotated[
        int | None,
        column(
            "wire bytes per run, right minus left",
            BYTES,
            heading="Δ wire/run",
            is_signed=True,
            give_way=3,
        ),
    ] = None
    exposed_delta_bytes: Annotated[
        int | None,
        figure("bytes sent that no work hides, right minus left", BYTES, is_signed=True),
    ] = None
    exposed_delta_seconds: Annotated[
        float | None,
        figure("with --chip: time that no work hides, right minus left", SECONDS, is_signed=True),
    ] = None
    flops_delta: Annotated[
        int | None,
        column(
            "flops per run, right minus left",
            FLOPS,
            heading="Δ flops/run",
            is_signed=True,
            give_way=2,
        ),
    ] = None
    left_fusion_count: Annotated[
        int | None, column("fusions" + LEFT, COUNT, heading="old fusions", give_way=4)
    ] = None
    right_fusion_count: Annotated[
        int | None, column("fusions" + RIGHT, COUNT, heading="new fusions", give_way=4)
    ] = None
    matched_count: Annotated[int | None, figure("instructions with a partner", COUNT)] = None
    changed_count: Annotated[
        int | None, column("how many of these differ", COUNT, heading="changed", give_way=5)
    ] = None
    left_only_count: Annotated[
        int | None, column(_ALONE + LEFT, COUNT, heading="old only", give_way=5)
    ] = None
    right_only_count: Annotated[
        int | None, column(_ALONE + RIGHT, COUNT, heading="new only", give_way=5)
    ] = None
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
    "diff-directory",
    "what changed from one directory of programs to another",
    row_lists=(MODULES,),
)


def describe_alone(
    name: str, status: Status, side: DiffSide, path: str, place: str, *, is_left: bool
) -> ModuleDiff:
    """Make the row of a module that has no partner: all that it takes is a difference."""
    rows = by_path(compare_metrics(side.figures, side.figures))
    headline = pick_headline(rows)
    peak, fusions = headline.right_peak_bytes, headline.right_fusion_count
    sign = -1 if is_left else 1

    def whole(metric: str) -> int | None:
        row = rows.get(metric)
        return None if row is None or row.right is None else sign * int(row.right)

    return ModuleDiff(
        name,
        status,
        place,
        left_path=path if is_left else None,
        right_path=None if is_left else path,
        left_peak_bytes=peak if is_left else None,
        right_peak_bytes=None if is_left else peak,
        peak_delta_bytes=None if peak is None else sign * peak,
        wire_delta_bytes=whole("collectives.wire_bytes_per_run"),
        exposed_delta_bytes=whole("collectives.exposed_wire_bytes_per_run"),
        flops_delta=whole("cost.total_flops_per_run"),
        left_fusion_count=fusions if is_left else None,
        right_fusion_count=None if is_left else fusions,
        is_estimate=headline.estimated != "neither",
    )
