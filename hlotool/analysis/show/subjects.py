"""What a named thing is, where it runs and what it costs: one row an instruction or computation.

`ShowEvidence` is what the answer is made from. Figures of a thing inside a fusion are those of the
runs of the fusion; nothing crosses memory there. A part of a tuple has the place in the user's
program of what made it, which for a loop's result is a line inside the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.model import CostModel, CostReport, LacksFlops, LacksTraffic
from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.graph.executions import Runs
from hlotool.analysis.measured import JoinedTime, MeasuredCount, MeasuredSeconds, join_times
from hlotool.analysis.memory.memory_map import list_holdings
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.origin import Origin, ScopeColumn, Stack, StackFrame, read_origin
from hlotool.analysis.show.names import Meant, Names
from hlotool.hlo import Computation, Instruction, Module, Shape
from hlotool.hlo.buffers import Allocation, BufferValue, format_position
from hlotool.hlo.opcodes import OPCODES
from hlotool.hlo.shape import find_part
from hlotool.hlo.values import Measurement, ShapeIndex
from hlotool.table import NUMBER, column, figure
from hlotool.table.sums import group_pairs

SizeBytes: TypeAlias = Annotated[
    int | None, column("size of the result", heading="result", is_summed=False)
]
ShapeText: TypeAlias = Annotated[str, column("the result's shape, without layout", is_shape=True)]
InstructionName: TypeAlias = Annotated[str, column("the instruction", heading="instruction")]


class ShowEvidence(Struct, frozen=True, dict=True):
    """The analyses of one program.

    `memory` is None where nothing tells of it, `measured` without a profile.
    """

    module: Module
    costs: CostModel
    cost: CostReport
    memory: MemoryReport | None
    collectives: Sequence[CollectiveRow]
    findings: Sequence[Finding]
    measured: Measurement | None = None

    @cached_property
    def names(self) -> Names:
        """What its things are called."""
        return Names(self.module)

    @cached_property
    def values(self) -> dict[str, list[tuple[Allocation, BufferValue]]]:
        """The values that each instruction defines, with their allocations."""
        homes = self.memory.map.assignment.allocations if self.memory else ()
        return group_pairs((one.instruction, (home, one)) for home in homes for one in home.values)

    @cached_property
    def peak_bytes(self) -> dict[int, dict[BufferValue, int]]:
        """What values hold at the peak of each space; a space without a known peak is absent."""
        if (memory := self.memory) is None:
            return {}
        found = {}
        for space in memory.map.colors():
            if (position := memory.peak_of(space).position) is not None:
                held = list_holdings(memory.map, position, space)
                found[space] = {one.value: one.live_bytes for one in held}
        return found

    @cached_property
    def _shapes(self) -> dict[Instruction, tuple[str, int | None]]:
        return {}

    def tell_shape(self, one: Instruction) -> tuple[str, int | None]:
        """Return the shape of a result as text, and its bytes: a tuple may have thousands."""
        if one not in self._shapes:
            self._shapes[one] = str(one.shape), self.costs.find_size_bytes(one.shape)
        return self._shapes[one]

    @cached_property
    def runs(self) -> dict[Computation, Runs]:
        """How often each computation runs, those inside fusions and reducers as their callers.

        What a reducer or a sort does for each element counts once for each of its runs.
        """
        found: dict[Computation, Runs] = {}
        graph, counts = self.costs.graph, self.costs.executions.counts
        for one in reversed(graph.callees_first):
            if one in counts:
                found[one] = counts[one]
            else:
                above = [found[each.computation] for each in graph.callers.get(one, ())]
                is_exact = all(each.is_exact for each in above)
                found[one] = Runs(sum(each.known for each in above), is_exact)
        return found


SubjectKind: TypeAlias = Literal["instruction", "computation"]
_MOST_CALLS: Final = 64  # of a way from the entry; a program has a handful
_PRODUCERS: Final = frozenset(
    ("own", "producer")
)  # who tells where a part comes from, not for what


class SubjectRow(Struct, frozen=True, kw_only=True):
    """One thing that a name means. Figures of a computation are those of one step of it."""

    name: Annotated[
        str, column("the computation or instruction, with the requested part of its tuple")
    ]
    subject_kind: Annotated[SubjectKind, figure("whether it is an instruction or a computation")]
    asked: Annotated[str, figure("the name as typed")]
    opcode: Annotated[
        str | None, column("the opcode; null for a computation", null_text="–", words=OPCODES)
    ]
    shape: ShapeText
    size_bytes: SizeBytes
    executions: Annotated[
        int | None,
        column(
            "executions per step, inside a fusion those of the fusion; null under a loop "
            "of unknown trip count",
            heading="runs",
            is_summed=False,
        ),
    ]
    known_executions: Annotated[
        int, figure("the same with unknown trip counts as one", is_summed=False)
    ]
    flops_per_step: Annotated[
        int,
        column(
            "its floating-point operations per step, with known custom calls",
            lower_if="is_flops_lower_bound",
        ),
    ]
    flops_share: Annotated[
        float | None, figure("its share of the program's known flops; null without any")
    ]
    traffic_bytes_per_step: Annotated[
        int,
        column(
            "its bytes that cross memory space 0 per step; 0 inside a fusion",
            lower_if="is_traffic_lower_bound",
        ),
    ]
    padded_traffic_bytes_per_step: Annotated[
        int, figure("traffic_bytes_per_step with all tile padding, some of which may not cross")
    ]
    traffic_share: Annotated[
        float | None,
        column("its share of all such bytes of a step; null without any", heading="of memory"),
    ]
    measured_count: MeasuredCount
    measured_seconds: MeasuredSeconds
    flops: Annotated[int, figure("flops of one execution", is_summed=False)]
    traffic_bytes: Annotated[
        int, figure("bytes that cross memory space 0 in one execution", is_summed=False)
    ]
    computation: Annotated[
        str | None, figure("the computation that holds it; null for a computation", null_text="–")
    ]
    call_path: Annotated[
        tuple[str, ...],
        figure("from the entry: computations, each with the instruction that calls the next"),
    ]
    caller_count: Annotated[
        int, figure("instructions that call its computation; the path names the first", NUMBER)
    ]
    instruction_count: Annotated[
        int | None, figure("instructions inside; null without any", null_text="–", is_summed=False)
    ]
    definition: Annotated[
        tuple[str, ...], figure("the instruction, then its attributes; without metadata")
    ]
    scope: ScopeColumn
    op_name: Annotated[str | None, figure("op_name of the instruction")]
    source_file: Annotated[str | None, figure("source file it comes from")]
    source_line: Annotated[int | None, figure("line in that file")]
    stack: Stack = None
    stack_frame: StackFrame = None
    is_lower_bound: Annotated[
        bool, figure("whether a size or a trip count is unknown, so that costs are lower bounds")
    ]
    is_flops_lower_bound: LacksFlops
    is_traffic_lower_bound: LacksTraffic
    is_conditional: Annotated[
        bool, figure("whether it is in a branch that might not run, so that runs are upper bounds")
    ]
    is_upper_bound: Annotated[
        bool, figure("whether it, or a part of its costs, is in a branch that might not run")
    ]

    @property
    def callers(self) -> tuple[str, ...]:
        """The lines of its stack that a person is told, without its own."""
        return tuple(dict.fromkeys(self.stack or ()))[1:_MOST_FRAMES]


_MOST_FRAMES: Final = 6  # of a stack; JSON has them all


def describe_subject(
    subject: Instruction | Computation, meant: Meant, evidence: ShowEvidence
) -> SubjectRow:
    """Say what an instruction, a part of its tuple or a computation is, where it runs, its cost."""
    costs = evidence.costs
    if isinstance(subject, Computation):
        one, place, shape, name = None, subject, subject.root.shape, subject.name
        inside = subject.instructions
        once, in_a_run = costs.of_computation(place), costs.of_computation_all_rounds(place)
        given = ", ".join(f"{each.name}: {each.shape}" for each in subject.parameters)
        definition: tuple[str, ...] = (f"{name} ({given}) -> {shape}",)
        origin = replace(read_origin(subject.root, inside), op_name=None)
        time = JoinedTime()
    else:
        one, place, index = subject, subject.computation, meant.index
        shape = find_part(one.shape, index or ()) or one.shape  # a name means what is there
        name = format_position(one.full_name, index)
        inside = [each for called in one.called_computations() for each in called.instructions]
        once, in_a_run = costs.of(one), costs.of_all_rounds(one)
        definition = _write_definition(one, shape, index)
        origin = _read_part_origin(one, inside, index, evidence)
        time = join_times(evidence.measured, (one.name,))
    runs = evidence.runs.get(place, Runs())
    run = in_a_run.times(runs.known, is_exact=runs.is_exact)
    # Inside a fusion or a reducer nothing crosses memory.
    is_inside = one is not None and place not in costs.executions.counts
    traffic_per_step = 0 if is_inside else run.traffic_bytes
    return SubjectRow(
        name=name,
        subject_kind="instruction" if one else "computation",
        asked=meant.name,
        opcode=one.opcode if one else None,
        shape=str(shape),
        size_bytes=costs.find_size_bytes(shape),
        **runs.figures(),
        flops_per_step=run.total_flops,
        flops_share=_share(run.total_flops, evidence.cost.total_flops_per_step),
        traffic_bytes_per_step=traffic_per_step,
        padded_traffic_bytes_per_step=0 if is_inside else run.padded_bytes,
        traffic_share=_share(traffic_per_step, evidence.cost.traffic_bytes_per_step),
        measured_count=time.count,
        measured_seconds=time.seconds,
        flops=once.total_flops,
        traffic_bytes=0 if is_inside else once.traffic_bytes,
        computation=place.name if one else None,
        call_path=_call_path(place, evidence),
        caller_count=len(costs.graph.callers.get(place, [])),
        instruction_count=None if one and not one.called_computations() else len(inside),
        definition=definition,
        is_lower_bound=run.is_lower_bound,
        is_flops_lower_bound=run.is_total_lower_bound,
        is_traffic_lower_bound=run.is_traffic_lower_bound,
        is_upper_bound=run.is_upper_bound or runs.is_conditional,
        **asdict(origin),
    )


def _read_part_origin(
    instruction: Instruction,
    inside: Sequence[Instruction],
    index: ShapeIndex | None,
    evidence: ShowEvidence,
) -> Origin:
    """Return where a part of a result comes from, as far as it or what makes it tells.

    A part of a loop's result is made in the loop, by other lines of the program than the loop is.
    """
    whole = read_origin(instruction, inside)
    values = (one for _, one in evidence.values.get(instruction.name, ()) if one.index == index)
    value = next(values, None) if index else None
    if value is None or evidence.memory is None:
        return whole
    part = evidence.memory.origins.of(value)
    if part.scope_from in _PRODUCERS:
        whole = replace(whole, scope=part.scope)
    if part.source_from in _PRODUCERS:
        file, line = part.source_file, part.source_line
        whole = replace(whole, source_file=file, source_line=line, stack_frame=part.stack_frame)
    return whole


# What other lines of the answer say, or nobody reads.
_LEFT_OUT: Final = frozenset(("metadata", "sharding", "frontend_attributes", "origin"))


def _write_definition(
    instruction: Instruction, shape: Shape, index: ShapeIndex | None
) -> tuple[str, ...]:
    """Return `name = shape opcode(operands)` and, a line each, the attributes.

    Operands are names, shapes are without layout. Metadata is left out. Of a part of a tuple it is
    `name{13} = shape of opcode(operands)`, with the shape of that part.
    """
    inside = ", ".join(one.name for one in instruction.operands) or instruction.literal
    root = "ROOT " if instruction.is_root else ""
    name = format_position(instruction.name, index) if index else instruction.name
    of = " of" if index else ""
    attributes = (
        f"{key}={' '.join(text.split())}"
        for key, text in instruction.attributes.items()
        if key not in _LEFT_OUT
    )
    return (f"{root}{name} = {shape}{of} {instruction.opcode}({inside})", *attributes)


def _call_path(computation: Computation, evidence: ShowEvidence) -> tuple[str, ...]:
    """Return how a computation is reached: `main`, `while.3`, `body.1`, `fusion.2`, `fused.2`.

    Of several callers the first counts. What no caller reaches begins its own path; where more
    than _MOST_CALLS lead to it, the path begins behind them.
    """
    path = [computation.name]
    known = evidence.costs.graph.callers
    callers = known.get(computation)
    while callers and len(path) < 2 * _MOST_CALLS:
        caller = callers[0]
        path += [caller.name, caller.computation.name]
        callers = known.get(caller.computation)
    return tuple(reversed(path))


def _share(part: int, whole: int) -> float | None:
    return min(part / whole, 1.0) if whole else None
