"""What do names of instructions share but their numbers? `fusion.1` and `fusion.7`: `fusion.*`."""

from __future__ import annotations

import re
from typing import Final

_APPENDED: Final = re.compile(r"[0-9]+|clone|remat[0-9]*")
_INDEX: Final = re.compile(r"\{[0-9,]*\}")
_FOLDED: Final = re.compile(r"(?P<base>.+)\.\*(?:\{(?P<index>[0-9,]*)\})?", re.DOTALL)


def split_name(name: str) -> tuple[str, str]:
    """Drop what makes a name unique, and split off the index of a tuple.

    name  = [ computation "/" ] base { "." ( digits | "clone" | "remat" [ digits ] ) } [ index ]
    index = "{" digits { "," digits } "}"

    `body/fusion.12.clone{1}` is `fusion` and `{1}`. Read from the end, each character once: names
    are as long as a dump likes.
    """
    end = name.rfind("{")
    if end < 0 or not _INDEX.fullmatch(name, end):
        end = len(name)
    stop = end
    while (dot := name.rfind(".", 0, stop)) > 0 and _APPENDED.fullmatch(name, dot + 1, stop):
        stop = dot
    return name[name.rfind("/", 0, stop) + 1 : stop], name[end:]


def fold_name(name: str) -> str:
    """Write a star for what makes a name unique: `fusion.*{1}`, as rows of several are called."""
    base, index = split_name(name)
    return f"{base}.*{index}"


def find_folded(name: str) -> tuple[str, str | None] | None:
    """Return base and index, None without one, of what `fold_name` wrote; None for another name."""
    match = _FOLDED.fullmatch(name)
    return (match["base"], match["index"]) if match else None
