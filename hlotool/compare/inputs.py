"""The two sides of a diff: what the user typed, what it holds, and under what it was compiled.

A side is a program or saved figures. Before either is parsed, `Content` says how much two programs
have in common.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Machine
from hlotool.analysis.collectives.totals import KindRow
from hlotool.analysis.measured import MEASURED
from hlotool.compare.answer import SideFacts
from hlotool.dump.budget import ByteBudget
from hlotool.dump.files import DumpFile, Input, Inputs, StageChoice
from hlotool.dump.find import parse_module_pattern, resolve_inputs
from hlotool.dump.identity import Identity, Named, find_folder, name_input, read_arguments
from hlotool.dump.mlir import convert_mlir
from hlotool.dump.names import Stage, short_path
from hlotool.dump.read import read_source, relative_path
from hlotool.dump.saved import SavedModule, SavedSummary, read_saved, unpack_program
from hlotool.dump.siblings import find_mlir
from hlotool.dump.stores import is_address
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.errors import HlotoolError, NothingCheckedError
from hlotool.hlo import Module
from hlotool.hlo.attribute_values import drop_metadata
from hlotool.program.load import input_paths, load_program, note_files
from hlotool.program.metrics import METRICS
from hlotool.program.program import NO_ASSUMPTIONS, Assumptions, Program
from hlotool.program.siblings import Flags, read_flags
from hlotool.table import InputPaths, Unit

_FUSION_COUNT: Final = "fusions.fusion_count"
# What is exposed goes by the machine; of another, nothing is known.
_EXPOSED: Final = {"exposed_bytes_per_step": None, "exposed_seconds": None}


class SavedFigures(Struct, frozen=True):
    """A summary, or one module of a baseline; figures it does not hold are None.

    Times, and what is exposed, count only where they were estimated for the `machine` that is
    asked about.
    """

    name: str
    summary: SavedSummary
    machine: Machine | None = None

    def metric(self, path: str) -> object:
        """Return a metric, None where the document does not hold it."""
        block, _, name = path.rpartition(".")
        record = self.summary.record(block)
        is_time = METRICS[path].unit is Unit.SECONDS and block != MEASURED.name
        is_of_machine = is_time or name in _EXPOSED
        if is_of_machine and not self._is_for_machine(record):
            return None
        found = record.get(name)
        return self._count_fusions() if found is None and path == _FUSION_COUNT else found

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        block, _, name = path.rpartition(".")
        record = self.summary.record(block)
        flags = (METRICS[path].lower_flag, "is_upper_bound") if name in record else ("", "")
        return record.get(flags[0]) is True, record.get(flags[1]) is True

    def knows_rows(self, path: str) -> bool:
        """Say no: a saved document holds no rows that budgets could look at."""
        del path
        return False

    def rows(self, path: str) -> Sequence[object]:
        """Return nothing, for every list."""
        del path
        return ()

    def kinds(self) -> tuple[KindRow, ...] | None:
        """Return the collectives by kind, None where the document does not tell all of it."""
        record = self.summary.record("collectives")
        try:
            rows = convert(record.get("by_kind"), tuple[KindRow, ...])
            is_ours = self._is_for_machine(record)
            return rows if is_ours else tuple(replace(row, **_EXPOSED) for row in rows)
        except ValidationError:  # a figure is missing, or it is no number
            return None

    def _is_for_machine(self, record: Mapping[str, object]) -> bool:
        """Whether a record was made for the machine that is asked about, or for none as well."""
        return record.get("machine") == (None if self.machine is None else str(self.machine))

    def _count_fusions(self) -> int | None:
        """Return how many fusions run, which a summary counts among its opcodes."""
        if self.summary.opcodes is None:
            return None
        return {row.opcode: row.executed_count for row in self.summary.opcodes}.get("fusion", 0)


_FIRST_COMPUTATION: Final = re.compile(r"^(?:ENTRY\s|%)", re.MULTILINE)
# What an instruction makes and how: `f32[8,128]{1,0} add(`; of a tuple the last element.
_RESULT: Final = re.compile(r"([a-z0-9]+\[[0-9,<=]*\])(?:\{[^{}]*\})?\)? ([a-z][a-z0-9\-]*)\(")

EQUAL: Final = 2.0  # the likeness of equal contents


class Content(Struct, frozen=True, eq=False):
    """What is compared of a program: its text without notes, and how often it does what.

    `words` count opcodes with the shapes they make.
    """

    text: str
    words: Counter[str]

    def likeness(self, other: Content) -> float:
        """Return what both do, as a share of what either does."""
        either = (self.words | other.words).total()
        return (self.words & other.words).total() / either if either else 0.0


def read_content(one: Input) -> Content | None:
    """Read what is compared of a program; None where it has no text, or none that can be read."""
    if one.module is None:
        return None
    try:
        text = one.module.read().text
    except HlotoolError:  # who reads it to compare it says what is wrong
        return None
    begin = _FIRST_COMPUTATION.search(text)
    body = drop_metadata(text[begin.start() :] if begin else text)
    return Content(body, Counter(" ".join(found) for found in _RESULT.findall(body)))


def read_fingerprint(one: Input) -> str | None:
    """Parse a program, and return its fingerprint; None where it cannot be read."""
    try:
        return load_program(one, one.path).fingerprint
    except HlotoolError:  # who reads it to compare it says what is wrong
        return None


class DiffSide(Struct, frozen=True):
    """One side: a program or the figures a saved document holds, and what it was compiled under.

    `before` is the text that XLA was given, `build` that of the TPU compiler; `stage` is that of
    the text, None where that is unknown; `lowered` is the program in MLIR, as JAX made it.
    """

    figures: Program | SavedFigures
    flags: Flags | None = None
    tpu_flags: Flags | None = None
    before: DumpFile | None = None
    build: int | None = None
    stage: Stage | None = None
    lowered: DumpFile | None = None

    @property
    def program(self) -> Program | None:
        """The program, None where only figures were saved."""
        return self.figures if isinstance(self.figures, Program) else None

    @property
    def module(self) -> Module | None:
        """The module, None where the side has none."""
        return self.program.module if self.program else None

    def find_words(self) -> frozenset[str]:
        """Return the opcodes that its text holds."""
        return self.program.find_words() if self.program else frozenset()

    def kinds(self) -> tuple[KindRow, ...] | None:
        """Return its collectives by kind, None where they are unknown."""
        if isinstance(self.figures, SavedFigures):
            return self.figures.kinds()
        return self.figures.collectives.totals.by_kind if self.figures.module else None

    def notes(self) -> tuple[str, ...]:
        """Say what of its files was not understood."""
        return note_files(self.program) if self.program else ()


def level_sides(sides: Sequence[DiffSide]) -> list[DiffSide]:
    """Estimate memory on all sides where only some have a buffer assignment.

    A side that only saved figures, or a program without its text, stays as it is.
    """
    programs = [side.program for side in sides if side.program and side.program.module]
    known = [one.assignment is not None for one in programs]
    if all(known) or not any(known):
        return list(sides)
    return [
        replace(side, figures=side.program.without_assignment())
        if side.program and side.program.module
        else side
        for side in sides
    ]


class Argument(Struct, frozen=True):
    """OLD or NEW as typed: `[label=]PATH`."""

    label: str
    path: str


_NUMBER: Final = re.compile(r" ?#[0-9]+$")  # XLA's, in a place


class Candidate(Struct, frozen=True):
    """One program of a side, not yet read, or one module of a saved document."""

    name: str
    path: str
    input: Input | None = None
    saved: SavedModule | None = None
    schema: str | None = None

    @property
    def folder(self) -> str:
        """Where it lies below the side's path, without XLA's number; '' where that was not kept."""
        if self.saved or self.input is None:
            return self.identify().folder
        return find_folder(self.input, self.path)

    @property
    def place(self) -> str:
        """Where it lies below the side's path, in short, as a summary of a directory says it."""
        if self.saved or self.input is None:
            return self.saved.place if self.saved else ""
        return short_path(self.input.path, self.path)

    def identify(self) -> Identity:
        """Read what it is given; the fingerprint only where a document has it."""
        if self.saved or self.input is None:
            older = Identity(self.name, _NUMBER.sub("", self.place))
            return (self.saved.identity if self.saved else None) or older
        return Identity(self.name, self.folder, read_arguments(self.input))

    @property
    def call_key(self) -> tuple[str, str, tuple[str, ...] | None]:
        """What a later run knows it by, but for its content."""
        return self.name, self.folder, self.identify().arguments

    def named(self) -> Named:
        """Return what is known of it, to be named."""
        if self.saved or self.input is None:
            found = self.identify()
            return Named(self.name, found.folder, self.place, lambda: found.arguments)
        return name_input(self.input, self.path)

    @property
    def path_below(self) -> str:
        """Its file below the side's path, '' for a document's."""
        if self.input is None or self.saved or self.input.path.startswith(f"{self.path}#"):
            return ""
        return relative_path(self.input.path, self.path)

    @property
    def key(self) -> str:
        """What its document calls it, else its name, and its folder if it has one."""
        found = self.saved.key if self.saved else ""
        return found or "/".join(filter(None, (self.folder, self.name)))

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return self.input.size_bytes if self.input else 0


