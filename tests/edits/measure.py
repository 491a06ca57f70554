"""What did `diff` find of an edit, and what of it is right?

Counted twice. Pairs: instructions that have a counterpart, against those that kept their line.
Changes: added, removed and changed instructions, against what was edited. Two instructions of
one expression and the same uses stand for each other: either pairing is right.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from edits.listing import Line, Listing, Print, print_listing
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.structure import Structure, compare_structure, list_reached
from hlotool.hlo import Instruction
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source


@dataclass(frozen=True)
class Score:
    """How many were found, are true, and are both; of pairs and of changes."""

    found_pairs: int = 0
    true_pairs: int = 0
    new_pairs: int = 0
    found_changes: int = 0
    true_changes: int = 0
    new_changes: int = 0

    def __add__(self, other: Score) -> Score:
        """Add up two scores."""
        here, there = vars(self).values(), vars(other).values()
        return Score(*(one + another for one, another in zip(here, there, strict=True)))


def judge(base: Listing, edited: Listing, style: Print, seed: int) -> Score:
    """Compare two listings, and count."""
    chooser = random.Random(seed)  # noqa: S311  repeatable on purpose
    old, before = print_listing(base, Print(has_metadata=style.has_metadata), chooser)
    new, after = print_listing(edited, style, chooser)
    programs = [Program("", parse_module(Source(text))) for text in (old, new)]
    return _Judge(compare_structure(*programs), before, after).score()


class _Judge:
    def __init__(
        self, structure: Structure, before: dict[str, Line], after: dict[str, Line]
    ) -> None:
        self.structure = structure
        old, new = structure.programs
        self.here = [one for each in list_reached(old) for one in each.instructions]
        self.there = [one for each in list_reached(new) for one in each.instructions]
        self.before = {one: before[one.name] for one in self.here}
        self.after = {one: after[one.name] for one in self.there}
        places = {self.before[one].origin: one for one in self.here}
        self.truth = {
            places[origin]: one
            for one in self.there
            if (origin := self.after[one].origin) is not None and origin in places
        }
        self.found = structure.counterparts()

    def score(self) -> Score:
        """Count pairs and changes."""
        new = sum(self._is_new(*pair) for pair in self.found.items())
        changes, edits = self._changes(), self._edits()
        return Score(
            len(self.found),
            len(self.truth),
            new,
            changes.total(),
            edits.total(),
            (changes & edits).total(),
        )

    def _is_new(self, old: Instruction, new: Instruction) -> bool:
        true = self.truth.get(old)
        if true is new or (true is not None and self._class(true) == self._class(new)):
            return True
        origin = next((one for one, other in self._back.get(new, ())), None)
        return origin is not None and self._class(origin) == self._class(old)

    @property
    def _back(self) -> dict[Instruction, tuple[tuple[Instruction, Instruction], ...]]:
        back = getattr(self, "_known_back", None)
        if back is None:
            back = {other: ((one, other),) for one, other in self.truth.items()}
            self._known_back = back
        return back

    def _class(self, one: Instruction) -> Hashable:
        numbers = self.structure.numbers
        return numbers.both(one), numbers.computation(one.computation)

    def _edits(self) -> Counter[Hashable]:
        """Return what was done."""
        gone = [one for one in self.here if one not in self.truth]
        new = set(self.there) - set(self.truth.values())
        changed = [one for one, other in self.truth.items() if self.after[other].touched]
        return self._count(gone, list(new), changed)

    def _changes(self) -> Counter[Hashable]:
        """Return what diff says."""
        structure, found = self.structure, self.found
        if structure.is_equal:
            return Counter()
        back = structure.back()
        reasoner = Reasoner(structure)
        gone = [one for one in self.here if one not in found]
        new = [one for one in self.there if one not in back]
        changed = [one for one, other in found.items() if reasoner.reasons(one, other)]
        return self._count(gone, new, changed)

    def _count(
        self, gone: list[Instruction], new: list[Instruction], changed: list[Instruction]
    ) -> Counter[Hashable]:
        kinds = (("removed", gone), ("added", new), ("changed", changed))
        return Counter((kind, self._class(one)) for kind, some in kinds for one in some)
