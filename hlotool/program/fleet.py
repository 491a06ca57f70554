"""The rows of many programs, whoever reads them: the figures by which they are ranked.

Processes of this machine read, or the workers of any executor. A program that cannot be read is a
row with an error. Inputs and rows alone go from process to process, and rows alone are kept; what
a file holds is found out where it will be read, so that no text stays in this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool import __version__
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.summary.report import ProgramRow, ProgramStage
from hlotool.dump.files import DumpFile, Input, StageChoice
from hlotool.dump.find import resolve_inputs
from hlotool.dump.names import Stage, short_path, split_file_name
from hlotool.dump.read import display_name
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import InputError
from hlotool.program.load import load_program, note_files
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hlotool.program.row_cache import CachedRow, RowCache

_STAGES: Final[dict[Stage | None, ProgramStage]] = {Stage.BEFORE: "before", Stage.AFTER: "after"}


class Member(Struct, frozen=True):
    """One program, the directory that its place is told from, and what a cache knows it by."""

    chosen: Input
    directory: str
    key: str = ""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return self.chosen.size_bytes

    @property
    def place(self) -> str:
        """Where it lies, in short."""
        return short_path(self.chosen.path, self.directory)


class Measured(Struct, frozen=True):
    """A row, what of the program's files was not understood, and the code of what went wrong."""

    row: ProgramRow
    notes: tuple[str, ...] = ()
    exit_code: int = 0
    is_settled: bool = True  # whether its files were the same before and after they were read


class FleetContext(Struct, frozen=True):
    """With what programs are measured: what the user says, who reads, and what is known."""

    assumptions: Assumptions = NO_ASSUMPTIONS
    executor: Executor | None = None
    cache: RowCache | None = None
    progress: Callable[[int], None] | None = None


def measure_members(members: Sequence[Member], context: FleetContext) -> list[Measured]:
    """Return the row of each program, in order; what the cache knows is not read again."""
    if context.cache is None:
        return _measure(members, context)
    members, known = _look_up(members, context, context.cache)
    if context.progress is not None:
        context.progress(sum(each.size_bytes for each in members if each.key in known))
    measured = iter(_measure([each for each in members if each.key not in known], context))
    return [
        _recall(each, known[each.key]) if each.key in known else next(measured) for each in members
    ]


def _measure(members: Sequence[Member], context: FleetContext) -> list[Measured]:
    """Read programs; each row is kept as it comes."""

    def keep(member: Member, result: Measured | Failure) -> None:
        if context.cache and isinstance(result, Measured) and member.key and result.is_settled:
            context.cache.add(member.key, result.row, result.notes)

    results = map_inputs(
        partial(measure_member, assumptions=context.assumptions, version=__version__),
        members,
        executor=context.executor,
        progress=context.progress,
        keep=keep,
    )
    return [
        _fail(member, result) if isinstance(result, Failure) else result
        for member, result in zip(members, results, strict=True)
    ]


def measure_member(
    member: Member, *, assumptions: Assumptions = NO_ASSUMPTIONS, version: str = __version__
) -> Measured:
    """Read and measure one program; runs in a process of its own, perhaps of another machine.

    Raises what reading and measuring raise, InputError in a worker with another hlotool.
    """
    if version != __version__:
        raise InputError(f"the worker that was to read this has hlotool {__version__}.")
    chosen = member.chosen
    program = load_program(chosen, chosen.path, with_buffers=True, assumptions=assumptions)
    row = measure_program(program, chosen.path, member.place, _STAGES.get(chosen.stage))
    is_settled = not member.key or member.key == _find_key(member, assumptions)
    return Measured(row, note_files(program), is_settled=is_settled)


def measure_program(
    program: Program, path: str, place: str, stage: ProgramStage | None
) -> ProgramRow:
    """Measure one program.

    Memory is that of space 0; an estimate, which the row says, where there is no buffer
    assignment. Raises what the analyses raise.
    """
    row = _add_memory(ProgramRow(program.name, path, place, None, stage), program)
    runs = program.measured_runs
    if runs is not None:
        row = replace(row, measured_count=runs.run_count, measured_seconds=runs.run_seconds)
    if program.module is None:
        return row
    cost, collectives, findings = program.cost, program.collectives.totals, program.findings
    return replace(
        row,
        backend=find_backend(program.module),
        instruction_count=program.module.instruction_count(),
        collective_count=collectives.count,
        wire_bytes_per_run=collectives.wire_bytes_per_run,
        total_flops_per_run=cost.total_flops_per_run,
        finding_count=len(findings),
        worst_finding=findings[0].code if findings else None,
        is_wire_lower_bound=collectives.is_lower_bound,
        is_total_lower_bound=cost.is_total_lower_bound,
        is_wire_upper_bound=collectives.is_upper_bound,
        is_total_upper_bound=cost.is_upper_bound,
    )


