"""What is worth knowing first: of one module, from every analysis, and of the programs of a dump.

`Summary` is the answer of `hlotool summary` for a module, declared by `SUMMARY`; a `ProgramRow` is
one program of a directory, declared by `SUMMARY_DIRECTORY`. Nothing is computed here but which
figure is the worst and which columns have anything in them; and how long one step takes on a chip.

`Roofline` is the least time at its peaks, `StepEstimate` an estimate. Both are of one device, in
seconds. The first takes work and traffic to overlap in full and leaves communication aside, so that
it is a bound; the second is what the modelled clock of `hlotool outline` shows at the end, waiting
included. Launches and caches are in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.rows import HOST_TOTALS, CollectiveRow, HostTotals
from hlotool.analysis.collectives.totals import COLLECTIVE_TOTALS, CollectiveTotals
from hlotool.analysis.cost.chips import ASSUMED_BF16, Chip, list_unstated, weigh_flops
from hlotool.analysis.cost.cost import pair_types
from hlotool.analysis.cost.model import COST, CostReport
from hlotool.analysis.findings.finding import FINDINGS, Finding, FindingCode, choose_finding_columns
from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.measured import (
    MEASURED,
    MEASURED_INSTRUCTIONS,
    STATED_INSTRUCTIONS,
    MeasuredFacts,
    MeasuredInstruction,
)
from hlotool.analysis.memory.answer import ROWS
from hlotool.analysis.memory.figures import ESTIMATED, FIT, PEAK, TOTALS, Fit, MemoryFigures
from hlotool.analysis.memory.placed import REPLICATED, ReplicatedRow
from hlotool.analysis.summary.counts import Compilation, DtypeRow, LoopRow, ModuleFacts, OpcodeRow
from hlotool.table import NUMBER, Block, DocumentSpec, RowList, Shown, column, figure

if TYPE_CHECKING:
    from hlotool.analysis.outline.clock import StepTime

RooflineBound: TypeAlias = Literal["compute", "memory"]


class Roofline(Struct, frozen=True, kw_only=True):
    """The least time of one step on a chip at its peaks, communication left aside."""

    chip: Annotated[str, figure("the chip of --chip")]
    bound: Annotated[
        RooflineBound | None,
        figure(
            "the longer of compute and memory at the chip's peaks, without "
            "communication; null if an unknown part could change it"
        ),
    ]
    compute_seconds: Annotated[
        float,
        figure(
            "time of total_flops_per_step at the chip's matrix peaks: products at the peak "
            "of their type, all else at bfloat16's",
            is_summed=True,
            lower_if="is_compute_lower_bound",
        ),
    ]
    memory_seconds: Annotated[
        float,
        figure(
            "time of traffic_bytes_per_step, with collectives and copies, at memory "
            "bandwidth; step_time.memory_seconds is the part that work waits for",
            is_summed=True,
            lower_if="is_memory_lower_bound",
        ),
    ]
    roofline_seconds: Annotated[
        float, figure("the longer of the two", is_summed=True, lower_if="is_lower_bound")
    ]
    padded_memory_seconds: Annotated[
        float,
        figure(
            "memory_seconds if all tile padding crosses memory; the real share is unknown",
            is_summed=True,
            lower_if="is_memory_lower_bound",
        ),
    ]
    is_compute_lower_bound: Annotated[bool, figure("whether some flops are not known")]
    is_memory_lower_bound: Annotated[bool, figure("whether some traffic is not known")]
    is_lower_bound: Annotated[bool, figure("whether either is incomplete")]
    is_upper_bound: Annotated[bool, figure("whether they include work that might not run")]
    assumed_bf16: Annotated[tuple[str, ...], figure(ASSUMED_BF16)]


def measure_roofline(cost: CostReport, chip: Chip) -> Roofline:
    """Hold the figures of a step against the peaks of a chip.

    As of fusions, nothing is said of launches, caches and transcendentals; work and traffic are
    taken to overlap in full. A bound is named only where the time of the other is known in
    full, and neither the padding of tiles nor a peak that nobody states could overturn it.
    """
    products = pair_types(cost.product_types, cost.product_flops_per_step)
    vector = cost.flops_per_step - cost.matrix_flops_per_step
    weighed = weigh_flops(cost.total_flops_per_step, products, chip, vector)
    padded = cost.padded_traffic_bytes_per_step / chip.hbm_bytes_per_second
    unstated = list_unstated(products, chip)
    compute = weighed / chip.flops_per_second
    memory = cost.traffic_bytes_per_step / chip.hbm_bytes_per_second
    bound: RooflineBound = "compute" if compute > memory else "memory"
    is_lower = {"compute": cost.is_total_lower_bound, "memory": cost.is_traffic_lower_bound}
    other = "memory" if bound == "compute" else "compute"
    return Roofline(
        chip=chip.name,
        bound=None
        if is_lower[other] or (bound == "compute" and (unstated or padded > compute))
        else bound,
        compute_seconds=compute,
        memory_seconds=memory,
        padded_memory_seconds=padded,
        roofline_seconds=max(compute, memory),
        is_compute_lower_bound=is_lower["compute"],
        is_memory_lower_bound=is_lower["memory"],
        is_lower_bound=any(is_lower.values()),
        is_upper_bound=cost.is_upper_bound,
        assumed_bf16=unstated,
    )


StepPart: TypeAlias = Literal["compute", "memory", "exposed"]


class StepEstimate(Struct, frozen=True, kw_only=True):
    """The estimated time of one step, and of its parts."""

    machine: Annotated[str, figure("the machine that it is estimated for")]
    estimated_seconds: Annotated[
        float,
        figure(
            "rough estimate of the time of one step: all work at the chip's peaks, plus "
            "exposed communication",
            is_summed=True,
            lower_if="is_lower_bound",
        ),
    ]
    padded_seconds: Annotated[
        float,
        figure(
            "estimated_seconds if all tile padding crosses memory",
            is_summed=True,
            lower_if="is_lower_bound",
        ),
    ]
    xla_seconds: Annotated[
        float | None,
        figure(
            "XLA's own estimate: estimated_cycles in the TPU after_codegen text, at the "
            "chip's clock; null without that text"
        ),
    ]
    memory_seconds: Annotated[
        float,
        figure(
            "the memory-bound part, with waits for copies; traffic hidden by longer compute "
            "or transfers counts only in bound.memory_seconds"
        ),
    ]
    exposed_seconds: Annotated[float, figure("the part in which work waits for collectives")]
    largest_part: Annotated[
        StepPart | None,
        figure(
            "its largest part: compute-bound work, memory-bound work, or waiting for "
            "collectives; null if an unknown part could be larger"
        ),
    ]
    largest_share: Annotated[float | None, figure("share of the largest part")]
    is_lower_bound: Annotated[bool, figure("whether a part of it is unknown")]
    is_upper_bound: Annotated[bool, figure("whether a part of it might not run")]
    assumed_bf16: Annotated[tuple[str, ...], figure(ASSUMED_BF16)]


STEP_TIME: Final = Block(
    "step_time",
    StepEstimate,
    "with --chip: estimated time of one step; null if the text is not a schedule",
    is_optional=True,
    is_nullable=True,
)


def describe_step_time(
    found: StepTime | None, machine: str, xla_seconds: float | None = None
) -> StepEstimate | None:
    """Return the figures of an estimate, None where there is none, or no chip was named."""
    if found is None or not found.is_timed:
        return None
    taken = found.duration
    parts: dict[StepPart, float] = {
        "compute": taken.compute,
        "memory": taken.memory,
        "exposed": taken.exposed,
    }
    part = max(parts, key=parts.__getitem__)
    padded = found.padded
    rival = max(padded.compute, padded.memory, padded.exposed)
    # What is unknown could be the largest, and so could padding.
    is_sure = taken.is_known and bool(taken.total) and rival == getattr(padded, part)
    largest = part if is_sure else None
    return StepEstimate(
        machine=machine,
        estimated_seconds=taken.total,
        padded_seconds=found.padded.total,
        xla_seconds=xla_seconds,
        memory_seconds=taken.memory,
        exposed_seconds=taken.exposed,
        largest_part=largest,
        largest_share=parts[part] / taken.total if largest else None,
        is_lower_bound=not taken.is_known,
        is_upper_bound=found.is_upper_bound,
        assumed_bf16=found.assumed_bf16,
    )


_LEAST_SHARE: Final = 0.01


class Summary(Struct, frozen=True):
    """The answer of `hlotool summary`.

    `memory` is None where nothing tells of it: `memory_unknown` is the reason. `roofline` and
    `step_time` are None without a chip, `free memory` without a limit. `instructions` are those
    that a profile has times of, the longest first.
    """

    module: ModuleFacts
    compilation: Compilation
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]
    cost: CostReport
    memory: MemoryFigures | None
    collectives: CollectiveTotals
    host: HostTotals
    findings: tuple[Finding, ...]
    measured: MeasuredFacts | None = None
    memory_unknown: str = ""
    roofline: Roofline | None = None
    fit: Fit | None = None
    worst_collective: CollectiveRow | None = None
    instructions: tuple[MeasuredInstruction, ...] = ()
    step_time: StepEstimate | None = None
    replicated: tuple[ReplicatedRow, ...] = ()

    @property
    def most_replicated(self) -> ReplicatedRow | None:
        """What most of the peak is replicated over, if that is a hundredth of it at least."""
        peak = self.memory.peak.bytes if self.memory else None
        first = next(iter(self.replicated), None)
        return first if first and peak and first.peak_bytes >= _LEAST_SHARE * peak else None


def find_worst(rows: Sequence[CollectiveRow]) -> CollectiveRow | None:
    """Return the collective of which most is exposed, in time or else in bytes; None if none is."""
    if by_time := [row for row in rows if row.exposed_seconds]:
        return max(by_time, key=lambda row: row.exposed_seconds or 0)
    by_bytes = [row for row in rows if row.exposed_bytes_per_step]
    return max(by_bytes, key=lambda row: row.exposed_bytes_per_step or 0, default=None)


MODULE: Final = Block("module", ModuleFacts, "the module itself; all bytes are per device")
OPCODES: Final = RowList(
    "opcodes",
    OpcodeRow,
    "opcodes, largest results first",
    sort="-executed_bytes,-executed_count,-count",
    size="executed_bytes",
    title="Opcodes",
    limit=12,
    screen="opcode,executed_count,executions,executed_bytes,measured_count,measured_seconds",
    wide_screen="fused_count",
)
DTYPES: Final = RowList(
    "dtypes",
    DtypeRow,
    "element types, most bytes first",
    sort="-result_bytes",
    size="result_bytes",
    title="Element types of all results",
    limit=8,
)
LOOPS: Final = RowList(
    "loops",
    LoopRow,
    "loops in program order, inner loops after outer ones",
    upper_if=("is_upper_bound",),
    has_total=False,
    title="Loops",
    limit=3,
    screen="name,trip_count,contradicting_trip_count,traffic_bytes_per_step,sent_bytes_per_step",
    wide_screen="trip_count_source,executions,loop_state_bytes",
)
MEMORY: Final = Block(
    "memory",
    MemoryFigures,
    "memory of space 0; null without a schedule, and on TPU without layouts",
    blocks=(TOTALS, PEAK, replace(ESTIMATED, is_nullable=True, is_optional=False)),
    is_nullable=True,
)
COLLECTIVES: Final = replace(COLLECTIVE_TOTALS, name="collectives")
HOLDERS: Final = replace(
    ROWS,
    name="holders",
    meaning="values that hold memory at the peak of space 0, as in `hlotool buffers`",
    is_optional=True,
    has_total=False,
    limit=5,
    title="Largest values at the peak",
    screen="live_bytes,count,shape,value,origin",
    wide_screen="source,spec_text,global_shape,allocation_type",
    chosen=tuple(
        replace(each, null_from="source") if each.name == "origin" else each for each in ROWS.fields
    ),
).showing({"live_bytes", "count", "allocation_type", "shape", "value", "source", "origin"})
COMPILATION: Final = Block(
    "compilation", Compilation, "compiler, flags and mesh, as far as its files name them"
)
ROOFLINE: Final = Block(
    "roofline",
    Roofline,
    "with --chip: whether compute or memory limits a step at the chip's peaks",
    is_optional=True,
)
SUMMARY: Final = DocumentSpec(
    "summary",
    "one module and its contents",
    blocks=(
        *(MODULE, COMPILATION, COST, ROOFLINE, STEP_TIME, MEMORY),
        replace(FIT, meaning=f"with --hbm or --chip: {FIT.meaning}"),
        *(COLLECTIVES, HOST_TOTALS, MEASURED),
    ),
    row_lists=(
        *(OPCODES, DTYPES, LOOPS, replace(FINDINGS, is_optional=True), HOLDERS),
        *(REPLICATED, MEASURED_INSTRUCTIONS),
    ),
)


def choose_summary_columns(found: Summary, *, is_sharded: bool = False) -> DocumentSpec:
    """Return the answer with columns for contradicted trip counts and measured times if any.

    Findings have the one that they are sorted by, and holders how parameters are sharded.
    """
    holders = HOLDERS
    if is_sharded:
        holders = HOLDERS.showing(HOLDERS.shown() | {"global_shape", "spec_text"})
        holders = replace(holders, screen=f"{HOLDERS.screen},spec_text,source")
    opcodes, shown = OPCODES, LOOPS
    if all(loop.contradicting_trip_count is None for loop in found.loops):
        shown = LOOPS.showing(LOOPS.shown() - {"contradicting_trip_count"})
    if found.measured is not None:
        chosen = OPCODES.showing(OPCODES.shown() | {"measured_count", "measured_seconds"})
        opcodes = replace(chosen, sort=f"-measured_seconds,{OPCODES.sort}")
    is_stated = any(row.category for row in found.instructions)
    chosen_lists = {
        OPCODES.name: opcodes,
        LOOPS.name: shown,
        FINDINGS.name: replace(choose_finding_columns(found.findings), is_optional=True),
        HOLDERS.name: holders,
        **({STATED_INSTRUCTIONS.name: STATED_INSTRUCTIONS} if is_stated else {}),
    }
    row_lists = tuple(chosen_lists.get(one.name, one) for one in SUMMARY.row_lists)
    return replace(SUMMARY, row_lists=row_lists)


ProgramStage: TypeAlias = Literal["before", "after"]


def _show_allocated(row: ProgramRow) -> object:
    return Shown(row.allocated_bytes, "~ " * row.is_estimate)


def _show_peak(row: ProgramRow) -> object:
    return Shown(row.peak_bytes, "~ " * row.is_estimate)


def _show_program(row: ProgramRow) -> object:
    """Write a module's name, with what tells it from others of its folder."""
    name = row.program.removeprefix(f"{row.folder}/")
    return name.removesuffix(f" {row.place.rpartition(' ')[2]}") or row.module


