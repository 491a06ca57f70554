"""The fusions that were added, removed, split, merged or changed, folded where they did so alike.

What a fusion computes is a bag of operations, each known by opcode, dimensions and scope. A split
is found by it: what a fusion lost to its counterpart's absence, new ones may have taken over.
Merges are splits seen from the other side.

    old:    fusion.1 {add, tanh, multiply}       new:    fusion.1 {add}   fusion.7 {tanh, multiply}

The counterpart fusion.1 still adds; fusion.7 has all else, so the old fusion was split into both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.fusions.rows import FUSION_KINDS, KIND_MEANINGS, find_kind
from hlotool.analysis.origin import Origin, read_origin
from hlotool.compare.changes import instructions as columns
from hlotool.compare.changes.instructions import Change, share_scope, sides
from hlotool.compare.changes.reasons import Reason, Reasoner
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.structure import Structure
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import FREE, OPCODES
from hlotool.program.program import Program
from hlotool.table import COUNT, column, figure
from hlotool.table.sums import group_by
from hlotool.table.words import fold_numbers

_Bag: TypeAlias = Counter[Hashable]
_Lineages: TypeAlias = Mapping[Instruction, tuple[Instruction, ...]]  # what fell into what
_HALF: Final = 0.5
_SHARE: Final = 0.6  # of a fusion's operations that must come from, or go to, another
_MOST_PRODUCERS: Final = 32  # fusions asked whether they had an operation
_NAMED: Final = 2  # fusions of a side named in a row
_LISTED: Final = 4  # opcodes named in what a body gained or lost
Form: TypeAlias = Literal["split", "merged"]
_INSIDE: Final = sides(figure, "instructions inside,", COUNT, "ops")
_ACCESSED: Final = "bytes accessed per step"


class FusionChange(Struct, frozen=True):
    """Fusions that changed alike, `count` of them; names are those of the heaviest.

    `form` tells that one fusion became the several of `new_names`, or several became one.
    Bytes are those read and written per step of the entry, an unknown trip count taken as
    one; `details` say what differs, the body's operations included.
    """

    change: Annotated[Change, columns.CHANGE]
    count: Annotated[int, columns.ALIKE]
    form: Annotated[
        Form | None, column("whether one became several, or several became one", null_text="")
    ]
    name: Annotated[str, column("the fusions, old and new", heading="fusion")]
    kind: Annotated[
        str | None, figure("the fusion kind", words=FUSION_KINDS, word_meanings=KIND_MEANINGS)
    ]
    root_opcode: Annotated[str, column("opcode of the body's root", heading="root", words=OPCODES)]
    details: Annotated[tuple[str, ...], figure("differences, with the body's operations")]
    old_names: Annotated[tuple[str, ...], figure("the fusions" + columns.OLD)]
    new_names: Annotated[tuple[str, ...], figure("the fusions" + columns.NEW)]
    old_instruction_count: Annotated[int, _INSIDE[0]]
    new_instruction_count: Annotated[int, _INSIDE[1]]
    old_bytes: Annotated[int, column(_ACCESSED + columns.OLD, heading="old")]
    new_bytes: Annotated[int, column(_ACCESSED + columns.NEW, heading="new")]
    delta_bytes: Annotated[int, columns.DELTA_BYTES]
    delta_flops: Annotated[int, figure("flops per step, new minus old", is_signed=True)]
    op_name: Annotated[str | None, columns.OP_NAME]
    scope: Annotated[str | None, columns.SCOPE]
    source_file: Annotated[str | None, columns.SOURCE_FILE]
    source_line: Annotated[int | None, columns.SOURCE_LINE]
    what: Annotated[str, columns.WHAT]


def compare_fusions(structure: Structure, reasoner: Reasoner) -> tuple[FusionChange, ...]:
    """Compare the fusions of both sides; what moves most bytes more or less comes first."""
    figures = _Figures(structure.programs)
    classes = group_by(_Finder(structure, reasoner).events(), _key)
    rows = [figures.row(members) for members in classes.values()]
    rows.sort(key=lambda row: (-abs(row.delta_bytes), -row.count, row.old_names, row.new_names))
    return tuple(rows)


def _key(event: FusionEvent) -> Hashable:
    """Return what folded changes have in common, the scope but for numbers of layers too."""
    scope = fold_numbers(_origin(event.shown).scope or "")
    if event.form or event.change != "changed":
        roots = tuple(_root(one).opcode for one in (*event.old, *event.new))
        sizes = len(event.old), len(event.new)
        return event.change, event.form, roots, sizes, str(event.shown.shape), scope
    reasons = tuple((one.kind, one.pattern or str(one)) for one in event.reasons)
    return event.change, reasons, event.body, find_kind(event.shown), scope


class _Figures:
    """What fusions of either side cost per step, and where they come from."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self._sides = {side.module: side for side in programs}

    def row(self, members: Sequence[FusionEvent]) -> FusionChange:
        """Make the row of changes that are alike."""
        costs = [(self._cost(one.old), self._cost(one.new)) for one in members]
        old_bytes, old_flops = map(sum, zip(*(old for old, _ in costs), strict=True))
        new_bytes, new_flops = map(sum, zip(*(new for _, new in costs), strict=True))
        weights = [(abs(after[0] - before[0]), max(before[0], after[0])) for before, after in costs]
        first = members[weights.index(max(weights))]
        shown = first.shown
        origin = _origin(shown)
        details = tuple(filter(None, (*map(str, first.reasons), first.body)))
        old_size, new_size = (
            sum(len(_root(one).computation.instructions) for one in fusions)
            for fusions in (first.old, first.new)
        )
        return FusionChange(
            change=first.change,
            count=len(members),
            form=first.form,
            name=first.name,
            kind=find_kind(shown),
            root_opcode=_root(shown).opcode,
            details=details,
            old_names=tuple(one.full_name for one in first.old),
            new_names=tuple(one.full_name for one in first.new),
            old_instruction_count=old_size,
            new_instruction_count=new_size,
            old_bytes=old_bytes,
            new_bytes=new_bytes,
            delta_bytes=new_bytes - old_bytes,
            delta_flops=new_flops - old_flops,
            op_name=origin.op_name,
            scope=share_scope(_origin(event.shown).scope for event in members),
            source_file=origin.source_file,
            source_line=origin.source_line,
            what="; ".join(details),
        )

    def _cost(self, fusions: Iterable[Instruction]) -> tuple[int, int]:
        """Add up the bytes and flops of one step of the entry."""
        size_bytes = flops = 0
        for one in fusions:
            side = self._sides[one.module]
            runs = side.executions.lower_bound(one.computation)
            cost = side.costs.of(one)
            size_bytes += cost.traffic_bytes * runs
            flops += cost.flops * runs
        return size_bytes, flops


