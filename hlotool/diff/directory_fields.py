"""The declaration of a diff of directories: one row a module."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.fields import DocumentSpec, Field, RowList, Unit

Status: TypeAlias = Literal["identical", "changed", "added", "removed", "error"]


class ModuleDiff(Struct, frozen=True):
    """Two modules of one name in a row; figures are null where a side does not tell."""

    module: str
    status: Status
    left_path: str | None = None
    right_path: str | None = None
    identical: bool | None = None
    left_peak_bytes: int | None = None
    right_peak_bytes: int | None = None
    peak_delta_bytes: int | None = None
    peak_change: float | None = None
    wire_delta_bytes: int | None = None
    flops_delta: int | None = None
    left_fusion_count: int | None = None
    right_fusion_count: int | None = None
    matched_count: int | None = None
    changed_count: int | None = None
    left_only_count: int | None = None
    right_only_count: int | None = None
    is_estimate: bool = False
    error: str | None = None


MODULES: Final = RowList(
    "modules",
    ModuleDiff,
    "modules paired by name; those whose peak differs most first",
    key="module",
    has_total=False,
    limit=0, fields=(
        Field("module", Unit.TEXT, "the module's name", in_table=True),
        Field("status", Unit.TEXT, "added and removed modules have no partner", in_table=True,
              values=("identical", "changed", "added", "removed", "error")),
        Field("left_path", Unit.TEXT, "where it lies on the left", is_nullable=True),
        Field("right_path", Unit.TEXT, "where it lies on the right", is_nullable=True),
        Field("identical", Unit.FLAG, "whether the structure is", is_nullable=True),
        Field("left_peak_bytes", Unit.BYTES, "peak on the left", heading="old peak",
              in_table=True, is_nullable=True),
        Field("right_peak_bytes", Unit.BYTES, "peak on the right", heading="new peak",
              in_table=True, is_nullable=True),
        Field("peak_delta_bytes", Unit.BYTES, "right less left", heading="difference",
              in_table=True, is_nullable=True, is_signed=True),
        Field("peak_change", Unit.PERCENT, "the difference as a part of the left", heading="%",
              in_table=True, is_nullable=True, is_signed=True, null_text=""),
        Field("wire_delta_bytes", Unit.BYTES, "wire bytes a run, right less left",
              heading="wire/run", in_table=True, is_nullable=True, is_signed=True),
        Field("flops_delta", Unit.FLOPS, "flops a run, right less left", heading="flops/run",
              in_table=True, is_nullable=True, is_signed=True),
        Field("left_fusion_count", Unit.COUNT, "fusions on the left", heading="old fusions",
              in_table=True, is_nullable=True),
        Field("right_fusion_count", Unit.COUNT, "fusions on the right", heading="new fusions",
              in_table=True, is_nullable=True),
        Field("matched_count", Unit.COUNT, "instructions with a partner", is_nullable=True),
        Field("changed_count", Unit.COUNT, "of these, those that differ", heading="changed",
              in_table=True, is_nullable=True),
        Field("left_only_count", Unit.COUNT, "instructions without partner", heading="old only",
              in_table=True, is_nullable=True),
        Field("right_only_count", Unit.COUNT, "instructions without partner", heading="new only",
              in_table=True, is_nullable=True),
        Field("is_estimate", Unit.FLAG, "whether the peaks are estimates"),
        Field("error", Unit.TEXT, "why it could not be compared", is_nullable=True, null_text=""),
    ))  # fmt: skip

DIFF_DIRECTORY: Final = DocumentSpec(
    "diff-directory",
    "what changed from one directory of programs to another",
    row_lists=(MODULES,),
)
