"""The two sides of a diff: what did the user type, and what does it hold?"""

from __future__ import annotations

import os

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.answer import SideFacts
from hlotool.compare.saved import SavedFigures
from hlotool.compare.side import DiffSide
from hlotool.errors import NothingCheckedError
from hlotool.fields import InputPaths
from hlotool.inputs import (
    Input,
    Inputs,
    StageChoice,
    find_build,
    find_inputs,
    find_tpu_flags,
    folder_below,
    parse_module_pattern,
    short_path,
)
from hlotool.inputs.saved import SavedModule, make_key, read_saved
from hlotool.inputs.stores.find import relative_path
from hlotool.inputs.stores.remote import is_address
from hlotool.parse.debug_options import parse_debug_options
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.loading import input_paths, load_program
from hlotool.program.program import Program


class Argument(Struct, frozen=True):
    """OLD or NEW as typed: `[label=]PATH`."""

    label: str
    path: str


class Candidate(Struct, frozen=True):
    """One program of a side, not yet read, or one module of a saved document."""

    name: str
    path: str
    input: Input | None = None
    saved: SavedModule | None = None
    schema: str | None = None

    @property
    def place(self) -> str:
        """Where it lies in its directory, if another program there has its name."""
        found = self.saved or self.input
        return found.place if found else ""

    @property
    def folder(self) -> str:
        """Where it lies below the side's path, without XLA's number; '' for a document's."""
        return folder_below(self.input.path, self.path) if self.input and not self.saved else ""

    @property
    def short_place(self) -> str:
        """Where it lies below the side's path, in short, as a summary of a directory says it."""
        if self.input is None or self.saved:
            return self.place
        return short_path(self.input.path, self.path)

    @property
    def path_below(self) -> str:
        """Its file below the side's path, '' for a document's."""
        if self.input is None or self.saved or self.input.path.startswith(f"{self.path}#"):
            return ""
        return relative_path(self.input.path, self.path)

    @property
    def key(self) -> str:
        """Its name, and its place where that is needed to find it again."""
        return make_key(self.name, self.place)

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
    argument: Argument, stage: StageChoice, module: str | None
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Return the programs that a side holds, without reading them, and notes for the user."""
    found = _find(argument.path, stage, module)
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


def _find(path: str, stage: StageChoice, module: str | None) -> Inputs:
    """Find the inputs of a side; the modules of a saved document have their names inside."""
    try:
        return find_inputs(path, stage, module)
    except NothingCheckedError:
        found = find_inputs(path, stage)
        if any(one.document is None for one in found.inputs):
            raise
        return found


def read_pair(
    pair: tuple[Candidate, Candidate], labels: tuple[str, str], assumptions: Assumptions
) -> tuple[tuple[DiffSide, DiffSide], tuple[SideFacts, SideFacts]]:
    """Read both sides of a pair; two dumps of the same bytes are one program, read once."""
    (left, old), chosen = read_side(pair[0], labels[0], assumptions), pair[1].input
    if left.program and chosen and pair[0].input and pair[0].input.is_same_as(chosen):
        right = _read_context(left.program, chosen)
        paths = input_paths(pair[1].path, chosen, with_buffers=True)
        new = replace(old, label=labels[1], input=paths)
    else:
        right, new = read_side(pair[1], labels[1], assumptions)
    return (left, right), (old, new)


def read_side(
    candidate: Candidate, label: str, assumptions: Assumptions = NO_ASSUMPTIONS
) -> tuple[DiffSide, SideFacts]:
    """Read one side of a pair; `assumptions` hold on both."""
    if candidate.saved is not None:
        figures = SavedFigures(candidate.name, candidate.saved.figures, assumptions.machine)
        paths = InputPaths(candidate.path)
        return DiffSide(figures), SideFacts(label, candidate.schema, paths, None)
    if candidate.input is None:
        raise ValueError("a candidate has an input or a saved document")
    program = load_program(
        candidate.input, candidate.path, with_buffers=True, assumptions=assumptions
    )
    facts = program.counts.module if program.module else None
    return _read_context(program, candidate.input), SideFacts(label, None, program.paths, facts)


def _read_context(program: Program, chosen: Input) -> DiffSide:
    """Read what a program was compiled under; the text that XLA was given is read if needed."""
    options = chosen.debug_options
    text = chosen.module or chosen.buffers
    path = text.raw_path if text and not text.part else ""
    tpu_flags = find_tpu_flags(path)
    return DiffSide(
        program,
        flags=parse_debug_options(options.read()) if options else None,
        tpu_flags=parse_debug_options(tpu_flags.read()) if tpu_flags else None,
        before=chosen.before,
        build=find_build(path),
    )


def name_files(facts: SideFacts, side: DiffSide) -> SideFacts:
    """Return the facts with all files that were read by now: of some, only when they are needed."""
    if side.program is None or side.before is None or not side.program.paths.mesh_path:
        return facts
    return replace(facts, input=replace(facts.input, mesh_path=side.before.path))
