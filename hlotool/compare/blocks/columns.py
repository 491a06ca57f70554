"""What several lists of a diff say of a change: its kind, its bytes, where it comes from."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from hlotool.fields import BYTES, NUMBER, PERCENT, TIMES, column, figure

Change: TypeAlias = Literal["added", "removed", "changed"]

LEFT: Final = " on the left"
RIGHT: Final = " on the right"

CHANGE: Final = column(
    "what happened",
    word_meanings={
        "added": "only the right side has it",
        "removed": "only the left side has it",
        "changed": "both sides have it, and it differs",
    },
)
ALIKE: Final = column("how many changed alike", TIMES, heading="×")
WHAT: Final = column("the details as one text", heading="what differs", give_way=1)
DELTA_BYTES: Final = column("right minus left", BYTES, heading="difference", is_signed=True)
RELATIVE_DELTA: Final = column(
    "the difference relative to the left", PERCENT, heading="%", is_signed=True, null_text=""
)

OP_NAME: Final = figure("its op_name, the name that tracing gave it")
SCOPE: Final = column(
    "module path in the user's program; what folded ones share", null_text="", is_path=True
)
SOURCE_FILE: Final = figure("file of the user's program")
SOURCE_LINE: Final = figure("line in that file", NUMBER)
