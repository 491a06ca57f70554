"""The Python API: load a dump, ask it the questions that the commands ask.

    import hlotool
    dump = hlotool.load(compiled.as_text())
    print(dump.summary().module.instruction_count)

Answers are the frozen records that the commands print; docs/api.md lists them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

from hlotool.errors import NothingCheckedError
from hlotool.fields import InputPaths
from hlotool.inputs import Input, NamedFiles, StageChoice, find_inputs
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment
from hlotool.parse import parse_module
from hlotool.program.loading import Loaded
from hlotool.program.loading import load as load_input
from hlotool.source import Source

if TYPE_CHECKING:  # an analysis is imported when it is asked for
    from hlotool.analysis.collectives.report import CollectiveReport
    from hlotool.analysis.fusions.report import FusionReport
    from hlotool.analysis.memory.figures import MemoryFigures
    from hlotool.analysis.memory.value_rows import BufferRow
    from hlotool.analysis.summary.report import Summary

_TEXT = "<text>"


@runtime_checkable
class Compiled(Protocol):
    """What has a text, such as JAX's `Lowered.compile()`."""

    def as_text(self) -> str:
        """Return the module as HLO text."""


class Buffers(Struct, frozen=True):
    """Memory figures, and the values live at the peak of space 0."""

    memory: MemoryFigures
    rows: tuple[BufferRow, ...]


class Dump(Struct, frozen=True):
    """One program of a dump. `assignment` is None where the dump holds none."""

    module: Module
    assignment: BufferAssignment | None = None
    paths: InputPaths = InputPaths(_TEXT)

    def summary(self) -> Summary:
        """Return what `hlotool summary` shows."""
        from hlotool.analysis.summary.report import summarize  # noqa: PLC0415

        return summarize(self.module, self.assignment)

    def buffers(self) -> Buffers:
        """Return what `hlotool buffers` shows: memory, and who holds it at the peak.

        Rows are empty where nothing says when values are live. Raises InputError for a
        module that is neither scheduled nor has a buffer assignment.
        """
        from hlotool.analysis.memory.report import analyze_memory  # noqa: PLC0415
        from hlotool.analysis.memory.value_rows import rows_at  # noqa: PLC0415

        report = analyze_memory(self.module, self.assignment)
        position = report.figures.peak.position
        found = [] if position is None else rows_at(report, self.module, position, 0)
        return Buffers(report.figures, tuple(found))

    def fusions(self) -> FusionReport:
        """Return what `hlotool fusions` shows."""
        from hlotool.analysis.cost import measure_costs  # noqa: PLC0415
        from hlotool.analysis.fusions.report import find_fusions  # noqa: PLC0415
        from hlotool.analysis.graph.executions import count_executions  # noqa: PLC0415

        executions = count_executions(self.module)
        return find_fusions(self.module, executions, measure_costs(self.module))

    def collectives(self) -> CollectiveReport:
        """Return what `hlotool collectives` shows."""
        from hlotool.analysis.collectives.report import analyze_collectives  # noqa: PLC0415
        from hlotool.analysis.cost import measure_costs  # noqa: PLC0415
        from hlotool.analysis.graph.executions import count_executions  # noqa: PLC0415

        executions = count_executions(self.module)
        return analyze_collectives(self.module, executions, measure_costs(self.module))


def load(
    dump: str | os.PathLike[str] | Compiled,
    *,
    stage: StageChoice = "after",
    module: str | None = None,
    buffers: str | None = None,
    live_range: str | None = None,
    module_text: str | None = None,
) -> Dump:
    """Read one program from a path, from HLO text, or from a compiled JAX function.

    A string with a line break, or one that begins with `HloModule`, is text; any other is a
    path: a file, or a dump directory with one matching module (`module` is a regular
    expression searched in module names). A file's siblings are found by name, or named by
    `buffers`, `live_range` and `module_text`. Raises HlotoolError for anything that is not a
    dump, NothingCheckedError where a directory holds several matching modules.
    """
    if isinstance(dump, Compiled):
        return Dump(parse_module(Source(dump.as_text(), _TEXT)))
    path = os.fspath(dump)
    if isinstance(dump, str) and ("\n" in dump or dump.startswith("HloModule")):
        return Dump(parse_module(Source(dump, _TEXT)))
    named = NamedFiles(buffers, live_range, module_text)
    found = find_inputs(path, stage, module, named)
    if len(found.inputs) > 1:
        names = ", ".join(sorted({one.name for one in found.inputs}))
        raise NothingCheckedError(f"{path} holds several modules ({names}); choose with module=.")
    return _make_dump(load_input(found.inputs[0], path, with_buffers=True))


def load_all(
    directory: str | os.PathLike[str], *, stage: StageChoice = "after", module: str | None = None
) -> list[Dump]:
    """Read every program of a dump directory, in the order of the files' names."""
    path = os.fspath(directory)
    return [_load_one(one, path) for one in find_inputs(path, stage, module).inputs]


def _load_one(found: Input, path: str) -> Dump:
    return _make_dump(load_input(found, path, with_buffers=True))


def _make_dump(loaded: Loaded) -> Dump:
    return Dump(loaded.expect_module(), loaded.assignment, loaded.paths)