def _origin(fusion: Instruction) -> Origin:
    return read_origin(fusion, reversed(_root(fusion).computation.instructions))


def _root(fusion: Instruction) -> Instruction:
    body = fusion.callee()
    return body.root if body else fusion


class FusionEvent(Struct, frozen=True):
    """One change: the fusions on each side, and why it counts; `body` says how bodies differ."""

    old: tuple[Instruction, ...]
    new: tuple[Instruction, ...]
    form: Form | None = None
    reasons: tuple[Reason, ...] = ()
    body: str = ""

    @property
    def shown(self) -> Instruction:
        """The first of the new side, or of the old one if nothing is left."""
        return (self.new or self.old)[0]

    @property
    def change(self) -> Change:
        """What happened."""
        return columns.name_change(self.old, self.new)

    @property
    def name(self) -> str:
        """The fusion's name; where one side has other fusions, both sides, the first of several."""
        old, new = _names(self.old), _names(self.new)
        if not old or not new or old == new:
            return new or old
        return f"{old} → {new}"


def _names(fusions: Sequence[Instruction]) -> str:
    more = [f"{len(fusions) - _NAMED} more"] if len(fusions) > _NAMED else []
    return " + ".join([*(one.full_name for one in fusions[:_NAMED]), *more])


class _Finder:
    """Finds the changes.

    A fusion is changed if it differs from its counterpart, or its body from that one's. One whose
    counterpart is no fusion was added or removed: what it costs is nowhere else told. But an
    operation of the other side that stands in a fusion of its own is only wrapped.
    """

    def __init__(self, structure: Structure, reasoner: Reasoner) -> None:
        self.structure = structure
        self.reasoner = reasoner
        self.old, self.new = map(_list_fusions, structure.programs)
        there = set(self.new)
        paired = ((one, reasoner.pairs.get(one)) for one in self.old)
        self.pairs = {one: other for one, other in paired if other in there}

    def events(self) -> list[FusionEvent]:
        """List splits and merges, then changed pairs, then what has no counterpart."""
        pairs = self.pairs
        back = {other: one for one, other in pairs.items()}
        compared = {one: self._compare(one, other) for one, other in pairs.items()}
        changed = {one: event for one, event in compared.items() if event}
        gone, new = (
            [one for one in side if one not in paired and not self._is_wrapping(one, others)]
            for side, paired, others in (
                (self.old, pairs, self.reasoner.pairs),
                (self.new, back, self.reasoner.back),
            )
        )
        bags = _Bags(self.structure.signatures)
        splits = _find_splits([*changed, *gone], new, pairs, bags)
        taken = _members(splits)
        gone = [one for one in gone if one not in taken]
        new = [one for one in new if one not in taken]
        backwards = [pairs[one] for one in changed if one not in taken] + new
        merges = _find_splits(backwards, gone, back, bags)
        taken |= _members(merges)
        gone = [one for one in gone if one not in taken]
        new = [one for one in new if one not in taken]
        # Nothing names these counterparts: what is left is paired only where it does mostly the
        # same.
        successors = _find_successors(gone, new, self.structure.signatures)
        followed = set(successors.values())
        return [
            *(FusionEvent((whole,), parts, "split") for whole, parts in splits.items()),
            *(FusionEvent(parts, (whole,), "merged") for whole, parts in merges.items()),
            *(event for old, event in changed.items() if old not in taken),
            *filter(None, (self._compare(*each, is_follower=True) for each in successors.items())),
            *(FusionEvent((one,), ()) for one in gone if one not in successors),
            *(FusionEvent((), (one,)) for one in new if one not in followed),
        ]

    def _is_wrapping(self, fusion: Instruction, counterparts: Pairs) -> bool:
        """Say whether a fusion is one operation that the other side runs by itself, no kernel."""
        body = fusion.callee()
        work = [one for one in (body.instructions if body else ()) if one.opcode not in FREE]
        if len(work) != 1 or find_kind(fusion) == "kCustom":
            return False
        run = [each for side in self.structure.programs for each in side.executions.executed]
        others = [counterparts.get(one) for one in (fusion, *work)]
        return any(
            one and one.opcode == work[0].opcode and one.computation in run for one in others
        )

    def _compare(
        self, old: Instruction, new: Instruction, *, is_follower: bool = False
    ) -> FusionEvent | None:
        """Return what differs between a fusion and its counterpart, None if nothing does.

        Of one that does mostly the same, other operands say nothing.
        """
        reasons = self.reasoner.reasons(old, new)
        if is_follower:
            reasons = tuple(one for one in reasons if one.kind != "operands")
        elif not reasons and self.reasoner.exact(old) == self.reasoner.exact(new):
            return None
        return FusionEvent((old,), (new,), None, reasons, self._body_change(old, new))

    def _body_change(self, old: Instruction, new: Instruction) -> str:
        """Say which operations a body gained and lost, else in what they differ."""
        here, there = old.callee(), new.callee()
        number = self.structure.numbers.computation
        if here is None or there is None or number(here) == number(there):
            return ""
        before, after = _count_operations(here), _count_operations(there)
        parts = [*_list_counts("+", after - before), *_list_counts("−", before - after)]
        pairs = self.reasoner.pairs
        inside = ((one, pairs[one]) for one in here.instructions if one in pairs)
        kinds = {reason.kind for pair in inside for reason in self.reasoner.reasons(*pair)}
        return "body " + (" ".join(parts) or ", ".join(sorted(kinds)) or "wiring")


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


