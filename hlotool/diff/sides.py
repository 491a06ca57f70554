"""The two sides of a diff: what the user typed, read, and put in pairs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hlotool.diff.answer import SideFacts
from hlotool.diff.report import DiffSide
from hlotool.diff.saved import SavedFigures
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.fields import InputPaths
from hlotool.inputs import Input, Inputs, StageChoice, find_inputs, parse_module_pattern
from hlotool.inputs.saved import SavedModule, make_key, read_saved
from hlotool.parse.debug_options import parse_debug_options
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.loading import load_program


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
    def key(self) -> str:
        """Its name, and its place where that is needed to find it again."""
        return make_key(self.name, self.place)

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return self.input.size_bytes if self.input else 0


class Pairing(Struct, frozen=True):
    """Programs of both sides that belong together; one is None where there is no other."""

    left: Candidate | None
    right: Candidate | None

    @property
    def name(self) -> str:
        """What the program is called, on the right if both have a name for it."""
        found = self.right or self.left
        return found.name if found else ""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        return sum(side.size_bytes for side in (self.left, self.right) if side)


def parse_argument(text: str, default: str) -> Argument:
    """Read `label=PATH`; a path that exists as it stands has no label."""
    label, equals, path = text.partition("=")
    if equals and label and path and not os.path.exists(text):  # noqa: PTH110  (paths stay strings)
        return Argument(label, path)
    return Argument(default, text)


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


def pair_candidates(
    left: Sequence[Candidate], right: Sequence[Candidate], renamed: Mapping[str, str]
) -> list[Pairing]:
    """Pair programs by name, equal names in order; `renamed` are old names with their new.

    Of equal names in a saved document each belongs first to its own place. If each side has one
    program, these are the pair, whatever they are called. Raises UsageError for an old name that
    the left side does not have, or a new one of the right.
    """
    _check_names(renamed, left, right)
    if len(left) == len(right) == 1:
        return [Pairing(left[0], right[0])]
    waiting: dict[str, list[Candidate]] = {}
    for one in right:
        waiting.setdefault(one.name, []).append(one)
    partners: list[Candidate | None] = [None] * len(left)
    for by_place in (True, False):
        for index, one in enumerate(left):
            others = waiting.get(renamed.get(one.name, one.name), [])
            partners[index] = partners[index] or _take(others, one, by_place=by_place)
    pairs = [Pairing(one, other) for one, other in zip(left, partners, strict=True)]
    pairs += [Pairing(None, one) for others in waiting.values() for one in others]
    return pairs


def _take(others: list[Candidate], one: Candidate, *, by_place: bool) -> Candidate | None:
    """Take the first of others; by place, only one at the same that a saved document tells."""
    for index, other in enumerate(others):
        if not by_place or (one.place == other.place != "" and (one.saved or other.saved)):
            return others.pop(index)
    return None


def _check_names(
    renamed: Mapping[str, str], left: Iterable[Candidate], right: Iterable[Candidate]
) -> None:
    for names, side, candidates in (
        (renamed.keys(), "OLD", left),
        (renamed.values(), "NEW", right),
    ):
        known = {one.name for one in candidates}
        for name in names:
            if name not in known:
                listed = ", ".join(sorted(known)[:8])
                raise UsageError(f"--map: {side} has no module {name!r}; it has {listed}.")


def parse_map(items: Iterable[str]) -> dict[str, str]:
    """Read `--map old=new`, given any number of times."""
    renamed: dict[str, str] = {}
    for item in items:
        old, equals, new = item.partition("=")
        if not (old and equals and new):
            raise UsageError(f"--map {item}: expected OLD_NAME=NEW_NAME.")
        renamed[old] = new
    return renamed


def choose_pair(pairs: Sequence[Pairing], what: str) -> Pairing:
    """Return the one pair there is; raise UsageError if there are several."""
    whole = [pair for pair in pairs if pair.left and pair.right]
    if not whole:
        raise NothingCheckedError("no module has the same name on both sides; pair two with --map.")
    if len(whole) > 1:
        names = ", ".join(sorted(pair.name for pair in whole)[:8])
        raise UsageError(f"{what} takes one module; choose with --module: {names}.")
    return whole[0]


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
    options = candidate.input.debug_options
    flags = parse_debug_options(options.read()) if options else None
    facts = program.counts.module if program.module else None
    return DiffSide(program, flags), SideFacts(label, None, program.paths, facts)


def name_files(facts: SideFacts, side: DiffSide) -> SideFacts:
    """Return the facts with all files that were read by now: of some, only when they are needed."""
    return replace(facts, input=side.program.paths) if side.program else facts
