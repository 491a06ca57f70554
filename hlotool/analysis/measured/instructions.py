"""Which instructions take most of the time that was measured, whatever their opcode?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.measured.columns import MeasuredCount, MeasuredSeconds
from hlotool.analysis.measured.facts import describe_runs
from hlotool.analysis.measured.join import join_times
from hlotool.analysis.origin.origin import find_origin, write_short_source
from hlotool.fields import NUMBER, PERCENT, RowList, column, figure
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.measurement import Measurement
from hlotool.ir.opcodes import ASYNC_DONES, LATER_STEPS, OPCODES

_LATER: Final = ASYNC_DONES | LATER_STEPS


class MeasuredInstruction(Struct, frozen=True):
    """One instruction, and how long it took."""

    name: Annotated[str, column("the instruction", heading="instruction", is_whole=True)]
    opcode: Annotated[str, column("its opcode", words=OPCODES)]
    measured_count: MeasuredCount
    measured_seconds: MeasuredSeconds
    share: Annotated[
        float | None,
        column(
            "its time over that of a run; what runs side by side comes to more than 100 %; null "
            "where the profile does not tell how long a run took",
            PERCENT,
            heading="of run",
        ),
    ]
    source: Annotated[str | None, column("the source line it comes from, in short", give_way=2)]
    scope: Annotated[
        str | None,
        column("module path in the op_name, without transformations", is_path=True, give_way=1),
    ]
    computation: Annotated[str, figure("the computation that holds it")]
    source_file: Annotated[str | None, figure("source file it comes from")]
    source_line: Annotated[int | None, figure("line in that file", NUMBER)]


_LISTED: Final = RowList(
    "instructions",
    MeasuredInstruction,
    "with a profile: what takes most of the measured time, of any opcode",
    sort="-measured_seconds",
    size="measured_seconds",
    is_optional=True,
    option="a profile",
    title="Instructions by measured time",
)
MEASURED_INSTRUCTIONS: Final = _LISTED.showing(
    _LISTED.shown() | {"measured_count", "measured_seconds"}
)


def rank_instructions(
    executions: Executions, measured: Measurement
) -> tuple[MeasuredInstruction, ...]:
    """List the instructions that a profile has times of, the longest first.

    Times are those of `Measurement`: in one run on one device. A loop, a conditional or a call
    is left out where what it runs has times of its own, and so are the later steps of a
    collective, whose time is that of its first: no time counts twice.
    """
    run = describe_runs(measured)
    run_seconds = run.run_seconds if run else None
    busy = {
        each
        for each in executions.executed
        if any(one.name in measured.times for one in each.instructions)
    }
    rows = [
        _describe(one, measured, run_seconds)
        for each in executions.executed
        if each in busy
        for one in _list_timed(each, measured)
        if busy.isdisjoint(one.called_computations())
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.measured_seconds or 0), row.name)))


def _list_timed(computation: Computation, measured: Measurement) -> Iterator[Instruction]:
    """Yield what has times; of a collective in several steps the first."""
    steps: set[Instruction] = set()
    for one in computation.instructions:
        time = measured.times.get(one.name)
        if one.opcode in _LATER and one.operands and one.operands[0] in steps:
            steps.add(one)
            continue
        if time is not None:
            if time.alone_seconds is not None:
                steps.add(one)
            yield one


def _describe(
    instruction: Instruction, measured: Measurement, run_seconds: float | None
) -> MeasuredInstruction:
    time = join_times(measured, (instruction.name,))
    inside = (one for each in instruction.called_computations() for one in each.instructions)
    origin = find_origin(instruction, inside)
    return MeasuredInstruction(
        name=instruction.full_name,
        opcode=instruction.opcode,
        measured_count=time.count,
        measured_seconds=time.seconds,
        share=time.seconds / run_seconds if time.seconds is not None and run_seconds else None,
        source=write_short_source(origin.source_file, origin.source_line),
        scope=origin.scope,
        computation=instruction.computation.name,
        source_file=origin.source_file,
        source_line=origin.source_line,
    )
