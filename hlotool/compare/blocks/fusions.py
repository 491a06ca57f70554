"""How often did fusions change alike, and what does it cost?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.fusions.kinds import FUSION_KINDS, KIND_MEANINGS, find_kind
from hlotool.analysis.origin.origin import Origin, find_origin
from hlotool.compare.blocks import columns
from hlotool.compare.blocks.columns import Change
from hlotool.compare.blocks.fusion_events import Form, FusionEvent, find_events
from hlotool.compare.blocks.reasons import Reasoner
from hlotool.compare.blocks.shared_scope import share_scope
from hlotool.compare.match.structure import Structure
from hlotool.fields import BYTES, COUNT, FLOPS, WHOLE, column, figure
from hlotool.fields.paths import fold_numbers
from hlotool.ir import Instruction
from hlotool.ir.opcodes import OPCODES
from hlotool.program.program import Program

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
    return find_origin(fusion, reversed(_root(fusion).computation.instructions))


def _root(fusion: Instruction) -> Instruction:
    body = fusion.callee()
    return body.root if body else fusion


def _size(fusions: Iterable[Instruction]) -> int:
    return sum(len(_root(one).computation.instructions) for one in fusions)