def parse_argument(text: str, default: str) -> Argument:
    """Read `label=PATH`; a path that exists as it stands has no label."""
    label, equals, path = text.partition("=")
    is_path = is_address(text) or os.path.exists(text)  # noqa: PTH110  (paths stay strings)
    if equals and label and path and not is_path:
        return Argument(label, path)
    return Argument(default, text)


def name_path(text: str) -> str:
    """Return what a side without a label is called: the last part of its path."""
    return os.path.basename(os.path.normpath(text))  # noqa: PTH119  (paths stay strings)


def find_candidates(
    argument: Argument, stage: StageChoice, module: str | None, budget: ByteBudget
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Return the programs that a side holds, without reading them, and notes for the user."""
    found = _find(argument.path, stage, module, budget)
    candidates: list[Candidate] = []
    for one in found.inputs:
        if one.document is None:
            candidates.append(Candidate(one.name, argument.path, input=one))
            continue
        pattern = parse_module_pattern(module)
        saved = read_saved(one.document.read())
        candidates += [
            Candidate(each.name, argument.path, one, each, saved.schema)
            for each in saved.modules
            if pattern is None or pattern.is_found(each.name)
        ]
    if not candidates:
        of = f" that --module {module!r} matches" if module else ""
        raise NothingCheckedError(f"{argument.path}: this document has no module{of}.")
    return tuple(candidates), tuple(found.notes)


def _find(path: str, stage: StageChoice, module: str | None, budget: ByteBudget) -> Inputs:
    """Find the inputs of a side; the modules of a saved document have their names inside."""
    try:
        return resolve_inputs(path, stage, module, budget=budget)
    except NothingCheckedError:
        found = resolve_inputs(path, stage, budget=budget)
        if any(one.document is None for one in found.inputs):
            raise
        return found


def read_pair(
    pair: tuple[Candidate, Candidate], labels: tuple[str, str], assumptions: Assumptions
) -> tuple[tuple[DiffSide, DiffSide], tuple[SideFacts, SideFacts]]:
    """Read both sides of a pair; two dumps of the same bytes are one program, read once."""
    (old, before), chosen = read_side(pair[0], labels[0], assumptions), pair[1].input
    if old.program and chosen and pair[0].input and pair[0].input.is_same_as(chosen):
        new = read_context(old.program, chosen)
        paths = input_paths(pair[1].path, chosen, with_buffers=True)
        after = replace(before, label=labels[1], input=paths)
    else:
        new, after = read_side(pair[1], labels[1], assumptions)
    return (old, new), (before, after)


def read_side(
    candidate: Candidate, label: str, assumptions: Assumptions = NO_ASSUMPTIONS
) -> tuple[DiffSide, SideFacts]:
    """Read one side of a pair; `assumptions` hold on both."""
    if candidate.saved is not None:
        saved, before = candidate.saved.figures, None
        figures = SavedFigures(candidate.name, saved, assumptions.machine)
        paths = InputPaths(candidate.path)
        if saved.input_program:
            source = unpack_program(saved.input_program, f"{candidate.path}#{candidate.key}")
            before = DumpFile(candidate.path, source=source, is_settled=True)
        return DiffSide(figures, before=before), SideFacts(label, candidate.schema, paths, None)
    if candidate.input is None:
        raise ValueError("a candidate has an input or a saved document")
    program = load_program(
        candidate.input, candidate.path, with_buffers=True, assumptions=assumptions
    )
    facts = program.counts.module if program.module else None
    return read_context(program, candidate.input), SideFacts(label, None, program.paths, facts)


def read_context(program: Program, chosen: Input) -> DiffSide:
    """Read what a program was compiled under; the text that XLA was given is read if needed."""
    found, text, before = read_flags(chosen), chosen.module, chosen.before
    lowered = find_mlir(text.raw_path, text.budget) if text and not text.part else None
    context = found.printed, found.tpu, before, found.build, chosen.stage, lowered
    return DiffSide(program, *context)


def take_lowered(sides: Sequence[DiffSide]) -> tuple[list[DiffSide], str]:
    """Take MLIR for the texts before optimization where one is missing, and say so.

    On both sides or on none: the converter's HLO says of meshes something else than XLA's text.
    """
    files = [side.lowered for side in sides if side.lowered]
    if all(side.before for side in sides) or len(files) < len(sides):
        return list(sides), ""
    found = []
    for side, file in zip(sides, files, strict=True):
        try:
            source = read_source(file.raw_path, file.budget)
            if detect_kind(source.text).kind is TextKind.MLIR:
                source = convert_mlir(source.text.encode(), source.name)
        except HlotoolError as error:
            return list(sides), f"the input programs: {error.lines[0].rstrip('.')}"
        found.append(replace(side, before=replace(file, source=source, is_settled=True)))
    return found, _LOWERED


_LOWERED: Final = "the text before optimization; the unoptimized module.mlir is read instead"


def count_devices(old: DiffSide, new: DiffSide) -> tuple[int, int]:
    """Count the devices whose figures have to be added up for those of the whole programs.

    A text before partitioning is of all partitions. 1 on both sides that run on equally many, or
    where one is no program.
    """
    if old.module is None or new.module is None:
        return 1, 1
    headers = old.module.header, new.module.header
    counts = [header.device_count or 1 for header in headers]
    if {old.stage, new.stage} == {Stage.BEFORE, Stage.AFTER}:
        place = int(new.stage is Stage.BEFORE)
        counts[place] = headers[place].replica_count or 1
    return (1, 1) if counts[0] == counts[1] else (counts[0], counts[1])


def name_files(facts: SideFacts, side: DiffSide) -> SideFacts:
    """Return the facts with all files that were read by now: of some, only when they are needed."""
    if side.program is None or side.before is None or not side.program.paths.mesh_path:
        return facts
    return replace(facts, input=replace(facts.input, mesh_path=side.before.path))
