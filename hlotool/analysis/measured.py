"""What a profile says of a program: its runs, and the times of its instructions.

Seconds are the mean of the profiled runs, of one step on one device; counts are of all runs on all
devices. An instruction is known by its name. `alone` (exposed) time is that of collectives in which
nothing else ran. `MeasuredCount` and its kin declare the columns that rows of many answers have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, structs

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.origin import ScopeColumn, read_origin, write_short_source
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.opcodes import ASYNC_DONES, LATER_STEPS, OPCODES
from hlotool.hlo.values import Measurement
from hlotool.table import Block, RowList, column, figure

MeasuredCount: TypeAlias = Annotated[
    int | None,
    figure(
        "executions in a profile, in all runs on all devices; null if zero",
        heading="measured",
        null_text="",
        is_exact=True,
    ),
]
MeasuredSeconds: TypeAlias = Annotated[
    float | None,
    figure(
        "from a profile: time of all its executions per step, the mean over profiled "
        "devices; null if it did not run",
        heading="measured/step",
        null_text="",
        is_summed=True,
    ),
]
MeasuredExposedSeconds: TypeAlias = Annotated[
    float | None,
    figure(
        "the part of measured_seconds in which only collectives ran on the device",
        null_text="",
        is_summed=True,
    ),
]


def _part(meaning: str) -> Meta:
    return figure(f"the part of device_seconds {meaning}")


class MeasuredFacts(Struct, frozen=True):
    """The runs of a program in a profile."""

    device_count: Annotated[int, figure("devices on which it ran")]
    step_count: Annotated[
        int | None,
        figure("its runs on all devices together; null if the profile does not separate runs"),
    ]
    step_seconds: Annotated[
        float | None,
        figure(
            "mean time of a step on a device, from start to end; null if the profile has "
            "only instructions"
        ),
    ]
    device_seconds: Annotated[
        float | None, figure("time of all devices and programs in the profile, nested events once")
    ] = None
    joined_seconds: Annotated[float | None, _part("in events that name their instruction")] = None
    named_seconds: Annotated[
        float | None, _part("in GPU kernels that are known by name or order of launch")
    ] = None
    copy_seconds: Annotated[float | None, _part("in copies of no known instruction")] = None
    collective_seconds: Annotated[
        float | None, _part("in kernels of collectives, of no known instruction")
    ] = None
    unknown_seconds: Annotated[float | None, _part("of which nothing is known")] = None


MEASURED: Final = Block(
    "measured", MeasuredFacts, "its runs in a profile; null without one", is_nullable=True
)


def describe_runs(measured: Measurement | None) -> MeasuredFacts | None:
    """Return what is known of the runs, None without a profile that has any."""
    if measured is None:
        return None
    step_seconds, time = measured.mean(measured.step_seconds), measured.device_time
    parts = (time.all, *structs.astuple(time)) if time else ()
    return MeasuredFacts(measured.device_count, measured.step_count, step_seconds, *parts)


class JoinedTime(Struct, frozen=True):
    """The times of some instructions: occurrences in all, seconds per step on one device."""

    count: int | None = None
    seconds: float | None = None
    exposed_seconds: float | None = None


def join_times(measured: Measurement | None, names: Iterable[str]) -> JoinedTime:
    """Add up what was measured of instructions, each name once; None where none of them ran.

    Seconds are None too where nothing tells how many runs were measured.
    """
    if measured is None:
        return JoinedTime()
    times = (measured.times.get(name) for name in dict.fromkeys(names))
    if not (found := [each for each in times if each is not None]):
        return JoinedTime()
    alone = [each.alone_seconds for each in found if each.alone_seconds is not None]
    return JoinedTime(
        sum(each.count for each in found),
        measured.mean(sum(each.seconds for each in found)),
        measured.mean(sum(alone)) if alone else None,
    )


_LATER: Final = ASYNC_DONES | LATER_STEPS


class MeasuredInstruction(Struct, frozen=True):
    """One instruction, and how long it took."""

    name: Annotated[str, column("the instruction", heading="instruction")]
    opcode: Annotated[str, column("its opcode", words=OPCODES)]
    measured_count: MeasuredCount
    measured_seconds: MeasuredSeconds
    share: Annotated[
        float | None,
        column(
            "its time divided by the step's; parallel work adds up to over 100 %; null "
            "if the step's time is unknown",
            heading="of step",
        ),
    ]
    source: Annotated[str | None, column("its source line, without directories")]
    scope: ScopeColumn
    category: Annotated[str | None, figure("its kind as the profile states it, on TPU")]
    stated_flops: Annotated[int | None, figure("flops of one run, as the profile states")]
    counted_flops: Annotated[int | None, figure("flops of one run, as counted here")]
    stated_bytes: Annotated[
        int | None, figure("bytes one run accesses, as the profile states", heading="stated bytes")
    ]
    counted_bytes: Annotated[
        int | None, figure("bytes of one run, counted XLA's way", heading="counted bytes")
    ]
    computation: Annotated[str, figure("the computation that holds it")]
    source_file: Annotated[str | None, figure("source file it comes from")]
    source_line: Annotated[int | None, figure("line in that file")]


_LISTED: Final = RowList(
    "instructions",
    MeasuredInstruction,
    "with a profile: instructions with the most measured time, of any opcode",
    sort="-measured_seconds",
    size="measured_seconds",
    option="a profile",
    title="Instructions by measured time",
    screen="name,opcode,measured_count,measured_seconds,share,category,"
    "stated_flops,counted_flops,stated_bytes,counted_bytes",
    wide_screen="source,scope",
)
MEASURED_INSTRUCTIONS: Final = _LISTED.showing(
    _LISTED.shown() | {"measured_count", "measured_seconds"}
)
_STATED: Final = {f"{one}_{what}" for one in ("stated", "counted") for what in ("flops", "bytes")}
# The same where the profile states what instructions cost.
STATED_INSTRUCTIONS: Final = MEASURED_INSTRUCTIONS.showing(
    MEASURED_INSTRUCTIONS.shown() | {"category", *_STATED}
)


def rank_instructions(measured: Measurement, costs: CostModel) -> tuple[MeasuredInstruction, ...]:
    """List the instructions that a profile has times of, the longest first.

    Times are those of `Measurement`: per step on one device. A loop, a conditional or a call
    is left out where what it runs has times of its own, and so are the later steps of a
    collective, whose time is that of its first: no time counts twice.
    """
    step_seconds = measured.mean(measured.step_seconds)
    timed = {each: _list_timed(each, measured) for each in costs.executions.executed}
    # A caller and what it runs both have times: only the inner ones are listed.
    busy = {each for each in timed if any(one.name in measured.times for one in each.instructions)}
    every = (one for found in timed.values() for one in found)
    inner = (one for one in every if busy.isdisjoint(one.called_computations()))
    rows = [_describe(one, measured, step_seconds, costs) for one in inner]
    return tuple(sorted(rows, key=lambda row: (-(row.measured_seconds or 0), row.name)))


def _list_timed(computation: Computation, measured: Measurement) -> list[Instruction]:
    """Return what has times; of a collective in several steps the first."""
    found = []
    steps: set[Instruction] = set()
    for one in computation.instructions:
        time = measured.times.get(one.name)
        if one.opcode in _LATER and one.operands and one.operands[0] in steps:
            steps.add(one)
        elif time is not None:
            found.append(one)
            if time.alone_seconds is not None:
                steps.add(one)
    return found


def _describe(
    instruction: Instruction, measured: Measurement, step_seconds: float | None, costs: CostModel
) -> MeasuredInstruction:
    time, said = join_times(measured, (instruction.name,)), measured.times[instruction.name]
    cost = costs.of(instruction) if said.category else None
    inside = (one for each in instruction.called_computations() for one in each.instructions)
    origin = read_origin(instruction, inside)
    return MeasuredInstruction(
        name=instruction.full_name,
        opcode=instruction.opcode,
        measured_count=time.count,
        measured_seconds=time.seconds,
        share=time.seconds / step_seconds if time.seconds is not None and step_seconds else None,
        source=write_short_source(origin.source_file, origin.source_line),
        scope=origin.scope,
        category=said.category,
        stated_flops=said.flops,
        counted_flops=cost.total_flops if cost else None,
        stated_bytes=said.accessed_bytes,
        counted_bytes=cost.bytes_accessed if cost else None,
        computation=instruction.computation.name,
        source_file=origin.source_file,
        source_line=origin.source_line,
    )
