"""The instructions that were added, removed or changed, and how many only moved.

What several lists of a diff say of a change stands first: its kind, its bytes, where it comes from.
The same change at many places (48 layers) is one row that counts them. An added or removed
instruction that calls a computation stands for what is inside it. A change inside a fused
computation is a row of its own; the fusion that calls it has none unless it differs itself. Last
what two profiles say: which instruction lost the time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from hlotool.analysis.dataflow.copies import CopyReader
from hlotool.analysis.dataflow.flow import Flow
from hlotool.analysis.measured import MeasuredInstruction
from hlotool.analysis.origin import find_scope
from hlotool.compare.changes.reasons import REASON_MEANINGS, Reason, Reasoner, describe_shape
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.structure import ComputationPair, Structure
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import FREE, GIVEN, MOVES, OPCODES
from hlotool.program.program import Program
from hlotool.table import BYTES, NUMBER, PERCENT, SECONDS, TIMES, Unit, column, figure
from hlotool.table.sums import group_by
from hlotool.table.words import ANY, share_path

N = TypeVar("N", int, float)
Change: TypeAlias = Literal["added", "removed", "changed"]
Bounds: TypeAlias = tuple[bool, bool]  # whether a figure is a lower, and an upper bound

OLD: Final = " on the old side"
NEW: Final = " on the new side"

CHANGE: Final = column(
    "what happened",
    word_meanings={
        "added": "only the new side has it",
        "removed": "only the old side has it",
        "changed": "both sides have it, and it differs",
    },
)
ALIKE: Final = column("number of equal changes", TIMES, heading="count")
WHAT: Final = column(
    "the details as one text",
    is_below=True,
    null_text="",
    shown=lambda row: row.what and f"{row.change.replace('changed', 'differs')}: {row.what}",
)
DELTA_BYTES: Final = column("new minus old", BYTES, heading="difference", is_signed=True)
RELATIVE_DELTA: Final = column(
    "the difference relative to the old side", PERCENT, heading="%", is_signed=True, null_text=""
)

OP_NAME: Final = figure("its op_name, the name that tracing gave it")
SCOPE: Final = column(
    "module path in the user's program; of folded rows, the common part", null_text="", is_path=True
)
SOURCE_FILE: Final = figure("file of the user's program")
SOURCE_LINE: Final = figure("line in that file", NUMBER)


def sides(
    declare: Callable[..., Meta], meaning: str, unit: Unit | None, heading: str, **options: object
) -> tuple[Meta, Meta]:
    """Declare the figure of the old side, and that of the new side, which differ in words alone."""
    old = declare(meaning + OLD, unit, heading=f"old {heading}".strip(), **options)
    return old, declare(meaning + NEW, unit, heading=f"new {heading}".strip(), **options)


def name_change(old: object, new: object) -> Change:
    """Say what happened to something that a side may not have."""
    if not old:
        return "added"
    return "changed" if new else "removed"


def subtract(new: N | None, old: N | None) -> N | None:
    """Return new minus old, None where a side is unknown."""
    return None if new is None or old is None else new - old


def subtract_bounds(new: Bounds, old: Bounds) -> Bounds:
    """Return the bounds of new minus old: the less was before, the larger it is."""
    return new[0] or old[1], new[1] or old[0]


def share_scope(scopes: Iterable[str | None]) -> str | None:
    """Return what scopes have in common, a star where they have nothing; None if none is known.

    An unknown one shares nothing with others: a blank says unknown, never several.

    >>> share_scope(["layer_0/mlp", "layer_1/mlp"]), share_scope(["mlp", None])
    ('layer_*/mlp', '*')
    """
    found = list(scopes)
    return share_path([scope or ANY for scope in found]) if any(found) else None


_SIZES: Final = sides(figure, "size of the results", BYTES, "", null_text="")


class InstructionChange(Struct, frozen=True):
    """One change, `count` times; names, shapes and sources are those of the heaviest.

    `reasons` are kinds, `details` the same with both sides. Bytes are those of the results,
    all `count` together; null on the side that has none, or where a size is unknown.
    `is_fused` says that it happened inside a fusion or another embedded computation.
    """

    change: Annotated[Change, CHANGE]
    count: Annotated[int, ALIKE]
    opcode: Annotated[str, column("the opcode; if it changed, the new one", words=OPCODES)]
    reasons: Annotated[
        tuple[str, ...],
        figure("differences: shape, dtype, layout, operands, …", word_meanings=REASON_MEANINGS),
    ]
    details: Annotated[
        tuple[str, ...], figure("the reasons with the values of both sides, for the largest rows")
    ]
    name: Annotated[str, column("the new name; the old one if removed", heading="instruction")]
    computation: Annotated[str, figure("the computation that holds it")]
    old_name: Annotated[str | None, figure("its name" + OLD)]
    new_name: Annotated[str | None, figure("its name" + NEW)]
    is_fused: Annotated[bool, figure("whether it runs inside a fusion or reducer", heading="fused")]
    old_shape: Annotated[str | None, figure("shape of the result" + OLD)]
    new_shape: Annotated[str | None, figure("shape of the result" + NEW)]
    old_bytes: Annotated[int | None, _SIZES[0]]
    new_bytes: Annotated[int | None, _SIZES[1]]
    delta_bytes: Annotated[int | None, DELTA_BYTES]
    op_name: Annotated[str | None, OP_NAME]
    scope: Annotated[str | None, SCOPE]
    source_file: Annotated[str | None, SOURCE_FILE]
    source_line: Annotated[int | None, SOURCE_LINE]
    what: Annotated[str, WHAT]  # of what is new or gone the shape


class Found(Struct, frozen=True):
    """One change before folding; one side is None where an instruction is new or gone."""

    old: Instruction | None
    new: Instruction | None
    reasons: tuple[Reason, ...] = ()

    @property
    def shown(self) -> Instruction:
        """The instruction that the row describes: the new one, or the one that is gone."""
        found = self.new or self.old
        assert found is not None  # noqa: S101  one side is always there
        return found

    @property
    def change(self) -> Change:
        """What happened."""
        return name_change(self.old, self.new)


# These move no data; what they lead to is told by other rows.
_WEIGHTLESS: Final = FREE | {"after-all"}


class _Folder:
    """Makes rows of changes, weighing each by the bytes its results take per step."""

    def __init__(self, programs: Collection[Program]) -> None:
        self._sides = {side.module: side.executions for side in programs}
        self._copies = {
            side.module: CopyReader(side.module, Flow(side.graph))
            for side in programs
            if side.module
        }

    def rows(self, found: Iterable[Found], *, is_folded: bool) -> tuple[InstructionChange, ...]:
        """Fold what changed alike; what moves most bytes comes first, ties by name."""
        classes = group_by(found, self._alike if is_folded else lambda one: (one.shown,))
        weighed = []
        for members in classes.values():
            # The heaviest lends the row its name, shapes and source.
            members.sort(key=self._weight, reverse=True)
            row = _row(members, is_fused=not self._runs(members[0].shown))
            if row.change != "changed" and row.opcode in MOVES and not row.is_fused:
                shown = members[0].shown
                why = self._copies[shown.module].read(shown).because
                row = replace(row, what=f"{row.what}{why}")
            weighed.append((sum(map(self._weight, members)), row))
        weighed.sort(key=lambda one: (one[1].is_fused, -one[0], one[1].opcode, one[1].name))
        return tuple(row for _, row in weighed)

    def _alike(self, one: Found) -> tuple[object, ...]:
        """Return what folded changes have in common."""
        shape = "" if one.old and one.new else str(one.shown.shape)
        reasons = tuple((each.kind, each.pattern or str(each)) for each in one.reasons)
        return one.change, one.shown.opcode, reasons, shape, not self._runs(one.shown)

    def _runs(self, instruction: Instruction) -> int:
        """Count the runs of an instruction, 0 where it runs only as part of another."""
        return self._sides[instruction.module].lower_bound(instruction.computation)

    def _weight(self, one: Found) -> int:
        sizes = (side.shape.size_bytes or 0 for side in (one.old, one.new) if side)
        is_weightless = one.shown.opcode in _WEIGHTLESS
        return 0 if is_weightless else max(sizes) * max(1, self._runs(one.shown))


def _row(members: Sequence[Found], *, is_fused: bool) -> InstructionChange:
    first, shown = members[0], members[0].shown
    old, new = first.old, first.new
    old_bytes = _add_up(one.old for one in members)
    new_bytes = _add_up(one.new for one in members)
    old_shape = describe_shape(old.shape) if old else None
    new_shape = describe_shape(new.shape) if new else None
    is_known = None not in (old_bytes if old else 0, new_bytes if new else 0)
    details = tuple(map(str, first.reasons))
    op_names = [one.shown.metadata().op_name for one in members]
    place = shown.source_location()
    return InstructionChange(
        change=first.change,
        count=len(members),
        opcode=shown.opcode,
        reasons=tuple(reason.kind for reason in first.reasons),
        details=details,
        name=shown.full_name,
        computation=shown.computation.name,
        old_name=old.full_name if old else None,
        new_name=new.full_name if new else None,
        is_fused=is_fused,
        old_shape=old_shape,
        new_shape=new_shape,
        old_bytes=old_bytes,
        new_bytes=new_bytes,
        delta_bytes=(new_bytes or 0) - (old_bytes or 0) if is_known else None,
        op_name=op_names[0] or None,
        scope=share_scope(find_scope(name) if name else None for name in op_names),
        source_file=place.file if place else None,
        source_line=place.line if place else None,
        what="; ".join(details) or new_shape or old_shape or "",
    )


def _add_up(instructions: Iterable[Instruction | None]) -> int | None:
    """Add the results' bytes; None for the side that has none, or if one is unknown."""
    sizes = [one.shape.size_bytes if one else None for one in instructions]
    return None if None in sizes else sum(size for size in sizes if size is not None)


