"""Where two compilations part over what differs between them in the end.

Each difference of the last texts is followed back, by the op_names of what it is about, to the
first pass since which both sides differ in these; those of one pass are one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Annotated, Final, TypeAlias

from msgspec import Struct

from hlotool.compare.changes.instructions import (
    SCOPE,
    InstructionChange,
    InstructionDiff,
    share_scope,
)
from hlotool.compare.passes import PASS_OPCODES, PASSES, PassesFacts, Snapshot, Step
from hlotool.hlo.opcodes import FREE
from hlotool.table import NUMBER, Block, DocumentSpec, RowList, column

_Marks: TypeAlias = frozenset[Hashable]


class SurvivorRow(Struct, frozen=True):
    """Differences of the last texts that began with one pass."""

    step: Annotated[
        int | None,
        column("number of that pass's dump; null outside all passes", NUMBER, null_text=""),
    ]
    pass_name: Annotated[str, column("the pass that began them", heading="by")]
    pipeline: Annotated[str, column("the pipeline that ran it")]
    count: Annotated[int, column("number of differences between the last texts")]
    what: Annotated[tuple[str, ...], column("the differences, most frequent first")]
    scope: Annotated[str | None, SCOPE]
    example: Annotated[str, column("one of them, in the last text")]


SURVIVORS: Final = RowList(
    "survivors",
    SurvivorRow,
    "final differences, by the pass that began them",
    key="example",
    has_total=False,
    limit=0,
    title="Final differences",
    screen="step,pass_name,count,what,scope",
    wide_screen="pipeline,example",
)
DIFF_PASSES: Final = DocumentSpec(
    "diff-passes",
    "which pass changed what, or where two compilations diverge",
    scalars=Block("facts", PassesFacts, "where two compilations part"),
    row_lists=(PASSES, SURVIVORS, PASS_OPCODES),
)


class Survivors:
    """Collects what differs after each pass, in order."""

    def __init__(self) -> None:
        self._seen: list[tuple[Step, _Marks]] = []
        self._last: list[tuple[InstructionChange, _Marks]] = []

    def add(self, old: Snapshot, new: Snapshot, step: Step, found: InstructionDiff | None) -> None:
        """Add the differences after one more pass; None where both texts are equal."""
        rows = found.rows if found else ()
        self._last = [(row, frozenset(_mark(row, (old, new)))) for row in rows]
        every = (mark for _, marks in self._last for mark in marks)
        self._seen.append((step, frozenset(every)))

    def rows(self) -> list[SurvivorRow]:
        """List the passes that began what differs after the last, in the order they ran."""
        begun: dict[int, list[InstructionChange]] = {}
        for row, marks in self._last:
            if not row.is_fused and row.opcode not in FREE:
                begun.setdefault(self._find_begin(marks), []).append(row)
        return [_fold(self._seen[place][0], begun[place]) for place in sorted(begun)]

    def _find_begin(self, marks: _Marks) -> int:
        """Return the first place from which on both sides differ in something so marked."""
        place = len(self._seen) - 1
        while place and not marks.isdisjoint(self._seen[place - 1][1]):
            place -= 1
        return place


def _mark(row: InstructionChange, sides: Iterable[Snapshot]) -> Iterator[Hashable]:
    """Yield what a difference is known by in other texts: op_names, else opcode and shape."""
    names = {row.op_name}
    for side, name in zip(sides, (row.old_name, row.new_name), strict=True):
        found = side.state.texts.get(name or "")
        body = found[0].callee() if found and row.opcode == "fusion" else None
        names.update(one.metadata().op_name for one in (body.instructions if body else ()))
    names -= {None, ""}
    yield from names
    if not names:
        yield row.opcode, row.new_shape or row.old_shape


def _fold(step: Step, rows: Sequence[InstructionChange]) -> SurvivorRow:
    kinds = Counter(
        f"{', '.join(row.reasons)} of {row.opcode}" if row.reasons else f"{row.opcode} {row.change}"
        for row in rows
    )
    named = [f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.most_common()]
    scope = share_scope(row.scope for row in rows)
    return SurvivorRow(
        step.number, step.culprit, step.pipeline, len(rows), tuple(named), scope, rows[0].name
    )
