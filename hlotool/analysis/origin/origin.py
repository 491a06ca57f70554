"""Where in the user's program does an instruction come from?"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hlotool.analysis.origin.scope import find_scope
from hlotool.ir.module import Instruction


class Origin(Struct, frozen=True):
    """The user's name, module path and source line of an instruction; None where unknown."""

    op_name: str | None = None
    scope: str | None = None
    source_file: str | None = None
    source_line: int | None = None


def find_origin(instruction: Instruction, others: Iterable[Instruction] = ()) -> Origin:
    """Return where an instruction comes from.

    `op_name` is its own. Where that names no module, or the instruction has no source line,
    the first of `others` that does stands in: those inside a fusion, say.
    """
    metadata = instruction.metadata()
    op_name = metadata.op_name or None
    scope = find_scope(op_name) if op_name else None
    location = instruction.source_location(metadata)
    for other in others:
        if scope is not None and location is not None:
            break
        metadata = other.metadata()
        scope = scope or find_scope(metadata.op_name)
        location = location or other.source_location(metadata)
    return Origin(
        op_name,
        scope,
        location.file if location else None,
        location.line if location else None,
    )


def find_common_scope(scopes: Iterable[str | None]) -> str | None:
    """Return the path that all scopes begin with, None for none; unknown ones do not count.

    >>> find_common_scope(["decoder/layers_0/mlp", "decoder/layers_1/mlp", None])
    'decoder'
    """
    paths = [scope.split("/") for scope in scopes if scope]
    if not paths:
        return None
    shortest, longest = min(paths), max(paths)
    length = 0
    while length < min(len(shortest), len(longest)) and shortest[length] == longest[length]:
        length += 1
    return "/".join(shortest[:length]) or None