def _list_counts(sign: str, bag: Counter[str]) -> list[str]:
    ranked = sorted(bag.items())
    more = sum(count for _, count in ranked[_LISTED:])
    shown = [f"{sign}{count} {opcode}" for opcode, count in ranked[:_LISTED]]
    return [*shown, f"{sign}{more} more"] if more else shown


def _members(lineages: _Lineages) -> set[Instruction]:
    return {one for whole, parts in lineages.items() for one in (whole, *parts)}


class _Bags:
    """What fusions compute."""

    def __init__(self, signatures: Signatures, *, with_dims: bool = True) -> None:
        self._signatures = signatures
        self._with_dims = with_dims
        self._known: dict[Instruction, _Bag] = {}

    def of(self, fusion: Instruction | None) -> _Bag:
        """Count what a fusion computes by opcode, dimensions and scope; nothing for no fusion."""
        if fusion is None:
            return Counter()
        if fusion not in self._known:
            body = fusion.callee()
            work = (one for one in (body.instructions if body else ()) if one.opcode not in FREE)
            self._known[fusion] = Counter(map(self._describe, work))
        return self._known[fusion]

    def _describe(self, one: Instruction) -> Hashable:
        dims = self._signatures.dims(one.shape) if self._with_dims else 0
        return one.opcode, dims, self._signatures.origin(one)


