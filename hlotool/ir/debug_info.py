"""The index tables of a module: FileNames, FunctionNames, FileLocations, StackFrames."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from hlotool.ir.values import SourceLocation


class StackFrame(Struct, frozen=True):
    """One row of StackFrames; `parent` is the real parent's row, 0 for none.

    The text prints the parent one too high (xla/hlo/ir/hlo_module.cc); the parser has
    already taken that off.
    """

    location: int
    parent: int


class DebugInfo(Struct, frozen=True):
    """The four tables by their printed 1-based row numbers."""

    locations: Mapping[int, SourceLocation] = field(default_factory=dict)
    frames: Mapping[int, StackFrame] = field(default_factory=dict)

    def find_location(self, frame: int) -> SourceLocation | None:
        """Return the innermost line of a stack frame, or None for an unknown number."""
        row = self.frames.get(frame)
        return self.locations.get(row.location) if row else None

    def find_stack(self, frame: int) -> tuple[SourceLocation, ...]:
        """Return the lines of a stack frame and of its callers, innermost first.

        Unknown lines are left out; a frame that calls itself ends the stack.
        """
        found: dict[int, SourceLocation | None] = {}
        while frame in self.frames and frame not in found:
            found[frame] = self.find_location(frame)
            frame = self.frames[frame].parent
        return tuple(location for location in found.values() if location)
