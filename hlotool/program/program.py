"""What does the user say that no dump tells?

What has the user to know of the files of a program? Sentences for stderr.

Which figure or list of a program does a name such as `buffers.temp_bytes` mean?

`figures` says where each is found. Only who asks by name pays for it: it declares every answer.

What was a program made of: files, and what the user says beside them?

What runs in a program, and what does it cost? Instructions, fusions and custom calls.

One program, and everything that is worked out about it: each thing once, when first asked for.

`given` has what it was made of, `work` what runs in it and what that costs; here are its memory,
its transfers, and what is drawn from all of these. No place but these knows which analysis needs
which other. Commands, the Python API, findings, diffs and budgets ask here.

Which figures of a program budgets and diffs may name, and where each is found.

The metrics of a program by name, such as `buffers.temp_bytes`: unit and meaning of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.host_rows import HOST_ROWS, HOST_TOTALS
from hlotool.analysis.collectives.machine import BACKEND_NAMES, Machine, Pricing, fit_machine, price
from hlotool.analysis.collectives.mesh import find_header_mesh
from hlotool.analysis.collectives.report import (
    COLLECTIVE_ROWS,
    COLLECTIVE_TOTALS,
    NO_OPTIONS,
    CollectiveOptions,
    CollectiveReport,
    analyze_collectives,
    measure_collectives,
    sum_collectives,
)
from hlotool.analysis.collectives.totals import CollectiveTotals
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.model import CostModel, measure_costs
from hlotool.analysis.cost.report import COST, CostReport, analyze_cost
from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.findings.find import find_findings
from hlotool.analysis.findings.finding import FINDINGS, Evidence, Finding
from hlotool.analysis.fusions.calls import (
    CustomCallRow,
    CustomCallTotals,
    add_up_calls,
    count_custom_calls,
)
from hlotool.analysis.fusions.missed import MissedRow, RecomputeRow, find_missed, find_recomputed
from hlotool.analysis.fusions.report import (
    CUSTOM_CALLS,
    FUSION_ROWS,
    FUSION_TOTALS,
    FusionReport,
    OutsideFusions,
    add_measured_calls,
    add_measured_times,
    estimate_call_times,
    estimate_fusions,
    find_fusions,
    measure_outside,
)
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.calls import CallGraph, read_call_graph
from hlotool.analysis.graph.equality import Fingerprints
from hlotool.analysis.graph.executions import Executions, count_executions
from hlotool.analysis.measured import (
    MEASURED,
    MeasuredFacts,
    MeasuredInstruction,
    describe_runs,
    rank_instructions,
)
from hlotool.analysis.memory.answer import DONATION, ROWS
from hlotool.analysis.memory.check_assignment import find_unplaced
from hlotool.analysis.memory.donation import DonationRow, find_donations
from hlotool.analysis.memory.estimate.assignment import find_obstacle
from hlotool.analysis.memory.figures import ESTIMATED, SPACES, TOTALS
from hlotool.analysis.memory.headroom import measure_headroom
from hlotool.analysis.memory.memory_map import Holding, find_holdings
from hlotool.analysis.memory.reduction_plan import add_gains
from hlotool.analysis.memory.report import MemoryReport, analyze_memory, find_memory
from hlotool.analysis.memory.rows import BufferRow, rows_at
from hlotool.analysis.outline.clock import OutlineEvidence, RunTime, StepKind, estimate_run_time
from hlotool.analysis.outline.report import OutlineRow, outline_program
from hlotool.analysis.show.report import ShowReport, show_names
from hlotool.analysis.show.subjects import ShowEvidence
from hlotool.analysis.summary.counts import ModuleCounts, count_module
from hlotool.analysis.summary.loops import LoopRow, list_loops, weigh_loops
from hlotool.analysis.summary.module_facts import Compilation, list_axes
from hlotool.analysis.summary.report import (
    DTYPES,
    LOOPS,
    MODULE,
    OPCODES,
    Summary,
    find_worst,
    measure_opcodes,
)
from hlotool.analysis.summary.run import RUN_TIME, RunEstimate, bound_run, describe_run_time
from hlotool.errors import InputError
from hlotool.hlo import Mesh, Module
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.measurement import Measurement
from hlotool.program.call_rules import CallRule, compile_call_rules
from hlotool.program.siblings import MeshBeside
from hlotool.table import Block, Field, InputPaths, RowList


class Assumptions(Struct, frozen=True):
    """What custom calls cost whose text does not say, and what times are estimated for."""

    call_rules: tuple[CallRule, ...] = ()
    machine: Machine | None = None

    def for_several(self) -> Assumptions:
        """Return the same for several programs, of which a chip need not fit each."""
        if self.machine is None or not self.machine.must_fit:
            return self
        return replace(self, machine=replace(self.machine, must_fit=False))


NO_ASSUMPTIONS: Final = Assumptions()


def write_notes(module: Module | None, assignment: BufferAssignment | None) -> tuple[str, ...]:
    """Say what was not understood, and what may be missing where nothing tells."""
    notes = [
        _note_entry(module) if module else "",
        _note_unknown_lines(assignment) if assignment else "",
        _note_open_end(module, assignment) if assignment else "",
    ]
    return tuple(note for note in notes if note)


def note_chip(module: Module, chip: Chip) -> str:
    """Say that a chip is of another backend than a program, which has no times therefore."""
    chip_for, program_for = (
        BACKEND_NAMES.get(one or "", "another backend")
        for one in (chip.backend, find_backend(module))
    )
    return f"{chip.name} is a chip for {chip_for}: programs for {program_for} have no times on it."


def _note_entry(module: Module) -> str:
    entry = module.entry
    if entry.is_entry:
        return ""
    return (
        f"{module.source.name}: no computation is marked ENTRY, so {entry.name!r}, the last, is "
        "taken for it; whether the text is whole cannot be checked."
    )


def _note_unknown_lines(assignment: BufferAssignment) -> str:
    count = assignment.unknown_line_count
    if not count:
        return ""
    lines = "1 line is" if count == 1 else f"{count:,} lines are"
    kind = "of a kind not known here, and passed over"
    rest = "the rest of the buffer assignment adds up"
    return f"{assignment.source.name}: {lines} {kind}; {rest}."


def _note_open_end(module: Module | None, assignment: BufferAssignment) -> str:
    """Say what may be missing; allocations may not where each array of the module has one."""
    open_end = assignment.open_end
    if open_end is None:
        return ""
    if open_end.what == "allocations" and module and not find_problem(module):
        found = find_unplaced(module, assignment)
        if found is None or found.is_assigned:  # the latter is an error
            return ""
    return f"{open_end.source.name}: its end cannot be checked; {open_end.what} may be missing."


_ABOUT_MEMORY: Final = frozenset(("memory", "peak_rows"))  # what needs no module


class NamedFigures(ABC):
    """What a program is to budgets and diffs: figures by the names that they have there.

    Where nothing tells of a figure, it is None. Raises what the analyses raise.
    """

    module: Module | None

    @property
    @abstractmethod
    def memory(self) -> MemoryReport | None:
        """What memory it takes, None where nothing tells."""

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where the dump does not tell."""
        block, _, name = path.rpartition(".")
        record = self._find(_find_block(block))
        return None if record is None else getattr(record, name)

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        record = self._find(_find_block(path.rpartition(".")[0]))
        is_lower = bool(getattr(record, METRICS[path].lower_flag, False))
        return is_lower, bool(getattr(record, "is_upper_bound", False))

    def knows_rows(self, path: str) -> bool:
        """Say whether the dump tells of a list at all, empty or not."""
        is_about_memory = _find_list(path).partition(".")[0] in _ABOUT_MEMORY
        return (self.memory if is_about_memory else self.module) is not None

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of a list such as `collectives`; none where the dump does not tell."""
        found: Sequence[object] = self._find(_find_list(path)) or ()
        return found

    def _find(self, place: str) -> Any:
        """Return what attributes lead to, such as `memory.figures`; None where nothing tells."""
        if self.module is None and place.partition(".")[0] not in _ABOUT_MEMORY:
            return None
        found: Any = self
        for name in place.split("."):
            found = None if found is None else getattr(found, name)
        return found


def _find_block(path: str) -> str:
    """Return where a program has a record of metrics."""
    return BLOCKS[path].found_at


def _find_list(path: str) -> str:
    """Return where a program has a list of rows."""
    return LISTS[path].found_at


_TEXT = InputPaths("<text>")


class GivenProgram(NamedFigures):
    """The module, the buffer assignment, or both; a measurement, and what may be asked for beside.

    `assumptions` are what the user says beside it.
    """

    def __init__(
        self,
        name: str,
        module: Module | None,
        assignment: BufferAssignment | None = None,
        paths: InputPaths = _TEXT,
        assumptions: Assumptions = NO_ASSUMPTIONS,
        *,
        mesh_beside: MeshBeside | None = None,
        measured: Measurement | None = None,
        ask_beside: Callable[[], Compilation] = Compilation,
    ) -> None:
        self.name = name
        self.module = module
        self.assignment = assignment
        self.assumptions = assumptions
        self.measured = measured
        self._mesh_beside = mesh_beside
        self._ask_beside = ask_beside
        self._paths = paths

    @property
    def paths(self) -> InputPaths:
        """The files it was read from so far: a mesh is looked for only when axes need it."""
        mesh_path = self._mesh_beside.path if self._mesh_beside else None
        return replace(self._paths, mesh_path=mesh_path) if mesh_path else self._paths

    def without_assignment(self) -> Self:
        """Return the same program as if it had no buffer assignment."""
        return type(self)(
            *(self.name, self.module, None, self._paths, self.assumptions),
            mesh_beside=self._mesh_beside,
            measured=self.measured,
            ask_beside=self._ask_beside,
        )

    def notes(self) -> tuple[str, ...]:
        """Say in sentences what of its files was not understood, or may be missing."""
        about_chip = self.note_chip()
        return (
            *write_notes(self.module, self.assignment),
            *((about_chip,) if about_chip else ()),
        )

    def note_chip(self) -> str:
        """Say that the chip named is for programs of another backend, '' if it is not."""
        named = self.assumptions.machine
        chip = named.chip if named else None
        is_left_out = chip is not None and (self.machine is None or self.machine.chip is None)
        return note_chip(self.expect_module(), chip) if chip and is_left_out else ""

    @cached_property
    def machine(self) -> Machine | None:
        """What the user knows of the machine, as far as it holds for programs of this backend.

        Raises UsageError where the chip must fit, and does not.
        """
        named = self.assumptions.machine
        if named is None or named.chip is None or named.chip.backend is None or not self.module:
            return named
        return fit_machine(named, find_backend(self.module))

    def expect_module(self) -> Module:
        """Return the module, or raise InputError where the dump has no text of it."""
        if self.module is None:
            raise InputError(
                f"{self.paths.path}: the text of the module is missing beside this buffer "
                "assignment; name it with --module-text. `hlotool buffers` needs none."
            )
        return self.module

    def find_words(self) -> frozenset[str]:
        """Return the opcodes that its text holds, known to hlotool or not."""
        instructions = self.module.instructions() if self.module else ()
        return frozenset(one.opcode for one in instructions)

    def _find_mesh(self) -> Mesh | None:
        return self._mesh_beside.find(self.expect_module()) if self._mesh_beside else None

    @property
    def _chip(self) -> Chip | None:
        return self.machine.chip if self.machine else None


class ProgramWork(GivenProgram):
    """What a program does on one device, and how long a profiler saw it take.

    Raises InputError where there is no module, and what the analyses raise.
    """

    @cached_property
    def graph(self) -> CallGraph:
        """Which computations call which."""
        return read_call_graph(self.expect_module())

    @cached_property
    def prints(self) -> Fingerprints:
        """Which computations are the same."""
        return Fingerprints(self.graph)

    @cached_property
    def executions(self) -> Executions:
        """How often each computation runs."""
        return count_executions(self.expect_module(), self.graph)

    @cached_property
    def costs(self) -> CostModel:
        """The cost of every instruction."""
        find_stated = compile_call_rules(self.assumptions.call_rules)
        return measure_costs(self.expect_module(), self.graph, find_stated)

    @cached_property
    def cost(self) -> CostReport:
        """What one run computes."""
        return analyze_cost(self.expect_module(), self.executions, self.costs)

    @cached_property
    def counts(self) -> ModuleCounts:
        """What the module is, and what is in it."""
        found = count_module(self.expect_module(), self.executions)
        if self.measured is None:
            return found
        opcodes = measure_opcodes(found.opcodes, self.executions, self.measured)
        return replace(found, opcodes=opcodes)

    @property
    def measured_runs(self) -> MeasuredFacts | None:
        """How often a profiler saw it run, and how long; None without a profile."""
        return describe_runs(self.measured)

    @cached_property
    def measured_instructions(self) -> tuple[MeasuredInstruction, ...]:
        """What takes most of the measured time; nothing without a profile."""
        return rank_instructions(self.executions, self.measured) if self.measured else ()

    @cached_property
    def outside_fusions(self) -> OutsideFusions | None:
        """How much of the measured time lies outside fusions; None where none was measured."""
        return measure_outside(self.measured_instructions)

    @cached_property
    def fusions(self) -> FusionReport:
        """What each fusion costs; with a chip, how long it takes."""
        return self._find_fusions(tells_places=False)

    @cached_property
    def fusions_by_place(self) -> tuple[FusionRow, ...]:
        """The same rows, those of equal bodies apart where they come from different places."""
        return self._find_fusions(tells_places=True).rows

    def _find_fusions(self, *, tells_places: bool) -> FusionReport:
        found = find_fusions(
            self.graph, self.prints, self.executions, self.costs, tells_places=tells_places
        )
        if self.measured is not None:
            found = replace(found, rows=add_measured_times(found.rows, self.measured))
        if self.machine is None or self.machine.chip is None:
            return found
        return estimate_fusions(found, self.machine.chip)

    @cached_property
    def custom_calls(self) -> tuple[CustomCallRow, ...]:
        """Which custom calls run, and what is known of their cost; with a chip, how long."""
        return self._count_custom_calls(tells_places=False)

    @cached_property
    def custom_calls_by_place(self) -> tuple[CustomCallRow, ...]:
        """The same rows, those alike apart where they come from different places."""
        return self._count_custom_calls(tells_places=True)

    def _count_custom_calls(self, *, tells_places: bool) -> tuple[CustomCallRow, ...]:
        found = count_custom_calls(
            self.graph, self.executions, self.costs, tells_places=tells_places
        )
        if self.measured is not None:
            found = add_measured_calls(found, self.measured)
        machine = self.machine
        if machine is None or machine.chip is None:
            return found
        return estimate_call_times(found, machine.chip)

    @cached_property
    def custom_call_totals(self) -> CustomCallTotals:
        """What all custom calls cost together."""
        return add_up_calls(self.custom_calls, self.cost)

    def find_missed(self, least_bytes: int) -> tuple[MissedRow, ...]:
        """Return the operations outside fusions that move so much in one run."""
        return find_missed(self.executions, self.costs, least_bytes)

    @cached_property
    def recomputed(self) -> tuple[RecomputeRow, ...]:
        """Which expensive operations are made several times."""
        return find_recomputed(self.graph, self.prints, self.executions, self.costs)


class Program(ProgramWork):
    """One program: its module, its buffer assignment, or both.

    What is about the module raises InputError where there is none; memory is None where
    nothing tells of it. Everything raises what its analysis raises.
    """

    @cached_property
    def loops(self) -> tuple[LoopRow, ...]:
        """Which loops there are, and what each moves and sends."""
        loads = weigh_loops(self.executions, self.costs, self.graph, self.collectives.rows)
        return list_loops(self.executions, loads)

    @cached_property
    def compilation(self) -> Compilation:
        """Under what it was compiled, as far as its files tell."""
        module = self.expect_module()
        mesh = find_header_mesh(module) or self._find_mesh()
        return replace(self._ask_beside(), mesh=list_axes(mesh))

    @cached_property
    def memory(self) -> MemoryReport | None:
        """What memory it takes; an estimate where there is no buffer assignment."""
        return find_memory(self.module, self.assignment)

    def expect_memory(self) -> MemoryReport:
        """Return what memory it takes, or raise InputError that says why nothing tells."""
        return self.memory or analyze_memory(self.module, self.assignment)

    @cached_property
    def peak_rows(self) -> tuple[BufferRow, ...]:
        """The values of space 0 that hold memory at its peak; none where nothing tells."""
        report = self.memory
        if report is None or report.figures.peak.position is None:
            return ()
        return tuple(rows_at(report, self.module, report.figures.peak.position, 0))

    def find_peak_holdings(self) -> Sequence[Holding]:
        """Return what holds memory in space 0 at its peak, not described; nothing as above."""
        report = self.memory
        if report is None or report.figures.peak.position is None:
            return ()
        return find_holdings(report.map, report.figures.peak.position, 0)

    def list_holders(self, most: int) -> tuple[BufferRow, ...]:
        """Return the largest of `peak_rows`, at most so many, without working out the others."""
        report = self.memory
        if report is None or report.figures.peak.position is None:
            return ()
        return tuple(rows_at(report, self.module, report.figures.peak.position, 0, most))

    @cached_property
    def donations(self) -> Sequence[DonationRow]:
        """What became of the parameters' memory."""
        return find_donations(self.expect_module())

    @cached_property
    def donation_gains(self) -> Sequence[DonationRow]:
        """The same, with what each gains where something says when values live."""
        report = self.memory
        return add_gains(self.donations, report, self.expect_module()) if report else self.donations

    @cached_property
    def collectives(self) -> CollectiveReport:
        """What crosses the interconnect."""
        return self.analyze_collectives()

    def analyze_collectives(self, options: CollectiveOptions = NO_OPTIONS) -> CollectiveReport:
        """Return what crosses the interconnect, as the user's options have it."""
        if options.machine is None and self.machine is not None:
            options = replace(options, machine=self.machine)
        found = analyze_collectives(
            self.expect_module(),
            self.executions,
            self.costs,
            self.graph,
            options,
            mesh_beside=self._find_mesh,
        )
        return found if self.measured is None else measure_collectives(found, self.measured)

    @cached_property
    def collective_totals(self) -> CollectiveTotals:
        """What crosses the interconnect, in sums alone: a fraction of the work."""
        return sum_collectives(self.expect_module(), self.executions, self.graph)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is worth a look."""
        evidence = Evidence(
            self.expect_module(),
            self.executions,
            self.costs,
            self.cost,
            self.collectives,
            self.memory,
            self.machine,
            self.measured_runs,
            self.fusions.rows if self.measured and self.machine else (),
        )
        return find_findings(evidence)

    @cached_property
    def show_evidence(self) -> ShowEvidence:
        """The analyses that an answer about one thing is made from."""
        return ShowEvidence(
            self.expect_module(),
            self.graph,
            self.executions,
            self.costs,
            self.cost,
            self.memory,
            self.collectives.rows,
            self.findings,
            self.measured,
        )

    def show(self, names: Sequence[str], hops: int = 1) -> ShowReport:
        """Return what there is to know about some names."""
        return show_names(names, hops, self.show_evidence)

    @cached_property
    def pricing(self) -> Pricing:
        """At which speeds its work and its transfers go."""
        return price(self.expect_module(), self.machine)

    def outline(
        self, only: Collection[StepKind] = (), nesting: int | None = None
    ) -> tuple[OutlineRow, ...]:
        """Return its steps in the order in which they run."""
        return outline_program(self._outline_evidence, only, nesting)

    @cached_property
    def run_time(self) -> RunTime | None:
        """How long one run takes, by estimate; None where no chip stands for its backend."""
        return estimate_run_time(self._outline_evidence)

    @property
    def run_estimate(self) -> RunEstimate | None:
        """The same as figures, where a chip was named for it."""
        return describe_run_time(self.run_time, str(self.machine)) if self._chip else None

    @property
    def _outline_evidence(self) -> OutlineEvidence:
        return OutlineEvidence(
            self.expect_module(), self.executions, self.costs, self.collectives.rows, self.pricing
        )

    def summarize(self, *, with_findings: bool = True, limit_bytes: int | None = None) -> Summary:
        """Return all that is worth knowing first; without a limit, that of the chip counts."""
        counts, report, chip = self.counts, self.collectives, self._chip
        limit_bytes = chip.hbm_bytes if limit_bytes is None and chip else limit_bytes
        return Summary(
            counts.module,
            self.compilation,
            counts.opcodes,
            counts.dtypes,
            self.loops,
            self.cost,
            self.memory.figures if self.memory else None,
            report.totals,
            report.host.totals,
            self.findings if with_findings else (),
            measured=self.measured_runs,
            memory_unknown=self._why_memory_is_unknown(),
            bound=bound_run(self.cost, chip) if chip else None,
            headroom=(
                measure_headroom(self.memory, limit_bytes, chip)
                if self.memory and limit_bytes is not None
                else None
            ),
            worst_collective=find_worst(report.rows),
            instructions=self.measured_instructions,
            run_time=self.run_estimate,
        )

    def _why_memory_is_unknown(self) -> str:
        """Return the reason in half a sentence, '' where memory is known."""
        obstacle = None if self.memory else find_obstacle(self.expect_module())
        return obstacle.reason if obstacle else ""


class NamedBlock(Struct, frozen=True):
    """A record of metrics, and the attributes of `Program` that lead to it."""

    block: Block
    found_at: str


class NamedRows(Struct, frozen=True):
    """A list of rows, and the attributes of `Program` that lead to it."""

    row_list: RowList
    found_at: str


BLOCKS: Final[Mapping[str, NamedBlock]] = {
    "buffers": NamedBlock(TOTALS, "memory.figures.totals"),
    "buffers.estimated": NamedBlock(ESTIMATED, "memory.figures.estimated"),
    "collectives": NamedBlock(COLLECTIVE_TOTALS, "collectives.totals"),
    "collectives.host": NamedBlock(HOST_TOTALS, "collectives.host.totals"),
    "fusions": NamedBlock(FUSION_TOTALS, "fusions.totals"),
    "cost": NamedBlock(COST, "cost"),
    "measured": NamedBlock(MEASURED, "measured_runs"),
    "module": NamedBlock(MODULE, "counts.module"),
    "run_time": NamedBlock(RUN_TIME, "run_estimate"),
}

LISTS: Final[Mapping[str, NamedRows]] = {
    "buffers": NamedRows(ROWS, "peak_rows"),
    "buffers.spaces": NamedRows(SPACES, "memory.figures.spaces"),
    "buffers.donation": NamedRows(DONATION, "donation_gains"),
    "collectives": NamedRows(COLLECTIVE_ROWS, "collectives.rows"),
    "collectives.host": NamedRows(HOST_ROWS, "collectives.host.rows"),
    "fusions": NamedRows(FUSION_ROWS, "fusions.rows"),
    "fusions.custom_calls": NamedRows(CUSTOM_CALLS, "custom_calls"),
    "summary.opcodes": NamedRows(OPCODES, "counts.opcodes"),
    "summary.dtypes": NamedRows(DTYPES, "counts.dtypes"),
    "summary.loops": NamedRows(LOOPS, "loops"),
    "summary.findings": NamedRows(FINDINGS, "findings"),
}

ROW_LISTS: Final[Mapping[str, RowList]] = {path: named.row_list for path, named in LISTS.items()}

METRICS: Final[Mapping[str, Field]] = {
    f"{prefix}.{field.name}": replace(field, name=f"{prefix}.{field.name}")
    for prefix, source in BLOCKS.items()
    for field in source.block.fields
}
