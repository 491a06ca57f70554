"""What may a file be to its module, and which texts are read in that role?"""

from __future__ import annotations

from enum import Enum
from typing import Final

from hlotool.inputs.read.text_kind import TextKind


class Stage(Enum):
    """Where in the compilation a module text was printed."""

    BEFORE = "before"  # before_optimizations: what XLA was given
    PASS = "pass"  # noqa: S105  (after one pass; per-pass dumps)
    OTHER = "other"  # between the two, without a number: after_spmd_partitioner
    AFTER = "after"  # after_optimizations and, on TPU, its neighbours


class Role(Enum):
    """What a dump file is to its module, as far as the name tells."""

    MODULE = "module text"
    BUFFERS = "buffer assignment"
    VALUES = "buffer-assignment values"
    LIVE_RANGE = "live ranges"
    MEMORY_REPORT = "memory-usage report"
    DEBUG_OPTIONS = "debug options"
    PROTO = "HLO protobuf"
    OTHER = "other"


# A file whose name gives it one of these roles, or that stands in it, holds such a text.
KINDS_OF_ROLE: Final = {
    Role.MODULE: (TextKind.MODULE,),
    Role.PROTO: (TextKind.MODULE,),
    Role.BUFFERS: (TextKind.ALLOCATIONS, TextKind.BUFFERS),
    Role.VALUES: (TextKind.VALUES,),
    Role.LIVE_RANGE: (TextKind.LIVE_RANGE,),
    Role.MEMORY_REPORT: (TextKind.MEMORY_REPORT,),
    Role.DEBUG_OPTIONS: (TextKind.DEBUG_OPTIONS,),
}
READ_ROLES: Final = (Role.MODULE, Role.BUFFERS, Role.VALUES, Role.LIVE_RANGE)
ROLE_OF_KIND: Final = {kind: role for role in READ_ROLES for kind in KINDS_OF_ROLE[role]}
