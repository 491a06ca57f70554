"""Which texts may hold an out-of-memory message? Most are told by words that they do not have."""

from __future__ import annotations

from typing import Final

# Every message has one of these: most lines of a log, and most texts, are done with after them.
_HINTS: Final = (
    *("ut of memory", "OOM ", "OutOfMemory", "OUT_OF_MEMORY", "hipError_t", "ttempting to "),
    *(
        "would exceed memory",
        "ailed to alloc",
        "ould not allocate",
        "PA budget",
        "MemoryAllocation",
        "Hbm usage",
        "enough memory.",
        " scoped ",
        "emory size limit",
    ),
    *("program allocations in", ". Size: ", "XLA Label: ", "XLA label: ", "Parameter Subshape: "),
)


def is_hinted(text: str) -> bool:
    """Whether a text, or a line of one, has a word that every message has."""
    return any(hint in text for hint in _HINTS)


def holds_message(text: str) -> bool:
    """Whether a text has an out-of-memory message, or the list of one."""
    if not is_hinted(text):
        return False
    from hlotool.parse.out_of_memory.heads import find_head, find_orphan  # noqa: PLC0415  start-up

    for hint in _HINTS:
        position = text.find(hint)
        while position >= 0:
            line_end = text.find("\n", position)
            line_end = line_end if line_end >= 0 else len(text)
            line = text[text.rfind("\n", 0, position) + 1 : line_end]
            if find_head(line) or find_orphan(line):
                return True
            position = text.find(hint, line_end)
    return False
