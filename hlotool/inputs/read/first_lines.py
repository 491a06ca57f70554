"""What the first lines of a module text tell, cheaply: its name, stage and entry signature.

Enough to say whether two texts are the same program at two stages; not the parser.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

HEAD_BYTES: Final = 1 << 14  # the header line of most modules
LONG_HEAD_BYTES: Final = 1 << 22  # of those with thousands of parameters

Array = tuple[str, tuple[str, ...]]  # element type, dimensions as printed

_NAME: Final = re.compile(r"\s*+HloModule\s++([^\s,]*+)")
_SCHEDULED: Final = re.compile(r",\s*+is_scheduled=true\b")
_LAYOUT: Final = re.compile(r",\s*+entry_computation_layout=\{")
_BRACE: Final = re.compile(r"[{}]")
_COUNT: Final = re.compile(r",\s*+(num_partitions|replica_count)=(\d{1,18})")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_COMMENT: Final = re.compile(r"/\*[^*]*+\*/")
_SHAPE_LAYOUT: Final = re.compile(r"\{[^{}]*+\}")
_ARRAY: Final = re.compile(r"([a-z]\w*+)\[([^\[\]]*+)\]")


class ModuleHead(Struct, frozen=True):
    """The header of a module text; None where it does not say."""

    name: str = ""
    is_scheduled: bool = False
    num_partitions: int = 1
    replica_count: int = 1
    parameters: tuple[Array, ...] | None = None  # arrays of the entry's parameters, flattened
    results: tuple[Array, ...] | None = None


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
    counts = {key: int(value) for key, value in _COUNT.findall(line)}
    parameters, results = _read_signature(line) if with_signature else (None, None)
    return ModuleHead(
        name[1],
        _SCHEDULED.search(line) is not None,
        counts.get("num_partitions", 1),
        counts.get("replica_count", 1),
        parameters,
        results,
    )


def may_be_same_program(before: ModuleHead, after: ModuleHead) -> bool:
    """Whether two heads fit one program before and after optimization.

    The names and device counts are equal, and so is the entry signature but for layouts and
    sharding: an array after partitioning is the part of the array before that one of k ≤
    num_partitions devices holds, in each dimension. What a head does not say fits anything.
    """
    if before.name and after.name and before.name != after.name:
        return False
    devices = after.num_partitions
    if before.parameters is None or after.parameters is None:
        return True
    if (before.num_partitions, before.replica_count) != (devices, after.replica_count):
        return False
    left = (before.parameters, before.results or ())
    right = (after.parameters, after.results or ())
    return all(
        len(whole) == len(part) and all(map(_may_be_part, whole, part, [devices] * len(part)))
        for whole, part in zip(left, right, strict=True)
    )


def _may_be_part(whole: Array, part: Array, devices: int) -> bool:
    """Whether an array may be one device's part of another."""
    if whole[0] != part[0] or len(whole[1]) != len(part[1]):
        return False
    return all(map(_may_divide, whole[1], part[1], [devices] * len(part[1])))


def _may_divide(whole: str, part: str, devices: int) -> bool:
    """Whether a dimension may be another one, padded and cut into at most `devices` parts."""
    if whole == part:
        return True
    if not (_NUMBER.fullmatch(whole) and _NUMBER.fullmatch(part)) or int(part) == 0:
        return False
    shards = -(-int(whole) // int(part))
    return 1 < shards <= devices and -(-int(whole) // shards) == int(part)


def _read_signature(
    line: str,
) -> tuple[tuple[Array, ...] | None, tuple[Array, ...] | None]:
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


def read_arrays(text: str) -> tuple[Array, ...]:
    """Return the arrays named in a shape or a list of shapes, in order."""
    return tuple(
        (kind, tuple(dims.split(",")) if dims else ())
        for kind, dims in _ARRAY.findall(text.replace(" ", ""))
    )
