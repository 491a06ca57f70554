"""Synthetic records with a field of every unit, for the tests of query and render."""

from __future__ import annotations

from msgspec import Struct

from hlotool.fields import Field, Fold, RowList, Unit


class Sample(Struct, frozen=True):
    """One row; every field has a default so that a test states only what it is about."""

    name: str = "fusion"
    kind: str = "loop"
    class_: str = "temp"
    count: int = 1
    position: int = 0
    size_bytes: int = 0
    wire_bytes: int | None = 0
    payload_bytes: int = 0
    flops: int | None = 0
    ratio: float | None = 1.0
    share_of_peak: float = 0.0
    estimated_seconds: float = 0.0
    is_async: bool | None = False
    is_conditional: bool = False
    flags: tuple[str, ...] = ()
    members: tuple[int, ...] = ()
    note: str | None = None


FIELDS = (
    Field("name", Unit.TEXT, "its name", in_table=True),
    Field("kind", Unit.TEXT, "its kind", in_table=True, values=("loop", "input", "custom")),
    Field("class", Unit.TEXT, "a Python keyword"),
    Field("count", Unit.TIMES, "equal ones", heading="×"),
    Field("position", Unit.NUMBER, "where it stands"),
    Field("size_bytes", Unit.BYTES, "its size", in_table=True),
    Field("wire_bytes", Unit.BYTES, "sent", is_nullable=True, once="payload_bytes"),
    Field("payload_bytes", Unit.BYTES, "to be sent"),
    Field("flops", Unit.FLOPS, "operations", is_nullable=True),
    Field("ratio", Unit.RATIO, "operations a byte", is_nullable=True),
    Field("share_of_peak", Unit.PERCENT, "part of the peak"),
    Field("estimated_seconds", Unit.SECONDS, "how long"),
    Field("is_async", Unit.FLAG, "whether it is async", is_nullable=True),
    Field("is_conditional", Unit.FLAG, "whether it may not happen"),
    Field("flags", Unit.LIST, "what is odd"),
    Field("members", Unit.LIST, "who belongs to it", items=Unit.NUMBER),
    Field("note", Unit.TEXT, "a remark", is_nullable=True),
)
SAMPLES = RowList(
    "samples",
    Sample,
    "samples, largest first",
    sort="-size_bytes",
    size="size_bytes",
    upper_if=("is_conditional",),
    fold=Fold(keys=("kind", "size_bytes"), name="name"),
    fields=FIELDS,
)