class InstructionDiff(Struct, frozen=True):
    """All changes, those that weigh most first, and how many instructions have counterparts.

    The counts are of instructions, those inside fusions included: each side's, and the old side
    ones with a counterpart. What belongs to no execution (dead computations) is not counted.
    Copies of what stands in a loop on the other side are neither, nor do they have rows.
    """

    rows: tuple[InstructionChange, ...]
    matched_count: int
    changed_count: int
    old_only_count: int
    new_only_count: int
    copied_count: int


def compare_instructions(
    structure: Structure, reasoner: Reasoner, *, is_folded: bool = True
) -> InstructionDiff:
    """List what changed, each once however often its computation is compared.

    Follows the pairs of `compare_structure`; raises nothing of its own.
    """
    pairs, back = reasoner.pairs, reasoner.back
    found = [] if structure.is_equal else _find(structure, reasoner)
    copies = structure.copies
    rows = _Folder(structure.programs).rows(found, is_folded=is_folded) if found else ()
    # Of a computation that several on the other side are like, one has the counterpart.
    once = {old: new for old, new in pairs.items() if back.get(new) is old}
    return InstructionDiff(
        rows,
        matched_count=len(once),
        changed_count=sum(1 for one in found if one.reasons),
        old_only_count=_alone(structure, once.keys() | copies.keys(), is_old=True),
        new_only_count=_alone(structure, {*once.values(), *copies}, is_old=False),
        copied_count=len(copies.keys() - once.keys() - set(once.values())),
    )


