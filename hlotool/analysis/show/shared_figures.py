"""Which figures do several lists of this answer have? Each is declared here, once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from hlotool.fields import BYTES, column

SizeBytes: TypeAlias = Annotated[
    int | None, column("size of the result", BYTES, heading="result", is_summed=False, give_way=1)
]
ShapeText: TypeAlias = Annotated[
    str, column("the result's shape, without layout", give_way=2, is_shape=True)
]
InstructionName: TypeAlias = Annotated[
    str, column("the instruction", heading="instruction", is_whole=True)
]
