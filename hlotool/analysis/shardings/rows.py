"""What `hlotool shardings` says of each collective, and of the chain that leads to it."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.rows import Cause, KnownSentPerStep, SentPerStep
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.table import BYTES, RowList, column, figure


class ReshardRow(Struct, frozen=True, kw_only=True):
    """Why one collective is there."""

    collective: Annotated[str, column("the collective", min_width=20)]
    kind: Annotated[str, column("what it amounts to", words=COLLECTIVES, hide_order=4)]
    cause: Annotated[Cause, column("what it pays for", is_whole=True)]
    axes: Annotated[tuple[str, ...] | None, column("axes of the mesh along which it runs")]
    sent_bytes_per_step: SentPerStep
    known_sent_bytes_per_step: KnownSentPerStep
    value: Annotated[
        str | None,
        column(
            "what is moved: a parameter's name, else its op_name; a partial sum's product",
            hide_order=2,
        ),
    ]
    arguments: Annotated[
        tuple[str, ...],
        figure("parameters whose elements are moved, perhaps converted, or a slice of them"),
    ]
    from_spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure("of each dimension the axes over which it is sharded before, as in parameters"),
    ]
    from_text: Annotated[
        str | None,
        column("the same as users of JAX write it", heading="from", is_whole=True, hide_order=1),
    ]
    to_spec: Annotated[tuple[tuple[str, ...], ...] | None, figure("the same afterwards")]
    to_text: Annotated[
        str | None,
        column("the same as users of JAX write it", heading="to", is_whole=True, hide_order=1),
    ]
    via_text: Annotated[
        str | None,
        figure(
            "of an involuntary one: a spec between the two; constrained to it first, the value "
            "is not gathered whole"
        ),
    ]
    via_sent_bytes_per_step: Annotated[
        int | None,
        figure(
            "bytes that a device sends by that way per step, instead of those of all collectives "
            "that gather the value",
            BYTES,
            is_summed=False,
        ),
    ]
    needed_by: Annotated[str | None, figure("op_name of the operation that needs it so")]
    source: Annotated[
        str | None,
        column("line of the operation that needs it, without directories", hide_order=3),
    ]
    constraint: Annotated[
        str | None, figure("line of the sharding constraint that asks for it, if one does")
    ]
    operation: Annotated[str, figure("the collective itself, where that is inside another")]
    is_upper_bound: Annotated[bool, figure("whether the data decides how much is sent")]
    is_conditional: Annotated[bool, figure("whether a conditional decides if it runs")]
    spec_from: Annotated[str | None, figure("the file that says the specs")]


Link: TypeAlias = Literal["annotation", "propagated", "value", "needed", "collective", "detour"]


class ChainRow(Struct, frozen=True, kw_only=True):
    """One link of the chain from what the user wrote to a collective."""

    link: Annotated[
        Link,
        column(
            "annotation: a spec that the user gave; propagated: an operation that took it over; "
            "value: what is moved; needed: the operation that needs it otherwise; collective: "
            "what pays for it; detour: specs between the two that need no gathering"
        ),
    ]
    name: Annotated[
        str, column("op_name of the operation, or the collective", min_width=24, is_path=True)
    ]
    spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure("of each dimension the axes over which it is sharded, as in parameters"),
    ]
    spec_text: Annotated[
        str | None,
        column("the same as users of JAX write it", heading="spec", null_text="", is_whole=True),
    ]
    cause: Annotated[Cause | None, column("cause of the collective", null_text="", hide_order=1)]
    sent_bytes_per_step: Annotated[
        int | None,
        column(
            "bytes that a device sends by it per step", BYTES, heading="sent/step", null_text=""
        ),
    ]
    source: Annotated[
        str | None, column("file and line, without directories", null_text="", hide_order=2)
    ]
    collective: Annotated[str, figure("the collective that the chain leads to")]


RESHARDS: Final = RowList(
    "reshards",
    ReshardRow,
    "why each collective is there, most bytes sent per step first",
    sort="-sent_bytes_per_step",
    size="sent_bytes_per_step",
    upper_if=("is_upper_bound", "is_conditional"),
    title="reshards",
    option="--rows reshards",
)
WHY: Final = RowList(
    "why",
    ChainRow,
    "the chain from what the user wrote to a collective",
    key="name",
    option="--why NAME",
    has_total=False,
    limit=0,
)