def _find(structure: Structure, reasoner: Reasoner) -> list[Found]:
    """List every change; an instruction compared twice is told of once."""
    found: dict[Instruction, Found] = {}
    copies = structure.copies
    for pair in structure.computations:
        if pair.is_equal:
            continue
        for old in pair.old.instructions:
            new = pair.pairs.get(old)
            if old in found:
                continue
            if new is not None:
                _add_changed(old, new, reasoner, found)
            elif not (old in reasoner.pairs or old in copies or _is_told(old, reasoner.pairs)):
                found[old] = Found(old, None)
        for new in pair.new_only():
            if not (new in reasoner.back or new in copies or _is_told(new, reasoner.back)):
                found[new] = Found(None, new)
    for old, new in structure.moved.items():  # to another computation
        _add_changed(old, new, reasoner, found)
    return list(found.values())


def _add_changed(
    old: Instruction, new: Instruction, reasoner: Reasoner, found: dict[Instruction, Found]
) -> None:
    """Add a pair that differs, but a `done` only where its start's own change explains it not."""
    reasons = reasoner.reasons(old, new)
    start = found.get(old.operands[0]) if _is_done(old) else None
    told = {reason.kind for reason in start.reasons} | {"operands"} if start else set()
    if reasons and (start is None or not {reason.kind for reason in reasons} <= told):
        found[old] = Found(old, new, reasons)