class _Producers:
    """Which of some fusions have which operations, to find the one nearest to another bag."""

    def __init__(self, bags: dict[Instruction, _Bag]) -> None:
        self.bags = bags
        self._producers: dict[Hashable, list[Instruction]] = {}
        for one, bag in bags.items():
            for operation in bag:
                self._producers.setdefault(operation, []).append(one)

    def find_nearest(self, bag: _Bag) -> tuple[Instruction | None, int]:
        """Return the fusion with most operations of a bag, and how many; None without any."""
        shares: Counter[Instruction] = Counter()
        for operation, count in bag.items():
            for producer in self._producers.get(operation, ())[:_MOST_PRODUCERS]:
                shares[producer] += min(count, self.bags[producer][operation])
        return next(iter(shares.most_common(1)), (None, 0))


def _find_splits(
    wholes: Iterable[Instruction], new: Sequence[Instruction], counterparts: Pairs, bags: _Bags
) -> _Lineages:
    """Find fusions whose work several fusions of the other side do now.

    `wholes` are the fusions of one side that changed or are gone, `new` those of the other
    side without counterpart. Each new fusion has at most one origin: the one that most of it comes
    from. A whole's counterpart, if any, is the first of its parts.
    """
    if not new:
        return {}
    losses = {one: bags.of(one) - bags.of(counterparts.get(one)) for one in wholes}
    producers = _Producers(losses)
    found: dict[Instruction, list[Instruction]] = {}
    for part in new:
        bag = bags.of(part)
        origin, shared = producers.find_nearest(bag)
        if origin is not None and shared >= _SHARE * bag.total():
            # What one new fusion has taken over, no other may claim.
            losses[origin] -= bag
            counterpart = counterparts.get(origin)
            found.setdefault(origin, [counterpart] if counterpart else []).append(part)
    return {
        whole: tuple(parts)
        for whole, parts in found.items()
        if len(parts) > 1 and losses[whole].total() <= (1 - _SHARE) * bags.of(whole).total()
    }


def _find_successors(
    gone: Iterable[Instruction], new: Iterable[Instruction], signatures: Signatures
) -> Pairs:
    """Pair fusions without counterpart that do mostly the same: each is the other's nearest.

    Dimensions do not count, and they share more than half of what the larger one does.
    """
    bags = _Bags(signatures, with_dims=False)
    producers = _Producers({one: bags.of(one) for one in gone})
    nearest: dict[Instruction, tuple[float, Instruction]] = {}
    for other in new:
        bag = bags.of(other)
        one, shared = producers.find_nearest(bag)
        if one is not None:
            share = shared / max(bag.total(), bags.of(one).total())
            if share > nearest.get(one, (_HALF, one))[0]:
                nearest[one] = share, other
    return {one: other for one, (_, other) in nearest.items()}