def _add_memory(row: ProgramRow, program: Program) -> ProgramRow:
    if program.memory is None:
        return row
    figures = program.memory.figures
    row = replace(row, backend=figures.backend)
    if figures.estimated:
        return replace(
            row,
            allocated_bytes=figures.estimated.allocated_bytes,
            peak_bytes=figures.estimated.peak_bytes,
            is_estimate=True,
            is_memory_lower_bound=figures.estimated.is_lower_bound,
        )
    return replace(
        row,
        allocated_bytes=figures.totals.allocated_bytes,
        temp_bytes=figures.totals.temp_bytes,
        peak_bytes=figures.totals.peak_bytes,
    )


def _fail(member: Member, failure: Failure) -> Measured:
    """Return the row of a program that could not be read."""
    chosen, message = member.chosen, failure.message.partition("\n")[0]
    stage = _STAGES.get(chosen.stage)
    row = ProgramRow(chosen.name, chosen.path, member.place, stage=stage, error=message)
    return Measured(row, exit_code=failure.exit_code)


def _look_up(
    members: Sequence[Member], context: FleetContext, cache: RowCache
) -> tuple[list[Member], dict[str, CachedRow]]:
    """Return the programs with their keys, and what the cache knows of them.

    What cannot be read has no key: it fails again where it is measured.
    """
    find = partial(_find_key, assumptions=context.assumptions)
    keys = map_inputs(find, members, executor=context.executor)
    keyed = [
        member if isinstance(key, Failure) else replace(member, key=key)
        for member, key in zip(members, keys, strict=True)
    ]
    known = cache.take({each.key for each in keyed if each.key})
    # Notes name the files; at another place they would be wrong.
    at_home = {(each.key, each.chosen.path) for each in keyed}
    return keyed, {
        key: row for key, row in known.items() if not row.notes or (key, row.row.path) in at_home
    }


def _find_key(member: Member, assumptions: Assumptions) -> str:
    from hlotool.program.row_cache import find_key  # noqa: PLC0415  only a cache needs it

    return find_key(member.chosen, assumptions)


def _recall(member: Member, known: CachedRow) -> Measured:
    """Return a row of the cache for a program, which may lie elsewhere now."""
    return Measured(replace(known.row, path=member.chosen.path, place=member.place), known.notes)


def measure_paths(
    paths: Iterable[str], stage: StageChoice, context: FleetContext
) -> list[ProgramRow]:
    """Return the rows of files and directories, in order; what is no dump is a row, too."""
    places = [PathToRead(path, _size_of(path)) for path in paths]
    found = map_inputs(partial(find_members, stage=stage), places, executor=context.executor)
    members = [one for each in found if not isinstance(each, Failure) for one in each]
    measured = iter(measure_members(members, context))
    rows: list[ProgramRow] = []
    for place, each in zip(places, found, strict=True):
        if isinstance(each, Failure):
            rows.append(_describe_failed(place.path, each))
        else:
            rows += (one.row for one in islice(measured, len(each)))
    return rows


class PathToRead(Struct, frozen=True):
    """A path, and how much there is to read to find out what it is."""

    path: str
    size_bytes: int


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def find_members(place: PathToRead, stage: StageChoice) -> tuple[Member, ...]:
    """Return the programs of a file or a directory, without the texts where a file has them."""
    found = resolve_inputs(place.path, stage)
    directory = found.path if found.is_directory else os.path.dirname(found.path)  # noqa: PTH120
    return tuple(Member(_forget_text(one), directory) for one in found.inputs)


def _forget_text(chosen: Input) -> Input:
    """Return an input that reads its files when asked."""
    files = {name: getattr(chosen, name) for name in ("module", "buffers", "values")}
    return replace(chosen, **{name: file and _forget(file) for name, file in files.items()})


def _forget(file: DumpFile) -> DumpFile:
    """Drop the text of a whole file; a part of one stays, and so does what cannot be read again."""
    if file.source is None or file.part or not os.path.isfile(file.raw_path):  # noqa: PTH113
        return file
    return replace(file, source=None, is_settled=False)


def _describe_failed(path: str, failure: Failure) -> ProgramRow:
    """Return the row of a path that leads to no program."""
    folder, filename = os.path.split(path)
    shown = display_name(path)
    return ProgramRow(
        split_file_name(filename).name,
        shown,
        short_path(shown, folder),
        error=failure.message.partition("\n")[0],
    )
