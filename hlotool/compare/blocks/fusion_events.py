"""Which fusions were added, removed, split, merged or changed, one by one?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.compare.blocks.columns import Change
from hlotool.compare.blocks.fusion_families import Bags, Lineage, find_splits, find_successors
from hlotool.compare.blocks.reasons import Reason, Reasoner
from hlotool.compare.match.structure import Structure
from hlotool.ir import Computation, Instruction
from hlotool.ir.opcodes import FREE
from hlotool.program.program import Program

Form: TypeAlias = Literal["split", "merged"]
_NAMED: Final = 2  # fusions of a side named in a row
_LISTED: Final = 4  # opcodes named in what a body gained or lost


class FusionEvent(Struct, frozen=True):
    """One change: the fusions on each side, and why it counts; `body` says how bodies differ."""

    left: tuple[Instruction, ...]
    right: tuple[Instruction, ...]
    form: Form | None = None
    reasons: tuple[Reason, ...] = ()
    body: str = ""

    @property
    def shown(self) -> Instruction:
        """The first of the new side, or of the old one if nothing is left."""
        return (self.right or self.left)[0]

    @property
    def change(self) -> Change:
        """What happened."""
        if not self.left:
            return "added"
        return "changed" if self.right else "removed"

    @property
    def name(self) -> str:
        """The fusion's name; where one side has other fusions, both sides, the first of several."""
        left, right = _names(self.left), _names(self.right)
        if not left or not right or left == right:
            return right or left
        return f"{left} → {right}"


def _names(fusions: Sequence[Instruction]) -> str:
    more = [f"{len(fusions) - _NAMED} more"] if len(fusions) > _NAMED else []
    return " + ".join([*(one.full_name for one in fusions[:_NAMED]), *more])


def find_events(structure: Structure, reasoner: Reasoner) -> list[FusionEvent]:
    """List splits and merges, then changed pairs, then what has no partner.

    A fusion is changed if it differs from its partner, or its body from that one's. One whose
    partner is no fusion was added or removed: what it costs is nowhere else told.
    """
    return _Finder(structure, reasoner).events()


class _Finder:
    """Finds the changes."""

    def __init__(self, structure: Structure, reasoner: Reasoner) -> None:
        self.structure = structure
        self.reasoner = reasoner
        self.left, self.right = map(_list_fusions, structure.programs)
        there = set(self.right)
        paired = ((one, reasoner.pairs.get(one)) for one in self.left)
        self.pairs = {one: other for one, other in paired if other in there}

    def events(self) -> list[FusionEvent]:
        """List splits and merges, then changed pairs, then what has no partner."""
        pairs = self.pairs
        back = {other: one for one, other in pairs.items()}
        changed = {one: pair for one in self.left if (pair := self._changed(one)) is not None}
        gone = [one for one in self.left if one not in pairs]
        new = [one for one in self.right if one not in back]
        signatures = self.structure.signatures
        bags = Bags(signatures)
        splits = find_splits([*changed, *gone], new, pairs, bags)
        taken = _members(splits)
        backwards = [pairs[one] for one in changed if one not in taken]
        backwards += [one for one in new if one not in taken]
        left = [one for one in gone if one not in taken]
        merges = find_splits(backwards, left, back, bags)
        taken |= _members(merges)
        events = [FusionEvent((one.whole,), one.parts, "split") for one in splits]
        events += [FusionEvent(one.parts, (one.whole,), "merged") for one in merges]
        events += [one for left, one in changed.items() if left not in taken]
        gone = [one for one in gone if one not in taken]
        new = [one for one in new if one not in taken]
        successors = find_successors(gone, new, signatures)
        events += [self._became(*pair) for pair in successors.items()]
        taken = {*successors, *successors.values()}
        events += [FusionEvent((one,), ()) for one in gone if one not in taken]
        events += [FusionEvent((), (one,)) for one in new if one not in taken]
        return events

    def _became(self, left: Instruction, right: Instruction) -> FusionEvent:
        """Return what differs between a fusion and the one that does mostly the same now."""
        reasons = self.reasoner.reasons(left, right)
        kept = tuple(one for one in reasons if one.kind != "operands")
        return FusionEvent((left,), (right,), None, kept, self._body_change(left, right))

    def _changed(self, left: Instruction) -> FusionEvent | None:
        """Return what differs between a fusion and its partner, None if nothing does."""
        right = self.pairs.get(left)
        if right is None:
            return None
        reasons = self.reasoner.reasons(left, right)
        exact = self.reasoner.exact
        if not reasons and exact(left) == exact(right):
            return None
        return FusionEvent((left,), (right,), None, reasons, self._body_change(left, right))

    def _body_change(self, left: Instruction, right: Instruction) -> str:
        """Say which operations a body gained and lost, else in what they differ."""
        bodies = left.callee(), right.callee()
        if bodies[0] is None or bodies[1] is None:
            return ""
        number = self.structure.numbers.computation
        if number(bodies[0]) == number(bodies[1]):
            return ""
        bags = [_count_operations(body) for body in bodies if body]
        parts = [*_counted("+", bags[1] - bags[0]), *_counted("−", bags[0] - bags[1])]
        return "body " + (" ".join(parts) or ", ".join(self._kinds(bodies[0])) or "wiring")

    def _kinds(self, body: Computation) -> list[str]:
        """List the kinds of reasons for which instructions of a body differ."""
        pairs, reasons = self.reasoner.pairs, self.reasoner.reasons
        found = {
            reason.kind
            for one in body.instructions
            if one in pairs
            for reason in reasons(one, pairs[one])
        }
        return sorted(found)


def _count_operations(body: Computation) -> Counter[str]:
    """Count what a body computes by opcode, fusions in it by what they do."""
    found: Counter[str] = Counter()
    for one in body.instructions:
        inner = one.callee() if one.opcode == "fusion" else None
        if inner is not None:
            found += _count_operations(inner)
        elif one.opcode not in FREE:
            found[one.opcode] += 1
    return found


def _list_fusions(program: Program) -> list[Instruction]:
    """List the executed fusions of a program, callers first."""
    return [
        one
        for computation in program.executions.executed
        for one in computation.instructions
        if one.opcode == "fusion" and one.callee() is not None
    ]


def _members(lineages: Iterable[Lineage]) -> set[Instruction]:
    return {one for lineage in lineages for one in (lineage.whole, *lineage.parts)}


def _counted(sign: str, bag: Counter[str]) -> list[str]:
    shown = [f"{sign}{count} {opcode}" for opcode, count in sorted(bag.items())[:_LISTED]]
    more = sum(bag.values()) - sum(count for _, count in sorted(bag.items())[:_LISTED])
    return shown + [f"{sign}{more} more"] * bool(more)