def _is_done(one: Instruction) -> bool:
    return one.opcode.endswith("-done") and bool(one.operands)


def _is_told(one: Instruction, paired: Pairs) -> bool:
    """Say whether this is the `done` of a start whose own row tells of it.

    That start has no counterpart either, or one synchronous operation does its work.
    """
    counterpart = paired.get(one.operands[0]) if _is_done(one) else None
    return _is_done(one) and (counterpart is None or counterpart.opcode != one.operands[0].opcode)


def _alone(structure: Structure, paired: Container[Instruction], *, is_old: bool) -> int:
    """Count the instructions of one side that have no counterpart."""
    seen = {pair.old if is_old else pair.new for pair in structure.computations}
    seen.update(structure.old_only if is_old else structure.new_only)
    return sum(one not in paired for computation in seen for one in computation.instructions)


class OrderChange(Struct, frozen=True):
    """`moved_count` of `matched_count` paired instructions stand elsewhere in the sequence.

    It is the least number that one would have to move; `computation` is where most moved.
    """

    moved_count: Annotated[int, figure("instructions at another place in the schedule")]
    matched_count: Annotated[int, figure("instructions that have counterparts")]
    computation: Annotated[str, figure("the computation in which most moved")]


def compare_order(pairs: Iterable[ComputationPair]) -> OrderChange | None:
    """Count what moved inside its computation; None where nothing did.

    Parameters and constants have no place in an execution and are left out.
    """
    moved_count = matched_count = most = 0
    computation = ""
    for pair in pairs:
        places = {one: place for place, one in enumerate(pair.new.instructions)}
        sequence = [
            places[pair.pairs[one]]
            for one in pair.old.instructions
            if one in pair.pairs and one.opcode not in GIVEN
        ]
        moved = len(sequence) - _measure_rise(sequence)
        moved_count += moved
        matched_count += len(sequence)
        if moved > most:
            most, computation = moved, pair.old.name
    return OrderChange(moved_count, matched_count, computation) if moved_count else None


def _measure_rise(numbers: Sequence[int]) -> int:
    """Return the length of the longest strictly rising subsequence, in n log n.

    `ends` has, for each length, the least number that a subsequence so long can end in: of
    3 1 2 that is [3], [1], [1, 2].
    """
    ends: list[int] = []
    for number in numbers:
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)


_TIMES: Final = sides(column, "measured time per step on one device", SECONDS, "", null_text="")


class MeasuredChange(Struct, frozen=True):
    """An instruction and its counterpart, or one without: null is the side that has none."""

    name: Annotated[str, column("the new name; the old one if removed", heading="instruction")]
    opcode: Annotated[str, column("the opcode, of the new side", words=OPCODES)]
    old_seconds: Annotated[float | None, _TIMES[0]]
    new_seconds: Annotated[float | None, _TIMES[1]]
    delta_seconds: Annotated[
        float, column("new minus old", heading="difference", is_signed=True, is_summed=True)
    ]
    source: Annotated[str | None, column("the source line, without directories")]


def compare_measured(structure: Structure) -> tuple[MeasuredChange, ...]:
    """Return the times of two profiles that differ, the largest difference first.

    () where a side has none, or nothing tells how many runs were measured.
    """
    old, new = (
        {row.name: row for row in one.measured_instructions if row.measured_seconds is not None}
        for one in structure.programs
    )
    if not old or not new:
        return ()
    names = {one.full_name: two.full_name for one, two in structure.counterparts().items()}
    both = [(row, new.pop(names.get(name, ""), None)) for name, row in old.items()]
    rows = [_compare(after or before, before, after) for before, after in both]
    rows += [_compare(row, None, row) for row in new.values()]
    changed = (row for row in rows if row.delta_seconds)
    return tuple(sorted(changed, key=lambda row: -abs(row.delta_seconds)))


def _compare(
    row: MeasuredInstruction, old: MeasuredInstruction | None, new: MeasuredInstruction | None
) -> MeasuredChange:
    before, after = (one.measured_seconds if one else None for one in (old, new))
    delta = (after or 0.0) - (before or 0.0)
    return MeasuredChange(row.name, row.opcode, before, after, delta, row.source)
