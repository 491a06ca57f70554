"""Which fusions went into which: split into several, merged into one.

By what they compute: an operation is known by its opcode, dimensions and scope. What a
fusion lost to its partner's absence, a new one may have taken over.

Which fusions were added, removed, split, merged or changed, one by one?

How often did fusions change alike, and what does it cost?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.fusions.rows import FUSION_KINDS, KIND_MEANINGS, find_kind
from hlotool.analysis.origin import Origin, read_origin
from hlotool.compare.changes import instructions as columns
from hlotool.compare.changes.instructions import Change, share_scope
from hlotool.compare.changes.reasons import Reason, Reasoner
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.structure import Structure
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import FREE, OPCODES
from hlotool.program.program import Program
from hlotool.table import BYTES, COUNT, FLOPS, WHOLE, column, figure
from hlotool.table.names import fold_numbers

Bag: TypeAlias = Counter[Hashable]
_HALF: Final = 0.5
_SHARE: Final = 0.6  # of a fusion's operations that must come from, or go to, another
_MOST_MAKERS: Final = 32  # fusions asked whether they had an operation


class Lineage(Struct, frozen=True):
    """`whole` fell into `parts`, or was made of them; its partner, if any, is one of them."""

    whole: Instruction
    parts: tuple[Instruction, ...]


def find_splits(
    wholes: Iterable[Instruction],
    new: Sequence[Instruction],
    partners: Pairs,
    bags: Bags,
) -> tuple[Lineage, ...]:
    """Find fusions whose work several fusions of the other side do now.

    `wholes` are the fusions of one side that changed or are gone, `new` those of the other
    side without partner. Merges are splits seen from the other side. Each new fusion has at
    most one origin: the one that most of it comes from.
    """
    if not new:
        return ()
    losses = {one: bags.of(one) - bags.of(partners.get(one)) for one in wholes}
    makers: dict[Hashable, list[Instruction]] = {}
    for one, bag in losses.items():
        for operation in bag:
            makers.setdefault(operation, []).append(one)
    found: dict[Instruction, list[Instruction]] = {}
    for part in new:
        origin = _find_origin(bags.of(part), makers, losses)
        if origin is not None:
            losses[origin] -= bags.of(part)
            found.setdefault(origin, []).append(part)
    lineages = []
    for whole, parts in found.items():
        partner = partners.get(whole)
        everything = ([partner] if partner else []) + parts
        total = sum(bags.of(whole).values())
        is_most = sum(losses[whole].values()) <= (1 - _SHARE) * total
        if len(everything) > 1 and is_most:
            lineages.append(Lineage(whole, tuple(everything)))
    return tuple(lineages)


def _find_origin(
    bag: Bag, makers: Mapping[Hashable, list[Instruction]], losses: Mapping[Instruction, Bag]
) -> Instruction | None:
    """Return the fusion that lost most of what a new one does."""
    shares: Counter[Instruction] = Counter()
    for operation, count in bag.items():
        for maker in makers.get(operation, ())[:_MOST_MAKERS]:
            shares[maker] += min(count, losses[maker][operation])
    if not shares:
        return None
    origin, shared = shares.most_common(1)[0]
    return origin if shared >= _SHARE * sum(bag.values()) else None


def find_successors(
    gone: Iterable[Instruction], new: Iterable[Instruction], signatures: Signatures
) -> Pairs:
    """Pair fusions without partner that do mostly the same: each is the other's nearest.

    Dimensions do not count, and they share more than half of what the larger one does.
    """
    bags = Bags(signatures, with_dims=False)
    makers: dict[Hashable, list[Instruction]] = {}
    for one in gone:
        for operation in bags.of(one):
            makers.setdefault(operation, []).append(one)
    nearest: dict[Instruction, tuple[float, Instruction]] = {}
    for other in new:
        bag = bags.of(other)
        shares: Counter[Instruction] = Counter()
        for operation, count in bag.items():
            for maker in makers.get(operation, ())[:_MOST_MAKERS]:
                shares[maker] += min(count, bags.of(maker)[operation])
        for one, shared in shares.most_common(1):
            share = shared / max(sum(bag.values()), sum(bags.of(one).values()))
            if share > nearest.get(one, (_HALF, one))[0]:
                nearest[one] = share, other
    return {one: other for one, (_, other) in nearest.items()}


class Bags:
    """What fusions compute."""

    def __init__(self, signatures: Signatures, *, with_dims: bool = True) -> None:
        self._signatures = signatures
        self._with_dims = with_dims
        self._known: dict[Instruction, Bag] = {}

    def of(self, fusion: Instruction | None) -> Bag:
        """Count what a fusion computes by opcode, dimensions and scope; nothing for no fusion."""
        if fusion is None:
            return Counter()
        bag = self._known.get(fusion)
        if bag is None:
            body = fusion.callee()
            inside = body.instructions if body else []
            bag = self._known[fusion] = Counter(
                self._operation(one) for one in inside if one.opcode not in FREE
            )
        return bag

    def _operation(self, one: Instruction) -> Hashable:
        dims = self._signatures.dims(one.shape) if self._with_dims else 0
        return one.opcode, dims, self._signatures.origin(one)


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


_INSIDE: Final = "instructions inside,"
_ACCESSED: Final = "bytes accessed in one run"


class FusionChange(Struct, frozen=True):
    """Fusions that changed alike, `count` of them; names are those of the heaviest.

    `form` tells that one fusion became the several of `right_names`, or several became one.
    Bytes are those read and written in one run of the entry, an unknown trip count taken as
    one; `details` say what differs, the body's operations included.
    """

    change: Annotated[Change, columns.CHANGE]
    count: Annotated[int, columns.ALIKE]
    form: Annotated[
        Form | None,
        column("whether one became several, or several became one", null_text="", give_way=5),
    ]
    name: Annotated[str, column("the fusions, old and new", heading="fusion", wants=WHOLE)]
    kind: Annotated[
        str | None, figure("the fusion kind", words=FUSION_KINDS, word_meanings=KIND_MEANINGS)
    ]
    root_opcode: Annotated[
        str, column("opcode of the body's root", heading="root", words=OPCODES, give_way=4)
    ]
    details: Annotated[tuple[str, ...], figure("what differs, the body's operations included")]
    left_names: Annotated[tuple[str, ...], figure("the fusions" + columns.LEFT)]
    right_names: Annotated[tuple[str, ...], figure("the fusions" + columns.RIGHT)]
    left_instruction_count: Annotated[int, figure(_INSIDE + columns.LEFT, COUNT, heading="old ops")]
    right_instruction_count: Annotated[
        int, figure(_INSIDE + columns.RIGHT, COUNT, heading="new ops")
    ]
    left_bytes: Annotated[int, column(_ACCESSED + columns.LEFT, BYTES, heading="old", give_way=3)]
    right_bytes: Annotated[int, column(_ACCESSED + columns.RIGHT, BYTES, heading="new", give_way=2)]
    delta_bytes: Annotated[int, columns.DELTA_BYTES]
    delta_flops: Annotated[int, figure("flops in one run, right minus left", FLOPS, is_signed=True)]
    op_name: Annotated[str | None, columns.OP_NAME]
    scope: Annotated[str | None, columns.SCOPE]
    source_file: Annotated[str | None, columns.SOURCE_FILE]
    source_line: Annotated[int | None, columns.SOURCE_LINE]
    what: Annotated[str, columns.WHAT]


def compare_fusions(
    structure: Structure, reasoner: Reasoner, left: Program, right: Program
) -> tuple[FusionChange, ...]:
    """Compare the fusions of both sides; what moves most bytes more or less comes first."""
    figures = _Figures(left, right)
    events = find_events(structure, reasoner)
    classes: dict[Hashable, list[FusionEvent]] = {}
    for event in events:
        classes.setdefault(figures.alike(event), []).append(event)
    rows = [figures.row(members) for members in classes.values()]
    rows.sort(key=lambda row: (-abs(row.delta_bytes), -row.count, row.left_names, row.right_names))
    return tuple(rows)


class _Figures:
    """What fusions of either side cost in one run, and where they come from."""

    def __init__(self, left: Program, right: Program) -> None:
        self._sides = {side.module: side for side in (left, right)}

    def alike(self, event: FusionEvent) -> Hashable:
        """Return what folded changes have in common, the scope but for numbers of layers too."""
        scope = fold_numbers(_origin(event.shown).scope or "")
        if event.form or event.change != "changed":
            roots = tuple(_root(one).opcode for one in (*event.left, *event.right))
            sizes = len(event.left), len(event.right)
            return event.change, event.form, roots, sizes, str(event.shown.shape), scope
        reasons = tuple((one.kind, one.pattern or str(one)) for one in event.reasons)
        return event.change, reasons, event.body, find_kind(event.shown), scope

    def row(self, members: Sequence[FusionEvent]) -> FusionChange:
        """Make the row of changes that are alike."""
        first = max(members, key=self._weight)
        shown = first.shown
        origins = [_origin(event.shown) for event in members]
        origin = _origin(shown)
        left_bytes = sum(self._cost(event.left)[0] for event in members)
        right_bytes = sum(self._cost(event.right)[0] for event in members)
        details = (*map(str, first.reasons), *[first.body] * bool(first.body))
        return FusionChange(
            change=first.change,
            count=len(members),
            form=first.form,
            name=first.name,
            kind=find_kind(shown),
            root_opcode=_root(shown).opcode,
            details=details,
            left_names=tuple(one.full_name for one in first.left),
            right_names=tuple(one.full_name for one in first.right),
            left_instruction_count=_size(first.left),
            right_instruction_count=_size(first.right),
            left_bytes=left_bytes,
            right_bytes=right_bytes,
            delta_bytes=right_bytes - left_bytes,
            delta_flops=sum(self._cost(one.right)[1] - self._cost(one.left)[1] for one in members),
            op_name=origin.op_name,
            scope=share_scope(one.scope for one in origins),
            source_file=origin.source_file,
            source_line=origin.source_line,
            what="; ".join(details),
        )

    def _weight(self, event: FusionEvent) -> tuple[int, int]:
        left, right = self._cost(event.left)[0], self._cost(event.right)[0]
        return abs(right - left), max(left, right)

    def _cost(self, fusions: Iterable[Instruction]) -> tuple[int, int]:
        """Add up the bytes and flops of one run of the entry."""
        size_bytes = flops = 0
        for one in fusions:
            side = self._sides[one.module]
            runs = side.executions.lower_bound(one.computation)
            cost = side.costs.of(one)
            size_bytes += cost.memory_bytes * runs
            flops += cost.flops * runs
        return size_bytes, flops


def _origin(fusion: Instruction) -> Origin:
    return read_origin(fusion, reversed(_root(fusion).computation.instructions))


def _root(fusion: Instruction) -> Instruction:
    body = fusion.callee()
    return body.root if body else fusion


def _size(fusions: Iterable[Instruction]) -> int:
    return sum(len(_root(one).computation.instructions) for one in fusions)
