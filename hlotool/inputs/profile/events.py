"""Of which instruction is an event? The planes of devices and of hosts are read apart.

* On a device (`/device:GPU:0`, `/device:TPU:1 SparseCore 0`), lines called `XLA Ops`,
  `Async XLA Ops` and `Sparse Core Ops` have an event for each instruction; where there is no such
  line, those events of streams count that name an instruction (`hlo_op`): the kernels of it.
  `XLA Modules` has an event for each run of a program: `jit_step(12)`. `Sparse Core Modules` has
  those of the parts of it that run there: no runs more.
* On a host, as JAX's CPU client runs programs, events count that name an instruction; each says
  on which device, and in which run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from hlotool.inputs.profile.programs import Label, read_label
from hlotool.inputs.profile.space import Line, Plane, Space
from hlotool.inputs.profile.tables import Marks, Tables
from hlotool.inputs.proto.messages import XEvent

_DEVICE: Final = re.compile(r"/device:([\w ]+:\d+)")
_OPS: Final = re.compile(r"(?:(?:Async )?XLA|Sparse Core) Ops\b")
_MODULES: Final = "XLA Modules"
# Of the parts of programs on a SparseCore, and of those that XProf derives for a stream: no runs.
_PARTS: Final = re.compile(r"Sparse Core Modules|XLA Modules - ")
# Lines that other tools derive, and put beside those of the streams.
_DERIVED: Final = re.compile(
    r"(?:(?:Sparse Core )?Steps|XLA TraceMe|Framework Ops|Framework Name Scope|Source code|Source"
    r"|(?:XLA|Sparse Core) Modules|Launch Stats|TensorFlow (?:Ops|Name Scope))(?: - from #\d+)?\Z"
)


class Occurrence(Struct, frozen=True):
    """An event of an instruction: where and when it ran."""

    device: str
    label: Label
    op: str
    begin_ps: int
    end_ps: int
    run: int | None = None


class Run(Struct, frozen=True):
    """An event of a whole program."""

    device: str
    label: Label
    begin_ps: int
    end_ps: int


def is_device(plane: Plane) -> bool:
    """Whether a plane is of a device, not of a host."""
    return _DEVICE.match(plane.name) is not None


def list_device_events(space: Space, plane: Plane) -> Iterator[Occurrence | Run]:
    """Yield what ran on a device: runs first, then operations, line by line."""
    match = _DEVICE.match(plane.name)
    reader = _Reader(space, Tables(space, plane), match[1] if match else plane.name)
    lines = space.lines
    runs = [run for line in lines(plane) if line.name == _MODULES for run in reader.runs(line)]
    yield from runs
    runs += [run for line in lines(plane) if _PARTS.match(line.name) for run in reader.runs(line)]
    runs.sort(key=lambda run: run.begin_ps)
    is_named = any(_OPS.match(line.name) for line in lines(plane))
    for line in lines(plane):
        if is_named and _OPS.match(line.name):
            yield from reader.named(line, runs)
        elif not is_named and not _DERIVED.match(line.name):
            yield from reader.marked(line)


def list_host_events(space: Space, plane: Plane) -> Iterator[Occurrence]:
    """Yield what ran on the threads of a host."""
    reader = _Reader(space, Tables(space, plane), "")
    for line in space.lines(plane):
        yield from reader.marked(line)


class _Reader(Struct, frozen=True):
    """Reads the lines of a plane; `device` is '' where each event says on which it ran."""

    space: Space
    tables: Tables
    device: str

    def runs(self, line: Line) -> Iterator[Run]:
        """Yield the events of a line of whole programs."""
        for event in self.space.events(line):
            begin = line.start_ps + event.offset_ps
            label = read_label(self.tables.name(event.metadata_id))
            marks = self.tables.marks(event.metadata_id, event.stats)
            if label.program is None and marks.program is not None:
                label = Label(label.name, marks.program)
            yield Run(self.device, label, begin, begin + _find_duration(event, marks))

    def named(self, line: Line, runs: Sequence[Run]) -> Iterator[Occurrence]:
        """Yield the events of a line on which each is of an instruction.

        Those that do not say of which program belong to the run in which they begin.
        """
        begins = [run.begin_ps for run in runs]
        for event in self.space.events(line):
            begin = line.start_ps + event.offset_ps
            marks = self.tables.marks(event.metadata_id, event.stats)
            label = Label(marks.module or "", marks.program)
            if marks.program is None:
                place = bisect_right(begins, begin) - 1
                if place >= 0 and runs[place].end_ps >= begin:
                    label = runs[place].label
            op = marks.op or self.tables.name(event.metadata_id)
            yield self._make(label, op, begin, event, marks)

    def marked(self, line: Line) -> Iterator[Occurrence]:
        """Yield the events of a line that say of which instruction they are."""
        for event in self.space.events(line):
            marks = self.tables.marks(event.metadata_id, event.stats)
            if marks.op is not None:
                begin = line.start_ps + event.offset_ps
                label = Label(marks.module or "", marks.program)
                yield self._make(label, marks.op, begin, event, marks)

    def _make(self, label: Label, op: str, begin: int, event: XEvent, marks: Marks) -> Occurrence:
        device = self.device or f"{marks.device or 0}"
        end = begin + _find_duration(event, marks)
        return Occurrence(device, label, op, begin, end, marks.run)


def _find_duration(event: XEvent, marks: Marks) -> int:
    """Return how long an event lasted: by the device's clock where that is known, as XProf does."""
    known = marks.duration_ps
    return max(event.duration_ps if known is None else known, 0)
