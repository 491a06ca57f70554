"""All there is to know about the things that were named: the answer of `hlotool show`.

Beside what each subject is (`subjects`): the values that it defines and what shares their bytes,
what gives to it and takes from it, and what is inside it. Ways to neighbours lead through calls:
what a parameter of a called computation holds was given by the callers, and its root is what the
callers return. A reducer's parameters are given element by element, by nobody in particular.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.report import COLLECTIVE_ROWS, choose_row_columns
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.findings.finding import FINDINGS, Finding
from hlotool.analysis.graph.calls import list_branches
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.rows import describe_placed
from hlotool.analysis.origin import add_stacks, read_origin, write_short_source
from hlotool.analysis.show.names import Meant, expect_meant
from hlotool.analysis.show.subjects import (
    InstructionName,
    ShapeText,
    ShowEvidence,
    SizeBytes,
    SubjectRow,
    describe_subject,
)
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.buffers import Allocation, AllocationType, BufferValue
from hlotool.hlo.module import all_operands, find_async_start
from hlotool.hlo.values import ShapeIndex
from hlotool.table import NUMBER, Block, DocumentSpec, RowList, column, figure


class ShowReport(Struct, frozen=True):
    """Subjects in the order asked for; of each, what stands around and inside it."""

    subjects: tuple[SubjectRow, ...]
    memory: tuple[ShownValue, ...]
    sharing: tuple[SharingValue, ...]
    neighbours: tuple[NeighbourRow, ...]
    body: tuple[BodyRow, ...]
    collectives: tuple[CollectiveRow, ...]
    findings: tuple[Finding, ...]


def show_names(names: Iterable[str], hops: int, evidence: ShowEvidence) -> ShowReport:
    """Return what there is to know about some names; each subject once.

    Raises UsageError where a name means nothing, or several things.
    """
    wanted: dict[Instruction | Computation, Meant] = {}
    for name in names:
        meant = expect_meant(name, evidence.names)
        if meant.computation is not None:
            wanted.setdefault(meant.computation, meant)
        for one in meant.instructions:
            wanted.setdefault(one, meant)
    instructions = [(one, each) for one, each in wanted.items() if isinstance(one, Instruction)]
    memory, sharing = _list_values([(one, each.index) for one, each in instructions], evidence)
    # The row of a collective has the name of its first step; its later steps stand for it too.
    starts = (find_async_start(one) for one, _ in instructions)
    named = {one.full_name for one, _ in instructions}
    sent = named | {start.full_name for start in starts if start}
    subjects = [describe_subject(one, each, evidence) for one, each in wanted.items()]
    return ShowReport(
        add_stacks(subjects, evidence.module),
        memory,
        sharing,
        tuple(
            row
            for one, each in instructions
            for row in _list_neighbours(one, each.index, hops, evidence)
        ),
        tuple(row for one in wanted for row in _list_body(one, evidence.costs)),
        tuple(row for row in evidence.collectives if row.name in sent),
        tuple(each for each in evidence.findings if each.instruction in named),
    )


class ShownValue(Struct, frozen=True, kw_only=True):
    """One value that an instruction defines, and where it lies."""

    of: Annotated[str, figure("the subject")]
    value: Annotated[str, column("defining instruction and index")]
    size_bytes: Annotated[int, column("size in memory, with padding", is_summed=False)]
    allocation_type: Annotated[AllocationType, column("type of its allocation")]
    space: Annotated[int, column("number of the memory space")]
    allocation: Annotated[
        int | None, column("number of its allocation; null in an estimate", NUMBER, null_text="–")
    ]
    offset: Annotated[
        int | None,
        column("first byte inside the allocation; null in an estimate", NUMBER, null_text="–"),
    ]
    live_from: Annotated[int | None, column("first position at which it is live", NUMBER)]
    live_until: Annotated[int | None, column("last position at which it is live", NUMBER)]
    peak_bytes: Annotated[
        int | None,
        column(
            "its bytes at the peak of its space; 0 if it is not live there, or another "
            "value has its bytes",
            heading="at peak",
            is_summed=False,
        ),
    ]
    source: Annotated[
        str | None, column("file and line without directories; after `for`, those of a user")
    ]
    origin: Annotated[str | None, column("its parameter or scope, as in `buffers`", is_path=True)]


class SharingValue(Struct, frozen=True):
    """A value that lies, at some time, in bytes of a value of the subject."""

    of: Annotated[str, figure("the subject's value")]
    value: Annotated[str, column("defining instruction and index", heading="in the same bytes")]
    shared_bytes: Annotated[int, column("bytes that both share", is_summed=False)]
    size_bytes: Annotated[int, column("size in memory, with padding", is_summed=False)]
    live_from: Annotated[int | None, column("first position at which it is live", NUMBER)]
    live_until: Annotated[int | None, column("last position at which it is live", NUMBER)]


def _list_values(
    subjects: Iterable[tuple[Instruction, ShapeIndex | None]], evidence: ShowEvidence
) -> tuple[tuple[ShownValue, ...], tuple[SharingValue, ...]]:
    """Return the values that instructions define, at one index or all, and what shares them."""
    if (memory := evidence.memory) is None:
        return (), ()
    found = [
        (instruction, allocation, value)
        for instruction, index in subjects
        for allocation, value in evidence.values.get(instruction.name, ())
        if index in {None, value.index or ()}
    ]
    told = [(allocation, value, None) for _, allocation, value in found]
    rows = describe_placed(memory, told)
    values: list[ShownValue] = []
    sharing: list[SharingValue] = []
    for (instruction, allocation, value), row in zip(found, rows, strict=True):
        held = None if allocation.is_thread_local else evidence.peak_bytes.get(allocation.color)
        values.append(
            ShownValue(
                of=instruction.full_name,
                value=value.name,
                size_bytes=row.size_bytes,
                allocation_type=row.allocation_type,
                space=row.space,
                allocation=row.allocation,
                offset=row.offset,
                live_from=row.live_from,
                live_until=row.live_until,
                peak_bytes=None if held is None else held.get(value, 0),
                source=row.source,
                origin=row.origin,
            )
        )
        if memory.figures.sizes_from != "estimate":
            sharing += _list_sharing(value, allocation, memory.map)
    return tuple(values), tuple(sharing)


def _list_sharing(
    value: BufferValue, allocation: Allocation, memory: MemoryMap
) -> Iterable[SharingValue]:
    low, high = value.offset, value.offset + value.size_bytes
    for other in allocation.values:
        shared = min(high, other.offset + other.size_bytes) - max(low, other.offset)
        if other is value or shared <= 0:
            continue
        live = None if allocation.is_thread_local else memory.range_of(other)
        yield SharingValue(
            value.name,
            other.name,
            shared,
            other.size_bytes,
            live.start if live else None,
            live.end if live else None,
        )


Relation: TypeAlias = Literal["operand", "user"]


class NeighbourRow(Struct, frozen=True):
    """One instruction on a way to or from the subject."""

    of: Annotated[str, figure("the subject")]
    relation: Annotated[Relation, column("operand: the subject uses it; user: it uses the subject")]
    hops: Annotated[int, column("steps away from the subject", NUMBER)]
    name: InstructionName
    opcode: Annotated[str, column("the opcode")]
    shape: ShapeText
    size_bytes: SizeBytes
    computation: Annotated[str, figure("the computation that holds it")]
    scope: Annotated[str | None, column("module path in the op_name", is_path=True)]
    source: Annotated[str | None, figure("file and line without directories")]
    reached_from: Annotated[str, figure("the neighbour, or the subject, one step nearer")]


def _list_neighbours(
    subject: Instruction, index: ShapeIndex | None, hops: int, evidence: ShowEvidence
) -> Iterator[NeighbourRow]:
    """Yield what is at most so many steps away, operands first; each instruction once a way.

    Of a part of the subject's tuple, at `index`, that is what gives to this part or takes it, as
    far as a tuple or a loop tells.
    """
    relations: tuple[Relation, ...] = ("operand", "user")
    for relation in relations:
        met = {subject}
        ring: list[Instruction] = [subject]
        for hop in range(1, hops + 1):
            reached = {
                one: each
                for each in reversed(ring)
                for one in _list_adjacent(each, relation, evidence)
            }
            if hop == 1 and index:
                part = _keep_part(reached, subject, index[0], relation)
                reached = dict.fromkeys(part, subject)
            ring = [one for one in reached if one not in met]
            met.update(ring)
            for one in ring:
                origin = read_origin(one)
                shape, size_bytes = evidence.tell_shape(one)
                yield NeighbourRow(
                    of=subject.full_name,
                    relation=relation,
                    hops=hop,
                    name=one.full_name,
                    opcode=one.opcode,
                    shape=shape,
                    size_bytes=size_bytes,
                    computation=one.computation.name,
                    scope=origin.scope,
                    source=write_short_source(origin.source_file, origin.source_line),
                    reached_from=reached[one].full_name,
                )


def _list_adjacent(
    one: Instruction, relation: Relation, evidence: ShowEvidence
) -> Sequence[Instruction]:
    """Return the operands or users; at the border of a computation what callers give or take."""
    callers = evidence.costs.graph.callers.get(one.computation, ())
    if relation == "user":
        return (*one.users, *(callers if one.is_root else ()))
    if one.opcode != "parameter":
        return one.operands
    given = dict.fromkeys(_find_given(caller, one) for caller in callers)
    return tuple(each for each in given if each is not None)


def _keep_part(
    reached: Iterable[Instruction], subject: Instruction, part: int, relation: Relation
) -> Iterator[Instruction]:
    """Yield of what gives to a tuple, or takes it, what has to do with one part of it."""
    if relation == "operand" and subject.opcode == "tuple":
        yield subject.operands[part]
        return
    for one in reached:
        if relation == "operand":
            is_state = subject.opcode == "while" and one.opcode == "tuple"
            yield one.operands[part] if is_state else one
        elif one.opcode != "get-tuple-element" or one.tuple_index == part:
            yield one


def _find_given(caller: Instruction, parameter: Instruction) -> Instruction | None:
    """Return what a caller gives a parameter of what it calls; None where that is not one value."""
    if caller.opcode not in {"while", "conditional", "fusion", "call", "async-start"}:
        return None
    number, given = parameter.parameter_number, all_operands(caller)
    if caller.opcode == "conditional":
        number = 1 + list_branches(caller).index(parameter.computation)
    return given[number] if number < len(given) else None


class BodyRow(Struct, frozen=True):
    """One instruction inside; figures of one execution."""

    of: Annotated[str, figure("the subject")]
    computation: Annotated[str, figure("the computation that holds it", heading="in")]
    name: InstructionName
    opcode: Annotated[str, column("the opcode")]
    shape: ShapeText
    operands: Annotated[tuple[str, ...], column("its operands by name")]
    size_bytes: Annotated[int | None, figure("size of the result", is_summed=False)]
    flops: Annotated[
        int | None,
        column("flops of one execution; null if unknown", lower_if="is_flops_lower_bound"),
    ]
    is_flops_lower_bound: Annotated[bool, figure("whether some of its flops are unknown")]
    scope: Annotated[str | None, column("module path in the op_name", is_path=True)]


def _list_body(subject: Instruction | Computation, costs: CostModel) -> Iterator[BodyRow]:
    """Yield the instructions of a computation, or of what an instruction calls, as in the text."""
    of, inside = subject.name, [subject] if isinstance(subject, Computation) else []
    if isinstance(subject, Instruction):
        of, inside = subject.full_name, list(dict.fromkeys(subject.called_computations()))
    for computation in inside:
        for one in computation.instructions:
            cost = costs.of(one)
            is_unknown = cost.is_total_lower_bound and not cost.total_flops
            yield BodyRow(
                of,
                one.computation.name,
                one.name,
                one.opcode,
                str(one.shape),
                tuple(operand.name for operand in one.operands),
                costs.find_size_bytes(one.shape),
                None if is_unknown else cost.total_flops,
                cost.is_total_lower_bound,
                read_origin(one).scope,
            )


SUBJECTS: Final = RowList(
    "subjects",
    SubjectRow,
    "the named instructions, computations and parameters, in the order typed",
    size="traffic_bytes_per_step",
    lower_if=("is_lower_bound",),
    upper_if=("is_upper_bound",),
    has_total=False,  # a loop and what is in it do not add up
    screen="name,opcode,shape,size_bytes,executions,"
    "flops_per_step,traffic_bytes_per_step,measured_seconds,scope",
    wide_screen="traffic_share",
)
SUBJECT: Final = Block("subject", SubjectRow, "the subject that was named")
MEMORY: Final = RowList(
    "memory",
    ShownValue,
    "the values that the subjects define, with their memory",
    size="size_bytes",
    key="value",
    has_total=False,
    title="Memory",
    screen="of,value,size_bytes,allocation_type,live_from,live_until,peak_bytes,origin",
    wide_screen="space,allocation,offset,source",
)
SHARING: Final = RowList(
    "sharing",
    SharingValue,
    "values that use the same bytes at some time, by live range",
    sort="live_from",
    size="size_bytes",
    key="value",
    has_total=False,
    limit=8,
    title="In the same bytes at some time",
)
NEIGHBOURS: Final = RowList(
    "neighbours",
    NeighbourRow,
    "operands and users of the subjects, nearest first; with --hops, further away",
    size="size_bytes",
    key="name",
    has_total=False,
    title="Operands and users",
    screen="of,relation,name,opcode,shape,scope",
    wide_screen="hops,size_bytes",
)
BODY: Final = RowList(
    "body",
    BodyRow,
    "instructions inside, in the order of the text; figures of one execution",
    size="flops",
    key="name",
    has_total=False,
    title="Inside",
    screen="of,name,opcode,shape,scope",
    wide_screen="operands,flops",
)
_TIMES: Final = {"transfer_seconds", "overlapped_seconds", "exposed_seconds", "measured_seconds"}
COLLECTIVES: Final = replace(
    COLLECTIVE_ROWS.showing(COLLECTIVE_ROWS.shown() - _TIMES),
    name="collectives",
    meaning="collectives that a subject is, starts, ends or contains",
    has_total=False,
    title="Collective",
)
FOUND: Final = replace(FINDINGS, meaning="findings about the subjects")
SHOW: Final = DocumentSpec(
    "show",
    "instructions, computations, parameters or source lines",
    row_lists=(SUBJECTS, MEMORY, SHARING, NEIGHBOURS, BODY, COLLECTIVES, FOUND),
)


def choose_show_columns(collectives: Sequence[CollectiveRow]) -> DocumentSpec:
    """Return the declaration with the columns that `hlotool collectives` would show."""
    shown = COLLECTIVES.showing(choose_row_columns(collectives).shown())
    return replace(SHOW, row_lists=(SUBJECTS, MEMORY, SHARING, NEIGHBOURS, BODY, shown, FOUND))


def choose_several_columns(subjects: Sequence[SubjectRow]) -> DocumentSpec:
    """Return the declaration for several names, with measured times if a profile has any.

    Each row says which of them it is about.
    """
    is_measured = any(row.measured_seconds is not None for row in subjects)
    timed = SUBJECTS.showing(SUBJECTS.shown() | {"measured_seconds"}) if is_measured else SUBJECTS
    told = (each.showing(each.shown() | {"of"}) for each in (MEMORY, SHARING, NEIGHBOURS, BODY))
    return replace(SHOW, row_lists=(timed, *told, COLLECTIVES, FOUND))