class ProgramRow(Struct, frozen=True):
    """One program of a dump directory; figures are None where the dump does not tell.

    `error` says why a program could not be read; all its figures are None then.
    """

    module: Annotated[str, column("the module's name", shown=_show_program)]
    path: Annotated[str, figure("the text it was read from")]
    place: Annotated[
        str,
        column("location in the directory, XLA's number in place of the name; --module accepts it"),
    ]
    backend: Annotated[Backend | None, column("the backend, recognized from the text")] = None
    stage: Annotated[ProgramStage | None, figure("before or after optimizations")] = None
    instruction_count: Annotated[
        int | None, column("instructions in the text", heading="instructions")
    ] = None
    allocated_bytes: Annotated[
        int | None,
        column(
            "bytes that the runtime reserves in the default memory space, or an estimate",
            is_summed=False,
            shown=_show_allocated,
            lower_if="is_memory_lower_bound",
        ),
    ] = None
    temp_bytes: Annotated[
        int | None, column("its temporary part; null in an estimate", is_summed=False)
    ] = None
    peak_bytes: Annotated[
        int | None,
        column(
            "most bytes in use at once, or an estimate",
            is_summed=False,
            shown=_show_peak,
            lower_if="is_memory_lower_bound",
        ),
    ] = None
    collective_count: Annotated[
        int | None, column("logical collectives", heading="collectives")
    ] = None
    sent_bytes_per_step: Annotated[
        int | None,
        column(
            "bytes one device sends per step of the entry",
            lower_if="is_sent_lower_bound",
            upper_if="is_sent_upper_bound",
        ),
    ] = None
    axes: Annotated[
        tuple[str, ...] | None,
        column("mesh axes over which it sends most bytes, or strides", null_text=""),
    ] = None
    total_flops_per_step: Annotated[
        int | None,
        column(
            "floating-point operations of one step, with known custom calls",
            heading="flops/step",
            lower_if="is_total_lower_bound",
            upper_if="is_total_upper_bound",
        ),
    ] = None
    measured_count: Annotated[
        int | None, figure("from a profile: its runs on all devices together", heading="runs")
    ] = None
    measured_seconds: Annotated[
        float | None,
        figure("from a profile: mean time of a step on a device", heading="measured/step"),
    ] = None
    finding_count: Annotated[int | None, column("findings", heading="findings", is_exact=True)] = (
        None
    )
    top_finding: Annotated[
        FindingCode | None,
        column("the first finding, in the order of `--rows findings`", null_text=""),
    ] = None
    is_estimate: Annotated[
        bool, figure("whether memory is estimated, because no buffer assignment exists")
    ] = False
    is_memory_lower_bound: Annotated[
        bool, figure("whether a size is unknown and counted as 0 in an estimate")
    ] = False
    is_sent_lower_bound: Annotated[
        bool, figure("whether a size or an execution of a collective is unknown")
    ] = False
    is_total_lower_bound: Annotated[
        bool, figure("whether a trip count or the flops of a custom call are unknown")
    ] = False
    is_sent_upper_bound: Annotated[
        bool, figure("whether a collective is in a branch that might not run")
    ] = False
    is_total_upper_bound: Annotated[
        bool, figure("whether the flops count work that might not run")
    ] = False
    error: Annotated[str | None, figure("why the program could not be read")] = None
    program: Annotated[str, figure("name of the program, unique in the answer")] = ""
    folder: Annotated[str, figure("folder of the program below PATH")] = ""
    arguments: Annotated[
        tuple[str, ...] | None, figure("its arguments; each tree as its root and a digest")
    ] = None
    fingerprint: Annotated[
        str | None, figure("fingerprint of the content: operations and their operands")
    ] = None


