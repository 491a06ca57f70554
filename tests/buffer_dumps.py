"""The dumps that come with a buffer assignment, and what XLA itself says of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from dump_files import SEEDS, find_file, find_folders, read_json, read_text
from parsed import read_module

from hlotool.hlo import Module
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.hlo.buffers import BufferAssignment, LiveRange, ValueKey
from hlotool.text import Source


@dataclass(frozen=True, eq=False)
class Dump:
    """One program's dump: a folder of the newer form, or an old single file."""

    path: Path

    @property
    def name(self) -> str:
        """Folder and name, for test ids."""
        if self.path.is_file():
            return self.path.stem[:3]
        return "/".join((self.path.parents[2].name, *self.path.parts[-2:]))

    @property
    def backend(self) -> str:
        """The first part of the platform's name: cpu, gpu or tpu; '' where nobody says."""
        return "" if self.path.is_file() else self.path.parent.name[:3]

    def read(self, ending: str) -> Source | None:
        """Return the one file that ends so, None without one."""
        found = find_file(self.path, ending)
        return Source(read_text(found), found.name) if found else None

    @cached_property
    def assignment(self) -> BufferAssignment:
        """The buffer assignment, all its files read."""
        if self.path.is_file():
            return parse_buffer_assignment(Source(self.path.read_text("utf-8"), self.path.name))
        allocations = self.read("-buffer-assignment.txt")
        assert allocations is not None
        values, live_range = self.read("-assignment-values.txt"), self.read("-live-range.txt")
        return parse_buffer_assignment(allocations, values, live_range)

    @cached_property
    def module(self) -> Module:
        """The module after optimizations, which the assignment belongs to."""
        path = find_file(self.path, "after_optimizations.txt")
        assert path is not None
        return read_module(path)

    @cached_property
    def oracle(self) -> dict[str, Any]:
        """XLA's own figures; empty for single files."""
        found = None if self.path.is_file() else find_file(self.path, "oracle.json")
        return read_json(found) if found else {}


@cache
def find_dumps() -> tuple[Dump, ...]:
    """Return the dumps of testdata, then those of the shared folder where it exists."""
    files = [*SEEDS.glob("001*"), *SEEDS.glob("004*")]
    return tuple(Dump(path) for path in (*find_folders(), *files))


def read_ranges(assignment: BufferAssignment) -> dict[ValueKey, LiveRange]:
    """Return when each value is live, where that is known."""
    values = (value for allocation in assignment.allocations for value in allocation.values)
    return {value.key: value.live for value in values if value.live is not None}
