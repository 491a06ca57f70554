"""Synthetic records with a field of every unit, for the tests of query and render."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, field

from hlotool.table import (
    BYTES,
    FLOPS,
    NUMBER,
    PERCENT,
    RATIO,
    SECONDS,
    TIMES,
    Fold,
    RowList,
    column,
    figure,
)


class Sample(Struct, frozen=True):
    """One row; every field has a default so that a test states only what it is about."""

    name: Annotated[str, column("its name")] = "fusion"
    kind: Annotated[Literal["loop", "input", "custom"], column("its kind")] = "loop"
    class_: Annotated[str, figure("a Python keyword")] = field(name="class", default="temp")
    count: Annotated[int, figure("equal ones", TIMES, heading="×")] = 1
    position: Annotated[int, figure("where it stands", NUMBER)] = 0
    size_bytes: Annotated[int, column("its size", BYTES)] = 0
    sent_bytes: Annotated[int | None, figure("sent")] = 0
    known_sent_bytes: Annotated[int, figure("what is known of that")] = 0
    flops: Annotated[int | None, figure("operations", FLOPS)] = 0
    ratio: Annotated[float | None, figure("operations a byte", RATIO)] = 1.0
    share_of_peak: Annotated[float, figure("part of the peak", PERCENT)] = 0.0
    estimated_seconds: Annotated[float, figure("how long", SECONDS)] = 0.0
    is_async: Annotated[bool | None, figure("whether it is async")] = False
    is_conditional: Annotated[bool, figure("whether it may not happen")] = False
    flags: Annotated[tuple[str, ...], figure("what is odd")] = ()
    members: Annotated[tuple[int, ...], figure("who belongs to it")] = ()
    note: Annotated[str | None, figure("a remark")] = None


SAMPLES = RowList(
    "samples",
    Sample,
    "samples, largest first",
    sort="-size_bytes",
    size="size_bytes",
    upper_if=("is_conditional",),
    fold=Fold(keys="kind,size_bytes", name="name"),
)
FIELDS = SAMPLES.fields