class DirectoryFit(Struct, frozen=True):
    """Which programs allocate more than a limit, and of how many nobody can tell."""

    too_large: tuple[ProgramRow, ...]
    unknown_count: int


def check_fit(rows: Iterable[ProgramRow], limit_bytes: int) -> DirectoryFit:
    """Hold programs against a limit; a lower bound below it, and no figure, tell nothing."""
    large, unknown = [], 0
    for row in rows:
        if row.allocated_bytes is not None and row.allocated_bytes > limit_bytes:
            large.append(row)
        elif row.allocated_bytes is None or row.is_memory_lower_bound:
            unknown += 1
    return DirectoryFit(tuple(large), unknown)


MODULES: Final = RowList(
    "modules",
    ProgramRow,
    "programs, most memory first",
    sort="-allocated_bytes,-peak_bytes,-instruction_count",
    size="allocated_bytes",
    key="place",
    has_total=False,
    screen="module,place,allocated_bytes,peak_bytes,"
    "measured_seconds,total_flops_per_step,top_finding",
    wide_screen="sent_bytes_per_step,axes,temp_bytes,instruction_count,finding_count",
)
_REASONS: Final[Mapping[str, str]] = {
    "argument": "an argument is new, gone or renamed",
    "shape": "the shape of an argument changed",
    "type": "the dtype of an argument changed",
    "sharding": "the sharding of an argument or a value changed",
    "donation": "the donation of an argument changed",
    "constant": "a constant changed, such as a static argument or a value in a closure",
    "flag": "a compiler flag changed",
    "program": "the program changed with the same arguments, as with a new static argument",
    "nothing": "the dumps are equal; dumps do not show weak types, JAX settings, devices or "
    "recreated functions",
}
ReasonKind: TypeAlias = Literal[
    "argument", "shape", "type", "sharding", "donation", "constant", "flag", "program", "nothing"
]


