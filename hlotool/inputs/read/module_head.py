"""What does the header line of a module text tell, without parsing it?"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

HEAD_BYTES: Final = 1 << 14  # the header line of most modules
LONG_HEAD_BYTES: Final = 1 << 22  # of those with thousands of parameters

ArrayText = tuple[str, tuple[str, ...]]  # element type, dimensions as printed

_NAME: Final = re.compile(r"\s*+HloModule\s++([^\s,]*+)")
_SCHEDULED: Final = re.compile(r",\s*+is_scheduled=true\b")
_LAYOUT: Final = re.compile(r",\s*+entry_computation_layout=\{")
_BRACE: Final = re.compile(r"[{}]")
_COUNT: Final = re.compile(r",\s*+(num_partitions|replica_count)=(\d{1,18}|\?)")
_COMMENT: Final = re.compile(r"/\*[^*]*+\*/")
_SHAPE_LAYOUT: Final = re.compile(r"\{[^{}]*+\}")
_ARRAY: Final = re.compile(r"([a-z]\w*+)\[([^\[\]]*+)\]")


class ModuleHead(Struct, frozen=True):
    """The header of a module text; None where it does not say."""

    name: str = ""
    is_scheduled: bool = False
    num_partitions: int | None = 1
    replica_count: int | None = 1
    parameters: tuple[ArrayText, ...] | None = None  # arrays of the entry's parameters, flattened
    results: tuple[ArrayText, ...] | None = None


def read_module_head(text: str, begin: int = 0, *, with_signature: bool = True) -> ModuleHead:
    """Read the header line of a module that starts at an offset; an empty head without one.

    The signature, most of the line, only where asked for.

    header = "HloModule " name { ", " key "=" value }

    Only the line is looked at, so a text may be cut off after it.
    """
    name = _NAME.match(text, begin)
    if name is None:
        return ModuleHead()
    end = text.find("\n", begin)
    line = text[begin : end if end >= 0 else len(text)]
    counts = {
        key: None if value == "?" else int(value)  # that of a proto, which need not say it
        for key, value in _COUNT.findall(line)
    }
    parameters, results = _read_signature(line) if with_signature else (None, None)
    return ModuleHead(
        name[1],
        _SCHEDULED.search(line) is not None,
        counts.get("num_partitions", 1),
        counts.get("replica_count", 1),
        parameters,
        results,
    )


def _read_signature(
    line: str,
) -> tuple[tuple[ArrayText, ...] | None, tuple[ArrayText, ...] | None]:
    """Return the arrays of `entry_computation_layout={(...)->...}`, without layouts."""
    start = _LAYOUT.search(line)
    if start is None:
        return None, None
    depth = 1
    for brace in _BRACE.finditer(line, start.end()):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            shapes = _COMMENT.sub("", line[start.end() : brace.start()])
            left, arrow, right = _SHAPE_LAYOUT.sub("", shapes).partition("->")
            return (read_arrays(left), read_arrays(right)) if arrow else (None, None)
    return None, None


def read_arrays(text: str) -> tuple[ArrayText, ...]:
    """Return the arrays named in a shape or a list of shapes, in order."""
    return tuple(
        (kind, tuple(dims.split(",")) if dims else ())
        for kind, dims in _ARRAY.findall(text.replace(" ", ""))
    )
