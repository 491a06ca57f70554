"""Why each collective is there: what it pays for, and from which spec to which a value goes.

The causes, and what proves each:

* `user`: JAX's own collectives (psum, ppermute), as in `shard_map`.
* `pipeline`: a permute inside a loop that hands on what a product made in the same round.
* `partial-sum`: it adds up what devices made of parts of a contracted or summed dimension.
* `replicated-gradient`: the same in the backward pass, of the gradient of a parameter, over an
  axis over which the parameter is replicated.
* `halo`: a permute of edges, as a convolution, a shift or a padding needs them of its neighbours.
* `involuntary`: the partitioner knew no way from one spec to another but to gather the value whole
  and to cut it. Only the text that the partitioner wrote proves it.
* `gathered-then-cut`: gathered, and nothing but a part of a device's own is used. The final text
  proves no more: a spec of the user's own between the two compiles to the same.
* `reshard`: from one spec to another, as the operation that uses it needs it.
* `unknown`: no text shows why.

Bytes are those of `collectives`. The specs come from the texts of passes, of parameters also from
the final text; null where no file says them.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import Cause, KnownSentPerStep, SentPerStep
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.table import BYTES, RowList, column, figure


class ReshardRow(Struct, frozen=True, kw_only=True):
    """Why one collective is there."""

    collective: Annotated[str, column("the collective", min_width=20)]
    kind: Annotated[str, column("what it amounts to", words=COLLECTIVES, hide_order=4)]
    cause: Annotated[Cause, column("what it pays for")]
    axes: Annotated[
        tuple[str, ...] | None, column("axes of the mesh along which it runs", hide_order=3)
    ]
    value: Annotated[
        str | None,
        column("what is moved: a parameter's name, else its op_name; a partial sum's product"),
    ]
    from_spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure("of each dimension the axes over which it is sharded before, as in parameters"),
    ]
    from_text: Annotated[
        str | None, column("the same as users of JAX write it", heading="from", is_whole=True)
    ]
    to_spec: Annotated[tuple[tuple[str, ...], ...] | None, figure("the same afterwards")]
    to_text: Annotated[
        str | None, column("the same as users of JAX write it", heading="to", is_whole=True)
    ]
    via_text: Annotated[
        str | None,
        figure(
            "of an involuntary one: a spec between the two; constrained to it first, the value "
            "is not gathered whole"
        ),
    ]
    via_sent_bytes_per_step: Annotated[
        int | None, figure("bytes that a device sends by that way, per step", BYTES)
    ]
    needed_by: Annotated[str | None, figure("op_name of the operation that needs it so")]
    sent_bytes_per_step: SentPerStep
    known_sent_bytes_per_step: KnownSentPerStep
    source: Annotated[
        str | None, column("line of the operation that needs it, without directories")
    ]
    constraint: Annotated[
        str | None, figure("line of the sharding constraint that asks for it, if one does")
    ]
    is_upper_bound: Annotated[bool, figure("whether the data decides how much is sent")]
    is_conditional: Annotated[bool, figure("whether a conditional decides if it runs")]
    spec_from: Annotated[str | None, figure("the file that says the specs")]


RESHARDS: Final = RowList(
    "reshards",
    ReshardRow,
    "why each collective is there, most bytes sent per step first",
    sort="-sent_bytes_per_step",
    size="sent_bytes_per_step",
    upper_if=("is_upper_bound", "is_conditional"),
    title="reshards",
)
