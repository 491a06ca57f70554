"""What `hlotool diff --passes` answers: its lists, its scalars."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.hlo.opcodes import OPCODES
from hlotool.table import BYTES, COUNT, NUMBER, WHOLE, Block, DocumentSpec, RowList, column, figure

Ending: TypeAlias = Literal["removed", "goes on", "no match"]

_STEP: Final = "the number XLA gave the dump; null before and after all passes"
_WIRE: Final = "their wire bytes per run, "
_PEAK: Final = "estimated peak {}; null until scheduled"


class PassRow(Struct, frozen=True):
    """A dump, and how it differs from the one before, or from that of another compilation.

    `differs_in` are the respects in which it does. Counts are of instructions, wire bytes per
    device and run; peaks are estimates, known once the module is scheduled.
    """

    step: Annotated[int | None, column(_STEP, NUMBER, null_text="")]
    pass_name: Annotated[
        str,
        column(
            "the pass that ran since the dump before, or what it ran between",
            heading="by",
            wants=WHOLE,
        ),
    ]
    pipeline: Annotated[
        str, column("the pipeline of that pass, blank where it is of none", give_way=9)
    ]
    path: Annotated[str, figure("the dump")]
    differs_in: Annotated[
        tuple[str, ...],
        column(
            "what differs: structure, collectives, memory; or the only side that has it",
            heading="differs",
        ),
    ]
    left_instruction_count: Annotated[
        int | None, figure("instructions before the pass, or in OLD", COUNT)
    ] = None
    right_instruction_count: Annotated[
        int | None,
        column(
            "instructions after the pass, or in NEW",
            COUNT,
            heading="instructions",
            give_way=7,
            null_text="",
        ),
    ] = None
    left_only_count: Annotated[
        int | None,
        column(
            "instructions before it that are not there after it",
            COUNT,
            heading="removed",
            give_way=4,
            null_text="",
        ),
    ] = None
    right_only_count: Annotated[
        int | None,
        column(
            "instructions after it that were not there before it",
            COUNT,
            heading="added",
            give_way=4,
            null_text="",
        ),
    ] = None
    changed_count: Annotated[
        int | None,
        column(
            "instructions that it changed in place",
            COUNT,
            heading="changed",
            give_way=4,
            null_text="",
        ),
    ] = None
    left_collective_count: Annotated[int | None, figure("collectives before", COUNT)] = None
    right_collective_count: Annotated[
        int | None, column("collectives after", COUNT, heading="collectives", give_way=2)
    ] = None
    left_wire_bytes: Annotated[int | None, figure(_WIRE + "before", BYTES)] = None
    right_wire_bytes: Annotated[
        int | None, column(_WIRE + "after", BYTES, heading="wire/run", give_way=5)
    ] = None
    left_fusion_count: Annotated[int | None, figure("fusions before", COUNT)] = None
    right_fusion_count: Annotated[
        int | None, column("fusions after", COUNT, heading="fusions", give_way=6)
    ] = None
    left_copy_count: Annotated[int | None, figure("copies before", COUNT)] = None
    right_copy_count: Annotated[
        int | None, column("copies after", COUNT, heading="copies", give_way=6)
    ] = None
    left_peak_bytes: Annotated[int | None, figure(_PEAK.format("before"), BYTES)] = None
    right_peak_bytes: Annotated[
        int | None,
        column(_PEAK.format("after"), BYTES, heading="peak (estimate)", give_way=3, null_text=""),
    ] = None
    opcodes: Annotated[
        tuple[str, ...],
        column(
            "the opcodes of which it left more or fewer, those that do work first; "
            "`--rows opcodes` has all",
            heading="opcodes",
            give_way=1,
        ),
    ] = ()


class PassOpcodeRow(Struct, frozen=True):
    """How many instructions of one opcode there are before and after a pass, where that differs."""

    step: Annotated[int | None, column(_STEP, NUMBER, null_text="")]
    pass_name: Annotated[str, column("the pass, as in `passes`", heading="by")]
    opcode: Annotated[str, column("the opcode", words=OPCODES)]
    left_count: Annotated[int, column("instructions before it, or in OLD", COUNT, heading="before")]
    right_count: Annotated[int, column("instructions after it, or in NEW", COUNT, heading="after")]
    delta: Annotated[int, column("right minus left", COUNT, heading="difference", is_signed=True)]


class PassesFacts(Struct, frozen=True):
    """Where two compilations part; null where one is walked, or where there is no such dump."""

    last_identical_path: Annotated[
        str | None, figure("of two compilations: NEW's last dump before any difference")
    ] = None
    first_different_path: Annotated[
        str | None, figure("of two compilations: NEW's first dump that differs from OLD's")
    ] = None
    first_different_pass: Annotated[str | None, figure("the pass that ran before that dump")] = None


class Traced(Struct, frozen=True):
    """An instruction as the expression of --trace sees it."""

    name: Annotated[str, column("the instruction", heading="instruction")]
    opcode: Annotated[str, column("the opcode", words=OPCODES)]
    shape: Annotated[str, column("the shape of its result", is_shape=True)]
    result_bytes: Annotated[int | None, figure("the size of its result", BYTES)]
    scope: Annotated[
        str | None, column("module path in the user's program", null_text="", is_path=True)
    ]
    op_name: Annotated[str | None, figure("its op_name, the name that tracing gave it")]
    computation: Annotated[str, figure("the computation that holds it")]


class TraceRow(Traced, frozen=True, kw_only=True):
    """From which pass to which an instruction was one of those that are traced."""

    first_step: Annotated[
        int | None, column("step of its first dump; null before all passes", NUMBER, null_text="")
    ]
    first_pass: Annotated[str, column("the pass that made it", heading="by")]
    last_step: Annotated[
        int | None,
        column(
            "step of the first dump without it; null if it is there to the end",
            NUMBER,
            null_text="",
        ),
    ] = None
    last_pass: Annotated[
        str | None,
        column(
            "the pass that removed or changed it; null if it is there to the end",
            heading="gone by",
            null_text="",
        ),
    ] = None
    goes_on_as: Annotated[
        str | None,
        column(
            "what the same operation is from then on: its start, or without start and done, or "
            "under another name; null where nothing is",
            heading="goes on as",
            null_text="",
        ),
    ] = None
    ending: Annotated[
        Ending | None,
        column(
            "whether it was removed, goes on under another opcode or name, or is there and the "
            "expression holds no more",
            null_text="",
        ),
    ] = None


class TraceFacts(Struct, frozen=True):
    """What became of all that an expression chooses."""

    expression: Annotated[str, figure("the expression")]
    first_pass: Annotated[str | None, figure("the pass that made the first; null if none ever was")]
    first_step: Annotated[int | None, figure("the step of its dump", NUMBER)]
    last_pass: Annotated[str | None, figure("the pass that removed the last; null if some stay")]
    last_step: Annotated[int | None, figure("the step of its dump", NUMBER)]
    seen_count: Annotated[int, figure("instructions that it ever chose", COUNT)]
    left_count: Annotated[int, figure("those of the last dump", COUNT)]
    going_on_count: Annotated[int, figure("those that go on under another opcode or name", COUNT)]
    going_on_opcodes: Annotated[tuple[str, ...], figure("the opcodes under which they do")]


PASSES: Final = RowList(
    "passes",
    PassRow,
    "dumps between passes, in order; XLA dumps after those that changed something",
    has_total=False,
    limit=0,
)
PASS_OPCODES: Final = RowList(
    "opcodes",
    PassOpcodeRow,
    "what each pass did to the number of instructions of each opcode",
    key="opcode",
    has_total=False,
    limit=0,
)
TRACE: Final = RowList(
    "trace",
    TraceRow,
    "instructions that the expression of --trace chose in any dump, in the order they appeared",
    has_total=False,
)
DIFF_PASSES: Final = DocumentSpec(
    "diff-passes",
    "which pass changed what, or where two compilations diverge",
    scalars=Block("facts", PassesFacts, "where two compilations part"),
    row_lists=(PASSES, PASS_OPCODES),
)
DIFF_TRACE: Final = DocumentSpec(
    "diff-trace",
    "which pass made, and which removed, the instructions that an expression chooses",
    scalars=Block("facts", TraceFacts, "what became of them"),
    row_lists=(TRACE,),
)
