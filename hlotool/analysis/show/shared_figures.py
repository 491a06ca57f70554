"""Which figures do several lists of this answer have? Each is declared here, once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from hlotool.fields import BYTES, column

SizeBytes: TypeAlias = Annotated[
    int, column("size of the result; 0 where unknown", BYTES, heading="result", is_summed=False)
]
