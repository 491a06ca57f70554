"""What `hlotool fusions` answers."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from hlotool.analysis.fusions.call_census import CustomCallRow
from hlotool.analysis.fusions.call_totals import CustomCallTotals
from hlotool.analysis.fusions.expansion import BodyRow
from hlotool.analysis.fusions.missed import MissedRow
from hlotool.analysis.fusions.outside import OUTSIDE
from hlotool.analysis.fusions.recompute import RecomputeRow
from hlotool.analysis.fusions.rows import FusionRow, FusionTotals
from hlotool.fields import Block, DocumentSpec, RowList

FUSION_ROWS: Final = RowList(
    "rows",
    FusionRow,
    "fusions in executed computations, one row for equal bodies",
    sort="-known_memory_bytes_per_run",
    size="memory_bytes_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_conditional",),
)

MISSED: Final = RowList(
    "missed",
    MissedRow,
    "elementwise operations, copies, transposes, broadcasts and reshapes outside fusions",
    sort="-known_memory_bytes_per_run",
    size="memory_bytes_per_run",
    upper_if=("is_conditional",),
    is_optional=True,
    option="--missed",
    title="Not fused",
)

RECOMPUTE: Final = RowList(
    "recompute",
    RecomputeRow,
    "dots, convolutions and transcendentals that several fusions compute from the same values",
    sort="-known_repeated_per_run",
    size="repeated_per_run",
    upper_if=("is_conditional",),
    is_optional=True,
    option="--recompute",
    title="Computed again",
)

CUSTOM_CALLS: Final = RowList(
    "custom_calls",
    CustomCallRow,
    "custom calls in executed computations and their fusions, one row for a target and shapes",
    sort="-known_flops_per_run,-known_memory_bytes_per_run,-known_executions",
    size="flops_per_run",
    upper_if=("is_conditional", "is_upper_bound"),
    title="Custom calls",
)

BODY: Final = RowList(
    "body",
    BodyRow,
    "the body of one fusion, in the order of the dump; figures of one execution",
    size="bytes_accessed",
    is_optional=True,
    option="--body NAME",
    limit=0,
    title="Body",
)

FUSION_TOTALS: Final = Block("totals", FusionTotals, "all fusions together")

CALL_TOTALS: Final = Block("custom_call_totals", CustomCallTotals, "all custom calls together")

FUSIONS: Final = DocumentSpec(
    "fusions",
    "what each fusion costs",
    blocks=(FUSION_TOTALS, CALL_TOTALS, OUTSIDE),
    row_lists=(FUSION_ROWS, CUSTOM_CALLS, MISSED, RECOMPUTE, BODY),
)

_WITH_ESTIMATES: Final = FUSION_ROWS.shown() | {"bound", "estimated_seconds"}
_WITH_TIMES: Final = {"measured_count", "measured_seconds"}
# The same document with the estimates among the columns of its table, and sorted by them.
_ON_CHIP: Final = replace(
    FUSIONS,
    row_lists=(
        replace(
            FUSION_ROWS.showing(_WITH_ESTIMATES),
            sort="-estimated_seconds",
            size="estimated_seconds",
        ),
        CUSTOM_CALLS.showing(CUSTOM_CALLS.shown() | {"estimated_seconds"}),
        MISSED,
        RECOMPUTE,
        BODY,
    ),
)


def choose_fusion_columns(*, has_chip: bool, is_measured: bool) -> DocumentSpec:
    """Return the answer with estimates and measured times among its columns, if there are any.

    What took longest comes first, else what is estimated to.
    """
    spec = _ON_CHIP if has_chip else FUSIONS
    if not is_measured:
        return spec
    row_lists = tuple(
        replace(each.showing(each.shown() | _WITH_TIMES), sort=f"-measured_seconds,{each.sort}")
        if each.name in {FUSION_ROWS.name, CUSTOM_CALLS.name}
        else each
        for each in spec.row_lists
    )
    return replace(spec, row_lists=row_lists)
