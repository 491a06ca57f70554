"""The rows of many programs, whoever reads them: the figures by which they are ranked.

Processes of this machine read, or the workers of any executor. A program that cannot be read is a
row with an error. Inputs and rows alone go from process to process, and rows alone are kept; what
a file holds is found out where it will be read, so that no text stays in this process.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.summary.report import ProgramRow, ProgramStage
from hlotool.dump.budget import DEFAULT_BUDGET, ByteBudget
from hlotool.dump.files import Input, StageChoice
from hlotool.dump.find import refuse_path, resolve_inputs
from hlotool.dump.identity import Named, find_folder, name_programs, read_arguments
from hlotool.dump.names import Stage, short_path
from hlotool.dump.read import display_name, hide_secrets, read_bytes
from hlotool.dump.saved import SavedModule, read_saved, update_document
from hlotool.dump.workers import Failure, iterate_inputs, map_inputs
from hlotool.errors import InputError, UsageError
from hlotool.program.load import load_program, note_files
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program
from hlotool.table import fields_of
from hlotool.table.words import count_noun
from hlotool.text import Source

if TYPE_CHECKING:
    from concurrent.futures import Executor

Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
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

    @property
    def folder(self) -> str:
        """Where it lies, in every run."""
        return find_folder(self.chosen, self.directory)


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
    budget: ByteBudget = DEFAULT_BUDGET


def measure_members(members: Sequence[Member], context: FleetContext) -> list[Measured]:
    """Return the row of each program, in order; what the cache knows is not read again."""
    if context.cache is None:
        return _measure(members, context)
    members, known = _look_up(members, context, context.cache)
    if context.progress is not None:
        context.progress(sum(each.size_bytes for each in members if each.key in known))
    measured = iter(_measure([each for each in members if each.key not in known], context))
    rows = []
    for each in members:
        if (found := known.get(each.key)) is None:
            rows.append(next(measured))
        else:  # it may lie elsewhere now
            row = replace(found.row, path=each.chosen.path, place=each.place, folder=each.folder)
            rows.append(Measured(row, found.notes))
    return rows


def list_saved(source: Source) -> list[ProgramRow]:
    """Return the programs that a document tells of; figures that it does not hold are None.

    Raises InputError for a document that holds none, or a figure of another type.
    """
    try:
        return [_restore_row(each, source.name) for each in read_saved(source).modules]
    except ValidationError as error:
        raise InputError(f"{source.name}: this document is damaged: {error}.") from error


# The figures of a row that a summary has under the same name in one place.
_SAVED: Final = (
    "backend", "instruction_count", "allocated_bytes", "temp_bytes", "peak_bytes",
    "sent_bytes_per_step", "total_flops_per_step", "is_total_lower_bound",
)  # fmt: skip


def _restore_row(saved: SavedModule, path: str) -> ProgramRow:
    find = saved.figures.record
    module, sent, cost = find("module"), find("collectives"), find("cost")
    estimated, buffers = find("buffers.estimated"), find("buffers")
    memory = estimated or buffers
    held = {**module, **cost, **sent, **buffers, **memory}
    row = {name: held.get(name) for name in _SAVED if held.get(name) is not None} | {
        "module": saved.name,
        "path": path,
        "place": saved.place,
        "program": saved.key or saved.name,
        "is_estimate": bool(estimated),
        "is_memory_lower_bound": memory.get("is_lower_bound", False),
        "collective_count": sent.get("count"),
        "is_sent_lower_bound": sent.get("is_lower_bound", False),
        "is_sent_upper_bound": sent.get("is_upper_bound", False),
        "is_total_upper_bound": cost.get("is_upper_bound", False),
    }
    return convert(row, ProgramRow)


def name_rows(rows: Sequence[ProgramRow]) -> list[ProgramRow]:
    """Call each program as no other of the answer."""
    named = [
        Named(row.module, row.folder, row.place, partial(getattr, row, "arguments")) for row in rows
    ]
    names = name_programs(named)
    return [replace(row, program=name) for row, name in zip(rows, names, strict=True)]


def _look_up(
    members: Sequence[Member], context: FleetContext, cache: RowCache
) -> tuple[list[Member], dict[str, CachedRow]]:
    """Return the programs with their keys, and what the cache knows of them.

    What cannot be read has no key: it fails again where it is measured.
    """
    find = partial(_key_of, assumptions=context.assumptions)
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


def _key_of(member: Member, assumptions: Assumptions) -> str:
    return make_key(member.chosen, assumptions)


def _measure(members: Sequence[Member], context: FleetContext) -> list[Measured]:
    """Read programs; each row is kept as it comes."""
    rows: dict[int, Measured] = {}
    for number, found in iterate_inputs(
        partial(measure_member, assumptions=context.assumptions),
        members,
        executor=context.executor,
        progress=context.progress,
    ):
        member = members[number]
        if isinstance(found, Failure):
            chosen, error = member.chosen, found.message.partition("\n")[0]
            stage = _STAGES.get(chosen.stage)
            row = ProgramRow(chosen.name, chosen.path, member.place, stage=stage, error=error)
            rows[number] = Measured(replace(row, folder=member.folder), exit_code=found.exit_code)
            continue
        if context.cache and member.key and found.is_settled:
            context.cache.add(member.key, found.row, found.notes)
        rows[number] = found
    return [rows[number] for number in range(len(members))]


def measure_member(member: Member, *, assumptions: Assumptions = NO_ASSUMPTIONS) -> Measured:
    """Read and measure one program; runs in a process of its own, perhaps of another machine.

    Raises what reading and measuring raise.
    """
    chosen = member.chosen
    program = load_program(chosen, chosen.path, with_buffers=True, assumptions=assumptions)
    row = measure_program(program, chosen.path, member.place, _STAGES.get(chosen.stage))
    row = replace(row, folder=member.folder, arguments=read_arguments(chosen))
    is_settled = not member.key or member.key == make_key(chosen, assumptions)
    return Measured(row, note_files(program), is_settled=is_settled)


def measure_program(
    program: Program, path: str, place: str, stage: ProgramStage | None
) -> ProgramRow:
    """Measure one program.

    Memory is that of space 0; an estimate, which the row says, where there is no buffer
    assignment. Raises what the analyses raise.
    """
    row = ProgramRow(program.name, path, place, None, stage, fingerprint=program.fingerprint)
    if program.memory is not None:
        figures = program.memory.figures
        found = figures.estimated or figures.totals
        row = replace(
            row,
            backend=figures.backend,
            allocated_bytes=found.allocated_bytes,
            peak_bytes=found.peak_bytes,
            temp_bytes=None if figures.estimated else figures.totals.temp_bytes,
            is_estimate=figures.estimated is not None,
            is_memory_lower_bound=bool(figures.estimated and figures.estimated.is_lower_bound),
        )
    if (runs := program.measured_runs) is not None:
        row = replace(row, measured_count=runs.step_count, measured_seconds=runs.step_seconds)
    if program.module is None:
        return row
    cost, collectives, findings = program.cost, program.collectives.totals, program.findings
    sent: Counter[tuple[str, ...]] = Counter()
    for one in program.collectives.rows:
        sent[one.axes or ()] += one.known_sent_bytes_per_step
    return replace(
        row,
        backend=find_backend(program.module),
        instruction_count=program.module.instruction_count(),
        collective_count=collectives.count,
        sent_bytes_per_step=collectives.sent_bytes_per_step,
        axes=next((axes for axes, size in sent.most_common(1) if axes and size), None),
        total_flops_per_step=cost.total_flops_per_step,
        finding_count=len(findings),
        top_finding=findings[0].id if findings else None,
        is_sent_lower_bound=collectives.is_lower_bound,
        is_total_lower_bound=cost.is_total_lower_bound,
        is_sent_upper_bound=collectives.is_upper_bound,
        is_total_upper_bound=cost.is_upper_bound,
    )


# Paths of which nobody has looked yet what they are.


class PathToRead(Struct, frozen=True):
    """A path, and how much there is to read to find out what it is."""

    path: str
    size_bytes: int


def measure_paths(paths: Paths, stage: StageChoice, context: FleetContext) -> list[ProgramRow]:
    """Return the rows of files and directories, in order; what is no dump is a row, too."""
    members = find_all_members(paths, stage, context)
    return name_rows([each.row for each in measure_members(members, context)])


def find_all_members(paths: Paths, stage: StageChoice, context: FleetContext) -> list[Member]:
    """Return the programs of files and directories; what is no dump is one that says so."""
    chosen = [paths] if isinstance(paths, str | os.PathLike) else paths
    typed = [hide_secrets(os.fspath(one)) for one in chosen]
    places = [PathToRead(path, _size_of(path)) for path in typed]
    find = partial(find_members, stage=stage, budget=context.budget)
    members: list[Member] = []
    for place, found in zip(
        places, map_inputs(find, places, executor=context.executor), strict=True
    ):
        if isinstance(found, Failure):
            refused = refuse_path(place.path, found.message)
            members.append(Member(refused, os.path.dirname(refused.path)))  # noqa: PTH120
        else:
            members += found
    return members


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def find_members(place: PathToRead, stage: StageChoice, budget: ByteBudget) -> tuple[Member, ...]:
    """Return the programs of a file or a directory, without the texts where a file has them."""
    found = resolve_inputs(place.path, stage, budget=budget)
    directory = found.path if found.is_directory else os.path.dirname(found.path)  # noqa: PTH120
    return tuple(Member(forget_text(one), directory) for one in found.inputs)


def forget_text(chosen: Input) -> Input:
    """Return an input that reads its whole files when asked, and no part of one.

    What cannot be read again stays.
    """
    files = {name: getattr(chosen, name) for name in ("module", "buffers", "values")}
    for name, file in files.items():
        if file and file.source and not file.part and os.path.isfile(file.raw_path):  # noqa: PTH113
            chosen = replace(chosen, **{name: replace(file, source=None, is_settled=False)})
    return chosen


# What is known from an earlier run.

ROW_SCHEMA: Final = "hlotool/summary-cache/v2"
_START: Final = json.dumps({"schema": ROW_SCHEMA})[:-3].encode()  # of every line, of any version


class CachedRow(Struct, frozen=True, tag_field="schema", tag=ROW_SCHEMA):
    """A row, and what of its files was not understood; its path is where it was read."""

    key: str
    row: ProgramRow
    notes: tuple[str, ...] = ()


class RowCache:
    """The rows that are known from an earlier run, as JSON Lines.

    There is a row for each content of a program's files, written as it comes, so that a run that
    was ended goes on where it stopped. Lines are added only; the last of a key counts. Where the
    file cannot be written, `notes` say so, and the work goes on.
    """

    def __init__(self, path: str) -> None:
        """Raise UsageError for a file that is no cache, and for one that cannot be opened."""
        self.notes: list[str] = []
        self.path = display_name(path)
        self._is_new = not os.path.exists(path)  # noqa: PTH110
        try:
            if not (self._is_new or stat.S_ISREG(os.stat(path).st_mode)):  # noqa: PTH116
                raise UsageError(f"--cache {self.path}: this is not a file.")
            # Opened now, so that a mistake is told before anything is read.
            self._file = open(path, "a+b", buffering=0)  # noqa: PTH123,SIM115  lives as long
            self._file.seek(0)
            self._data = self._file.read(len(_START))
            if _START.startswith(self._data):
                self._data += self._file.read()
        except (OSError, ValueError) as error:  # the latter of a path that no system has
            why = getattr(error, "strerror", error)
            raise UsageError(f"--cache {self.path}: {why}.") from error
        if not self._data.startswith(_START[: len(self._data)]):
            self._file.close()
            raise UsageError(
                f"--cache {self.path}: this file is not a cache; it was left unchanged."
            )

    def take(self, wanted: Collection[str]) -> dict[str, CachedRow]:
        """Return the rows of the wanted keys that there are, and forget the others."""
        found: dict[str, CachedRow] = {}
        broken = 0
        lines, self._data = self._data.split(b"\n"), b""
        if lines[-1]:  # it was being written when its process ended
            self._write(b"\n")
        for line in filter(None, lines):
            try:
                row = convert(update_document(json.loads(line)), CachedRow)
            except (ValueError, RecursionError):
                broken += 1
                continue
            if row.key in wanted:
                found[row.key] = row
        if broken:
            what = count_noun(broken, "line is", "lines are")
            self.notes.append(f"--cache {self.path}: {what} broken, and skipped.")
        return found

    def add(self, key: str, row: ProgramRow, notes: tuple[str, ...]) -> None:
        """Add a row to the end of the file."""
        self._write(json.dumps(to_builtins(CachedRow(key, row, notes))).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line)
        except OSError as error:
            note = f"--cache {self.path}: {error.strerror}; not all rows were kept."
            self.notes += [note] * (note not in self.notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._is_new and not self._file.tell():
            os.unlink(self._file.name)  # noqa: PTH108
        self._file.close()


@cache
def hash_code() -> str:
    """Return what tells this hlotool from every other, of the same version too: all its files."""
    digest = blake2b(digest_size=20)
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            data = path.read_bytes()
            digest.update(f"{path.relative_to(package)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def make_key(chosen: Input, assumptions: Assumptions) -> str:
    """Return what a row depends on in short: files, the code here, and what the user says.

    Raises InputError where a file cannot be read.
    """
    rules = [
        (each.target.text, repr(each.flops), repr(each.bytes)) for each in assumptions.call_rules
    ]
    names = [field.name for field in fields_of(ProgramRow)]
    said = [hash_code(), names, rules, chosen.name, chosen.stage and chosen.stage.value]
    said.append(repr(assumptions.machine))  # by which findings are ranked
    digest = blake2b(json.dumps(said).encode(), digest_size=20)
    if chosen.measured is not None:
        digest.update(repr((chosen.measured.step_count, chosen.measured.step_seconds)).encode())
    for file in (chosen.module, chosen.buffers, chosen.values, chosen.live_range):
        if file is None:
            data = b""
        elif file.data is not None:
            data = file.data
        elif file.source is not None:  # what was cut out of a file of several
            data = file.source.text.encode("utf-8", "surrogatepass")
        else:
            data = read_bytes(file.raw_path, file.budget)
        digest.update(b"%d %d\n" % (file is not None, len(data)))
        digest.update(data)
    return digest.hexdigest()
