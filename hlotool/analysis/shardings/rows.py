"""What `hlotool shardings` says of each collective, and of the chain that leads to it."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.rows import Cause, KnownSentPerStep, SentPerStep
from hlotool.analysis.origin import shorten_op_name
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.table import RowList, column, figure


class ReshardRow(Struct, frozen=True, kw_only=True):
    """Why one collective is there."""

    collective: Annotated[str, column("the collective")]
    kind: Annotated[str, column("its effect", words=COLLECTIVES)]
    cause: Annotated[Cause, column("its cause")]
    axes: Annotated[tuple[str, ...] | None, column("its mesh axes")]
    sent_bytes_per_step: SentPerStep
    known_sent_bytes_per_step: KnownSentPerStep
    value: Annotated[
        str | None,
        column(
            "name of the moved parameter, else the value's op_name; of a partial sum, its product's"
        ),
    ]
    arguments: Annotated[
        tuple[str, ...], figure("parameters whose elements move, perhaps converted or sliced")
    ]
    from_spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure("axes over which each dimension is sharded before, as in parameters"),
    ]
    from_text: Annotated[str | None, column("the same in JAX notation", heading="from")]
    to_spec: Annotated[tuple[tuple[str, ...], ...] | None, figure("the axes after it")]
    to_text: Annotated[str | None, column("the same in JAX notation", heading="to")]
    via_text: Annotated[
        str | None,
        figure(
            "of an involuntary reshard: a spec between the two. Constrain the value to it "
            "first, and the whole value is not gathered"
        ),
    ]
    via_sent_bytes_per_step: Annotated[
        int | None,
        figure(
            "bytes that a device sends per step with that spec, in place of all gathers "
            "of the value",
            is_summed=False,
        ),
    ]
    needed_by: Annotated[str | None, figure("op_name of the operation that needs it")]
    source: Annotated[
        str | None, column("line of the operation that needs it, without directories")
    ]
    constraint: Annotated[
        str | None, figure("line of the sharding constraint that requests it, if any")
    ]
    operation: Annotated[str, figure("the collective itself, if another instruction contains it")]
    is_upper_bound: Annotated[bool, figure("whether the sent size depends on data")]
    is_conditional: Annotated[bool, figure("whether it is in a branch that might not run")]
    spec_from: Annotated[str | None, figure("the file with the specs")]


_WASTES: Final = ("gathered-then-cut", "involuntary")  # a device uses a part of what it gathers


MORE: Final = " and "  # between the name of a value and how many others there are


def describe_move(row: ReshardRow) -> str | None:
    """Say what moves, from which sharding to which, and for what; None where nothing tells."""
    first, more, count = (row.value or "").partition(MORE)
    said = f"{shorten_op_name(first)}{more}{count}" if first else None
    if said and row.from_text and row.to_text:
        said += f", {row.from_text} → {row.to_text}"
    if said and row.needed_by and row.cause != "user" and row.needed_by != row.value:
        said += f", for {shorten_op_name(row.needed_by)}"
    return f"{said}, more than needed" if said and row.cause in _WASTES else said


Link: TypeAlias = Literal["annotation", "propagated", "value", "needed", "collective", "detour"]


class ChainRow(Struct, frozen=True, kw_only=True):
    """One link of the chain from what the user wrote to a collective."""

    link: Annotated[
        Link,
        column(
            "annotation: a spec from the user; propagated: an operation that inherits "
            "it; value: the moved value; needed: the operation that needs another spec; "
            "collective: the result; detour: specs between the two without a gather"
        ),
    ]
    name: Annotated[str, column("op_name of the operation, or the collective", is_path=True)]
    spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure("axes over which each dimension is sharded, as in parameters"),
    ]
    spec_text: Annotated[
        str | None, column("the same in JAX notation", heading="spec", null_text="")
    ]
    cause: Annotated[Cause | None, column("cause of the collective", null_text="")]
    sent_bytes_per_step: Annotated[
        int | None, column("bytes that a device sends for it per step", null_text="")
    ]
    source: Annotated[str | None, column("file and line, without directories", null_text="")]
    collective: Annotated[str, figure("the collective at the end of the chain")]


RESHARDS: Final = RowList(
    "reshards",
    ReshardRow,
    "causes of collectives, most bytes sent per step first",
    sort="-sent_bytes_per_step",
    size="sent_bytes_per_step",
    upper_if=("is_upper_bound", "is_conditional"),
    title="reshards",
    option="--rows reshards",
    screen="collective,kind,sent_bytes_per_step,cause,axes,from_text,to_text",
    wide_screen="value,source",
)
WHY: Final = RowList(
    "why",
    ChainRow,
    "the chain from the user's code to a collective",
    key="name",
    option="--why NAME",
    has_total=False,
    limit=0,
    screen="link,name,spec_text,sent_bytes_per_step",
    wide_screen="cause,source",
)
