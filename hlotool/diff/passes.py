"""Which pass of a compilation changed what?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Final

from msgspec import Struct

from hlotool.diff.blocks.changes import compare_instructions
from hlotool.diff.match.structure import compare_structure
from hlotool.fields import BYTES, COUNT, NUMBER, DocumentSpec, RowList, column, figure
from hlotool.program.program import Program

STRUCTURE: Final = "structure"
COLLECTIVES: Final = "collectives"
MEMORY: Final = "memory"
RESPECTS: Final = (STRUCTURE, COLLECTIVES, MEMORY)

_WIRE: Final = "their wire bytes per run, "
_PEAK: Final = "estimated peak {}; null until scheduled"


class PassRow(Struct, frozen=True):
    """A dump, and how it differs from the one before, or from that of another compilation.

    `what` are the respects in which it does. Counts are of instructions, wire bytes per
    device and run; peaks are estimates, known once the module is scheduled.
    """

    step: Annotated[
        int | None,
        column(
            "the number XLA gave the dump; null before and after all passes", NUMBER, null_text=""
        ),
    ]
    pass_name: Annotated[str, column("the pass that ran last", heading="after")]
    pipeline: Annotated[str, column("the pipeline it is part of")]
    path: Annotated[str, figure("the dump")]
    what: Annotated[
        tuple[str, ...],
        column(
            "what differs: structure, collectives, memory; or the only side that has it",
            heading="differs",
        ),
    ]
    left_instruction_count: Annotated[
        int | None,
        column("instructions before the pass, or in OLD", COUNT, heading="before", null_text=""),
    ] = None
    right_instruction_count: Annotated[
        int | None,
        column(
            "instructions after the pass, or in NEW", COUNT, heading="instructions", null_text=""
        ),
    ] = None
    left_only_count: Annotated[
        int | None,
        column(
            "instructions before it without a partner after it",
            COUNT,
            heading="removed",
            null_text="",
        ),
    ] = None
    right_only_count: Annotated[
        int | None,
        column(
            "instructions after it without a partner before it",
            COUNT,
            heading="added",
            null_text="",
        ),
    ] = None
    changed_count: Annotated[
        int | None,
        column(
            "instructions that differ from their partner", COUNT, heading="changed", null_text=""
        ),
    ] = None
    left_collective_count: Annotated[int | None, figure("collectives before", COUNT)] = None
    right_collective_count: Annotated[
        int | None, column("collectives after", COUNT, heading="collectives")
    ] = None
    left_wire_bytes: Annotated[int | None, figure(_WIRE + "before", BYTES)] = None
    right_wire_bytes: Annotated[int | None, column(_WIRE + "after", BYTES, heading="wire/run")] = (
        None
    )
    left_peak_bytes: Annotated[int | None, figure(_PEAK.format("before"), BYTES)] = None
    right_peak_bytes: Annotated[
        int | None, column(_PEAK.format("after"), BYTES, heading="peak (estimate)")
    ] = None


PASSES: Final = RowList(
    "passes",
    PassRow,
    "dumps between passes, in order; XLA dumps after those that changed something",
    has_total=False,
    limit=0,
)
DIFF_PASSES: Final = DocumentSpec(
    "diff-passes",
    "which pass changed what, or where two compilations diverge",
    row_lists=(PASSES,),
)


class Snapshot:
    """The program at one step, with the figures that a walk compares."""

    def __init__(
        self, step: int | None, pass_name: str, pipeline: str, path: str, program: Program
    ) -> None:
        self.step = step
        self.pass_name = pass_name
        self.pipeline = pipeline
        self.path = path
        self.program = program

    @cached_property
    def instruction_count(self) -> int:
        """All instructions."""
        return self.program.expect_module().instruction_count()

    @cached_property
    def collectives(self) -> tuple[int, int]:
        """How many there are, and their wire bytes."""
        totals = self.program.collectives.totals
        return totals.count, totals.wire_bytes_per_run

    @cached_property
    def peak_bytes(self) -> int | None:
        """The estimated peak, None for a module that is not scheduled."""
        memory = self.program.memory
        return memory.figures.estimated.peak_bytes if memory and memory.figures.estimated else None


def compare_snapshots(
    left: Snapshot | None, right: Snapshot, *, is_strict: bool = False
) -> PassRow:
    """Compare a step with the one before it, or with the same step of another compilation.

    Raises what the analyses raise.
    """
    if left is None:
        return _row(right, None, ())
    structure = compare_structure(left.program, right.program, is_strict=is_strict)
    found = compare_instructions(structure)
    what = []
    if not structure.is_equal:
        what.append(STRUCTURE)
    if left.collectives != right.collectives:
        what.append(COLLECTIVES)
    if left.peak_bytes != right.peak_bytes and None not in {left.peak_bytes, right.peak_bytes}:
        what.append(MEMORY)
    counts = found.left_only_count, found.right_only_count, found.changed_count
    return _row(right, left, tuple(what), counts)


def lone_row(snapshot: Snapshot, label: str) -> PassRow:
    """Make the row of a step that only one of two compilations has."""
    return _row(snapshot, None, (f"only in {label}",))


def find_first(rows: Sequence[PassRow], respect: str) -> PassRow | None:
    """Return the first row that differs in a respect, None if none does."""
    return next((row for row in rows if respect in row.what), None)


def _row(
    right: Snapshot,
    left: Snapshot | None,
    what: tuple[str, ...],
    counts: tuple[int, int, int] | None = None,
) -> PassRow:
    left_only, right_only, changed = counts or (None, None, None)
    return PassRow(
        step=right.step,
        pass_name=right.pass_name,
        pipeline=right.pipeline,
        path=right.path,
        what=what,
        left_instruction_count=left.instruction_count if left else None,
        right_instruction_count=right.instruction_count,
        left_only_count=left_only,
        right_only_count=right_only,
        changed_count=changed,
        left_collective_count=left.collectives[0] if left else None,
        right_collective_count=right.collectives[0],
        left_wire_bytes=left.collectives[1] if left else None,
        right_wire_bytes=right.collectives[1],
        left_peak_bytes=left.peak_bytes if left else None,
        right_peak_bytes=right.peak_bytes,
    )
