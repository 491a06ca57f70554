"""Where in the user's program does an instruction come from?"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hlotool.analysis.origin.scope import find_scope
from hlotool.fields.paths import share_path
from hlotool.ir.instruction import Instruction


class Origin(Struct, frozen=True):
    """The user's name, module path and source line of an instruction; None where unknown.

    `frame` is the row of StackFrames that the line comes from, 0 for none.
    """

    op_name: str | None = None
    scope: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    frame: int = 0


def find_origin(instruction: Instruction, others: Iterable[Instruction] = ()) -> Origin:
    """Return where an instruction comes from.

    `op_name` is its own. Where that names no module, or the instruction has no source line,
    the first of `others` that does stands in: those inside a fusion, say.
    """
    metadata = instruction.metadata()
    op_name = metadata.op_name or None
    scope = find_scope(op_name) if op_name else None
    location = instruction.source_location(metadata)
    frame = metadata.stack_frame_id
    for other in others:
        if scope is not None and location is not None:
            break
        metadata = other.metadata()
        scope = scope or find_scope(metadata.op_name)
        if location is None:
            location, frame = other.source_location(metadata), metadata.stack_frame_id
    return Origin(
        op_name,
        scope,
        location.file if location else None,
        location.line if location else None,
        frame if location else 0,
    )


def write_short_source(file: str | None, line: int | None) -> str | None:
    """Write `model.py:12`, without the directories."""
    if file is None:
        return None
    name = file.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"{name}:{line}" if line else name


def find_common_scope(scopes: Iterable[str | None]) -> str | None:
    """Return what scopes have in common, as `share_path` writes it; unknown ones do not count.

    >>> find_common_scope(["decoder/layers_0/mlp", "decoder/layers_1/mlp", None])
    'decoder/layers_*/mlp'
    """
    known = [scope for scope in scopes if scope]
    return share_path(known) if known else None