class ReasonRow(Struct, frozen=True):
    """One thing in which a compilation differs from the nearest earlier one of its function."""

    function: Annotated[str, column("the function, by the name of its modules")]
    place: Annotated[str, column("the compilation, as in `modules`")]
    compilation: Annotated[int, column("number among the function's compilations", NUMBER)]
    compared_with: Annotated[
        str, column("an equal earlier compilation, else the previous one", heading="against")
    ]
    reason: Annotated[ReasonKind, column("cause of the compilation", word_meanings=_REASONS)]
    count: Annotated[int, column("number of arguments, constants, … that differ")] = 1
    subject: Annotated[str, column("their names or their differences")] = ""
    old: Annotated[str | None, column("old value", heading="was", null_text="")] = None
    new: Annotated[str | None, column("new value", heading="is", null_text="")] = None


COMPILATIONS: Final = RowList(
    "compilations",
    ReasonRow,
    "causes of recompilation",
    key="place",
    has_total=False,
    screen="function,place,compared_with,reason,subject,old,new",
    wide_screen="compilation,count",
)
SUMMARY_DIRECTORY: Final = DocumentSpec(
    "summary-directory", "the programs of a dump directory", row_lists=(MODULES, COMPILATIONS)
)


def choose_directory_columns(rows: Sequence[ProgramRow]) -> DocumentSpec:
    """Return the answer with columns for measured times, and for axes, if any row has them."""
    shown = MODULES.shown() - (set() if any(row.axes for row in rows) else {"axes"})
    if any(row.measured_count is not None for row in rows):
        shown |= {"measured_count", "measured_seconds"}
    return replace(SUMMARY_DIRECTORY, row_lists=(MODULES.showing(shown), COMPILATIONS))
