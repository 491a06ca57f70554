"""One `[[custom_call]]` as written: what calls to some targets compute and move."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from hlotool.check.key_lines import NO_LINES, TableLines

Count: TypeAlias = str | int | float | None  # an expression, or a number as it stands


class CustomCallTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of a `[[custom_call]]`; None where one is not given."""

    target: str = ""
    flops: Count = None
    bytes: Count = None

    def __post_init__(self) -> None:
        """Raise ValueError for one that is about no call, or says nothing."""
        if not self.target:
            raise ValueError("a custom_call needs a target")
        if self.flops is None and self.bytes is None:
            raise ValueError("a custom_call needs flops, bytes or both")


class WrittenCall(CustomCallTable, frozen=True, kw_only=True):
    """A `[[custom_call]]`; `lines` says where it stands, none where that is not known."""

    lines: TableLines = NO_LINES
