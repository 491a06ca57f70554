"""Which fusions were added, removed, split, merged or changed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.fusions.kinds import find_kind
from hlotool.analysis.origin.origin import find_origin
from hlotool.diff.blocks.fold import Change
from hlotool.diff.blocks.fusion_families import Lineage, find_splits, find_successors
from hlotool.diff.blocks.reasons import Reason, Reasoner
from hlotool.diff.match.structure import Structure
from hlotool.ir import Computation, Instruction, Module
from hlotool.program.program import Program

Form: TypeAlias = Literal["split", "merged"]
_LISTED: Final = 4  # opcodes named in what a body gained or lost


class FusionChange(Struct, frozen=True):
    """Fusions that changed alike, `count` of them; names are those of the heaviest.

    `form` tells that one fusion became the several of `right_names`, or several became one.
    Bytes are those read and written in one run of the entry, an unknown trip count taken as
    one; `details` say what differs, the body's operations included.
    """

    change: Change
    form: Form | None
    kind: str | None
    root_opcode: str
    left_names: tuple[str, ...]
    right_names: tuple[str, ...]
    details: tuple[str, ...]
    count: int
    left_instruction_count: int
    right_instruction_count: int
    left_bytes: int
    right_bytes: int
    delta_bytes: int
    delta_flops: int
    op_name: str | None
    scope: str | None
    source_file: str | None
    source_line: int | None

    @property
    def name(self) -> str:
        """The name; where one side has other fusions, both sides."""
        left, right = (" + ".join(side) for side in (self.left_names, self.right_names))
        if not left or not right or left == right:
            return right or left
        return f"{left} → {right}"

    @property
    def what(self) -> str:
        """The details as one text."""
        return "; ".join(self.details)


class _Event(Struct, frozen=True):
    """One change before folding: what stands on each side, and why it counts."""

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


def compare_fusions(
    structure: Structure, reasoner: Reasoner, left: Program, right: Program
) -> tuple[FusionChange, ...]:
    """Compare the fusions of both sides; what moves most bytes more or less comes first.

    A fusion is changed if it differs from its partner, or its body from that one's.
    """
    figures = _Figures(left, right)
    events = _Finder(structure, reasoner, figures).events()
    classes: dict[Hashable, list[_Event]] = {}
    for event in events:
        classes.setdefault(figures.alike(event), []).append(event)
    rows = [figures.row(members) for members in classes.values()]
    rows.sort(key=lambda row: (-abs(row.delta_bytes), -row.count, row.left_names, row.right_names))
    return tuple(rows)


class _Finder:
    """Finds the changes."""

    def __init__(self, structure: Structure, reasoner: Reasoner, figures: _Figures) -> None:
        self.structure = structure
        self.reasoner = reasoner
        self.left = figures.fusions_of(structure.left)
        self.right = figures.fusions_of(structure.right)

    def events(self) -> list[_Event]:
        """List splits and merges, then changed pairs, then what has no partner."""
        reasoner = self.reasoner
        changed = {one: pair for one in self.left if (pair := self._changed(one)) is not None}
        gone = [one for one in self.left if one not in reasoner.pairs]
        new = [one for one in self.right if one not in reasoner.back]
        signatures = self.structure.signatures
        splits = find_splits([*changed, *gone], new, reasoner.pairs, signatures)
        taken = _members(splits)
        backwards = [reasoner.pairs[one] for one in changed if one not in taken]
        backwards += [one for one in new if one not in taken]
        left = [one for one in gone if one not in taken]
        merges = find_splits(backwards, left, reasoner.back, signatures)
        taken |= _members(merges)
        events = [_Event((one.whole,), one.parts, "split") for one in splits]
        events += [_Event(one.parts, (one.whole,), "merged") for one in merges]
        events += [one for left, one in changed.items() if left not in taken]
        gone = [one for one in gone if one not in taken]
        new = [one for one in new if one not in taken]
        successors = find_successors(gone, new, signatures)
        events += [self._became(*pair) for pair in successors.items()]
        taken = {*successors, *successors.values()}
        events += [_Event((one,), ()) for one in gone if one not in taken]
        events += [_Event((), (one,)) for one in new if one not in taken]
        return events

    def _became(self, left: Instruction, right: Instruction) -> _Event:
        """Return what differs between a fusion and the one that does mostly the same now."""
        reasons = self.reasoner.reasons(left, right)
        kept = tuple(one for one in reasons if one.kind != "operands")
        return _Event((left,), (right,), None, kept, self._body_change(left, right))

    def _changed(self, left: Instruction) -> _Event | None:
        """Return what differs between a fusion and its partner, None if nothing does."""
        right = self.reasoner.pairs.get(left)
        if right is None or right.opcode != "fusion":
            return None
        reasons = self.reasoner.reasons(left, right)
        exact = self.reasoner.exact
        if not reasons and exact[left] == exact[right]:
            return None
        return _Event((left,), (right,), None, reasons, self._body_change(left, right))

    def _body_change(self, left: Instruction, right: Instruction) -> str:
        """Say which operations a body gained and lost, else in what they differ."""
        bodies = left.callee(), right.callee()
        if bodies[0] is None or bodies[1] is None:
            return ""
        prints = self.structure.prints.computations
        if prints[bodies[0]] == prints[bodies[1]]:
            return ""
        bags = [self.structure.signatures.bag(body) for body in bodies if body]
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


def _members(lineages: Iterable[Lineage]) -> set[Instruction]:
    return {one for lineage in lineages for one in (lineage.whole, *lineage.parts)}


def _counted(sign: str, bag: Counter[str]) -> list[str]:
    shown = [f"{sign}{count} {opcode}" for opcode, count in sorted(bag.items())[:_LISTED]]
    more = sum(bag.values()) - sum(count for _, count in sorted(bag.items())[:_LISTED])
    return shown + [f"{sign}{more} more"] * bool(more)


class _Figures:
    """What fusions of either side cost in one run, and where they come from."""

    def __init__(self, left: Program, right: Program) -> None:
        self._sides = {side.module: side for side in (left, right)}

    def fusions_of(self, module: Module) -> list[Instruction]:
        """List the executed fusions of a module, callers first."""
        executions = self._sides[module].executions
        return [
            one
            for computation in executions.executed
            for one in computation.instructions
            if one.opcode == "fusion" and one.callee() is not None
        ]

    def alike(self, event: _Event) -> Hashable:
        """Return what folded changes have in common."""
        if event.form or event.change != "changed":
            roots = tuple(_root(one).opcode for one in (*event.left, *event.right))
            sizes = len(event.left), len(event.right)
            return event.change, event.form, roots, sizes, str(event.shown.shape)
        reasons = tuple((one.kind, one.pattern or str(one)) for one in event.reasons)
        return event.change, reasons, event.body, find_kind(event.shown)

    def row(self, members: Sequence[_Event]) -> FusionChange:
        """Make the row of changes that are alike."""
        first = max(members, key=self._weight)
        shown = first.shown
        origin = find_origin(shown, reversed(_root(shown).computation.instructions))
        left_bytes = sum(self._cost(event.left)[0] for event in members)
        right_bytes = sum(self._cost(event.right)[0] for event in members)
        return FusionChange(
            change=first.change,
            form=first.form,
            kind=find_kind(shown),
            root_opcode=_root(shown).opcode,
            left_names=tuple(one.name for one in first.left),
            right_names=tuple(one.name for one in first.right),
            details=(*map(str, first.reasons), *[first.body] * bool(first.body)),
            count=len(members),
            left_instruction_count=_size(first.left),
            right_instruction_count=_size(first.right),
            left_bytes=left_bytes,
            right_bytes=right_bytes,
            delta_bytes=right_bytes - left_bytes,
            delta_flops=sum(self._cost(one.right)[1] - self._cost(one.left)[1] for one in members),
            op_name=origin.op_name,
            scope=origin.scope,
            source_file=origin.source_file,
            source_line=origin.source_line,
        )

    def _weight(self, event: _Event) -> tuple[int, int]:
        left, right = self._cost(event.left)[0], self._cost(event.right)[0]
        return abs(right - left), max(left, right)

    def _cost(self, fusions: Iterable[Instruction]) -> tuple[int, int]:
        """Add up the bytes and flops of one run of the entry."""
        size_bytes = flops = 0
        for one in fusions:
            side = self._sides[one.module]
            runs = side.executions.lower_bound(one.computation)
            cost = side.costs.of(one)
            size_bytes += cost.bytes_accessed * runs
            flops += cost.flops * runs
        return size_bytes, flops


def _root(fusion: Instruction) -> Instruction:
    body = fusion.callee()
    return body.root if body else fusion


def _size(fusions: Iterable[Instruction]) -> int:
    return sum(len(_root(one).computation.instructions) for one in fusions)
