"""One reason for which two programs differ, found by comparing them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.blocks.columns import LEFT, RIGHT
from hlotool.compare.causes.meanings import CAUSE_MEANINGS, MEASURE_MEANINGS
from hlotool.fields import BYTES, COUNT, FLOPS, WHOLE, column, figure

CauseKind: TypeAlias = Literal[
    "rematerialization lost",
    "rematerialization gained",
    "donation lost",
    "donation gained",
    "layers added",
    "layers removed",
    "loop unrolled",
    "loop rolled",
    "trip count",
    "dimension",
    "products moved",
    "dtype widened",
    "dtype narrowed",
    "overlap lost",
    "overlap gained",
    "collectives",
    "axes",
    "sharding",
    "operations",
    "fusing",
    "values at the peak",
    "dtype inside fusions",
    "other",
]
Measure: TypeAlias = Literal[
    "peak", "peak of all layers", "donated", "results", "wire", "exposed", "traffic"
]


class Cause(Struct, frozen=True, kw_only=True):
    """One reason; which fields it has goes by its kind (docs/diff.md).

    `delta_bytes` is right − left of what `measure` says: bytes held at the peak, by all layers at
    the peak, donated, of results in one run, sent in one run, sent with nothing that hides them,
    moved in memory in one run.
    """

    kind: Annotated[
        CauseKind,
        column(
            "what kind of reason it is",
            heading="reason",
            wants=WHOLE,
            word_meanings=CAUSE_MEANINGS,
        ),
    ]
    count: Annotated[int, column("how many values, parameters, … it is about", COUNT, give_way=2)]
    subject: Annotated[
        str | None, column("what it is about: names, opcodes, a collective", null_text="")
    ] = None
    scope: Annotated[
        str | None, column("where in the user's program", null_text="", is_path=True, give_way=3)
    ] = None
    left: Annotated[str | None, column("what it is" + LEFT, heading="old", null_text="")] = None
    right: Annotated[str | None, column("what it is" + RIGHT, heading="new", null_text="")] = None
    measure: Annotated[
        Measure | None,
        column("what its bytes are", null_text="", give_way=1, word_meanings=MEASURE_MEANINGS),
    ] = None
    delta_bytes: Annotated[
        int | None,
        column("right minus left", BYTES, heading="difference", is_signed=True, null_text=""),
    ] = None
    delta_flops: Annotated[
        int | None, figure("flops in one run, right minus left", FLOPS, is_signed=True)
    ] = None
    delta_wire_bytes: Annotated[
        int | None, figure("wire bytes in one run, right minus left", BYTES, is_signed=True)
    ] = None

    @property
    def more(self) -> int | None:
        """How many more the right side has than the left, None where a side has no number."""
        numbers = [int(side) for side in (self.left, self.right) if side and side.isdecimal()]
        return numbers[1] - numbers[0] if numbers[1:] else None
