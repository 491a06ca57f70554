"""How does a step differ from the one before it, or from the same step of another compilation?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from hlotool.compare.blocks.changes import compare_instructions
from hlotool.compare.blocks.reasons import make_reasoner
from hlotool.compare.match.two_programs import compare_structure
from hlotool.compare.passes.answer import PassesFacts, PassOpcodeRow, PassRow
from hlotool.compare.passes.by_name import NamedChanges, compare_by_name
from hlotool.compare.passes.snapshot import Snapshot
from hlotool.ir.opcodes import FREE

STRUCTURE: Final = "structure"
COLLECTIVES: Final = "collectives"
MEMORY: Final = "memory"
RESPECTS: Final = (STRUCTURE, COLLECTIVES, MEMORY)
_MOST_NAMED: Final = 3  # opcodes in a row of `passes`


def compare_in_turn(
    left: Snapshot, right: Snapshot, *, is_strict: bool = False
) -> tuple[PassRow, NamedChanges]:
    """Compare a step with the one before it. Raises what the analyses raise."""
    if left.state is right.state:
        return _row(right, left, (), (0, 0, 0)), NamedChanges()
    found = compare_by_name(left.state, right.state, is_strict=is_strict)
    counts = len(found.removed), len(found.added), len(found.changed)
    differs_in = _list_respects(left, right, is_other=found.differs)
    return _row(right, left, differs_in, counts), found


def compare_in_step(left: Snapshot, right: Snapshot, *, is_strict: bool = False) -> PassRow:
    """Compare a step with the same step of another compilation, whose names say nothing.

    Raises what the analyses raise.
    """
    if left.state.text == right.state.text:
        return _row(right, left, (), (0, 0, 0))
    structure = compare_structure(left.state.program, right.state.program, is_strict=is_strict)
    found = compare_instructions(structure, make_reasoner(structure))
    counts = found.left_only_count, found.right_only_count, found.changed_count
    differs_in = _list_respects(left, right, is_other=not structure.is_equal)
    return _row(right, left, differs_in, counts)


def first_row(snapshot: Snapshot) -> PassRow:
    """Make the row of the step that has none before it."""
    return _row(snapshot, None, ())


def lone_row(snapshot: Snapshot, label: str) -> PassRow:
    """Make the row of a step that only one of two compilations has."""
    return _row(snapshot, None, (f"only in {label}",))


def find_first(rows: Iterable[PassRow], respect: str) -> PassRow | None:
    """Return the first row that differs in a respect, None if none does."""
    return next((row for row in rows if respect in row.differs_in), None)


def find_parting(rows: Sequence[PassRow]) -> PassesFacts:
    """Say where two compilations part: the last dump before any difference, and the first after.

    What only one of them ran is a difference as well.
    """
    place = next((index for index, row in enumerate(rows) if row.differs_in), None)
    last = rows[-1] if place is None else rows[place - 1] if place else None
    first = None if place is None else rows[place]
    return PassesFacts(
        last.path if last else None,
        first.path if first else None,
        first.pass_name if first else None,
    )


def count_opcodes(left: Snapshot, right: Snapshot) -> list[PassOpcodeRow]:
    """List the opcodes of which two steps have not equally many, largest difference first."""
    here, there = left.state.opcodes, right.state.opcodes
    if here == there:
        return []
    step = right.step
    rows = [
        PassOpcodeRow(
            step.number, step.culprit, opcode, here[opcode], there[opcode],
            there[opcode] - here[opcode],
        )
        for opcode in {**here, **there}
        if here[opcode] != there[opcode]
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-abs(row.delta), row.opcode))


def _list_respects(left: Snapshot, right: Snapshot, *, is_other: bool) -> tuple[str, ...]:
    """List in what two steps differ; `is_other` says whether they do in structure."""
    here, there = left.state, right.state
    what = []
    if is_other:
        what.append(STRUCTURE)
    if here.collectives != there.collectives:
        what.append(COLLECTIVES)
    if here.peak_bytes != there.peak_bytes and None not in {here.peak_bytes, there.peak_bytes}:
        what.append(MEMORY)
    return tuple(what)


def _row(
    right: Snapshot,
    left: Snapshot | None,
    differs_in: tuple[str, ...],
    counts: tuple[int, int, int] | None = None,
) -> PassRow:
    left_only, right_only, changed = counts or (None, None, None)
    step, now, before = right.step, right.state, left.state if left else None
    return PassRow(
        step=step.number,
        pass_name=step.culprit,
        pipeline=step.pipeline,
        path=step.file.path,
        differs_in=differs_in,
        left_instruction_count=before.opcodes.total() if before else None,
        right_instruction_count=now.opcodes.total(),
        left_only_count=left_only,
        right_only_count=right_only,
        changed_count=changed,
        left_collective_count=before.collectives[0] if before else None,
        right_collective_count=now.collectives[0],
        left_wire_bytes=before.collectives[1] if before else None,
        right_wire_bytes=now.collectives[1],
        left_fusion_count=before.fusion_count if before else None,
        right_fusion_count=now.fusion_count,
        left_copy_count=before.copy_count if before else None,
        right_copy_count=now.copy_count,
        left_peak_bytes=before.peak_bytes if before else None,
        right_peak_bytes=now.peak_bytes,
        opcodes=_name_opcodes(count_opcodes(left, right)) if left else (),
    )


def _name_opcodes(rows: Sequence[PassOpcodeRow]) -> tuple[str, ...]:
    """Name a few, those that do work first."""
    ranked = sorted(rows, key=lambda row: row.opcode in FREE)
    named = [f"{row.opcode} {row.delta:+,}" for row in ranked[:_MOST_NAMED]]
    rest = len(rows) - len(named)
    return (*named, f"{rest} more") if rest else tuple(named)
