"""What may be missing at the end of a buffer assignment, where nothing in it tells?

XLA states the sum of all allocations, and puts it into the file of the used values; live ranges
state their own length. An allocation file alone has neither.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.ir.buffers import BufferAssignment, OpenEnd

_GONE: Final = re.compile(r"^HloLiveRange not available", re.MULTILINE)


def find_open_end(found: BufferAssignment) -> OpenEnd | None:
    """Return what may be missing; None where the parts are complete by what they state.

    Live ranges are missed only behind used values that stand in the file of the allocations.
    The text of the last used value ends with a newline, or may be cut.
    """
    if found.used is None:
        return OpenEnd(found.source, "allocations")
    if not found.used:
        return None
    last = list(found.used.values())[-1]
    text = last.source.text
    if text.find("\n", last.end) < 0:
        return OpenEnd(last.source, "the rest of its last line")
    is_single = last.source is found.source and found.live_ranges is None
    if is_single and not _GONE.search(text, last.end):
        return OpenEnd(found.source, "live ranges")
    return None
