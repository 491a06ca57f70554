"""One program, and everything that is worked out about it: each thing once, when first asked for.

This is the only place that knows which analysis needs which other. Commands, the Python API,
findings, diffs and budgets ask here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from msgspec.structs import replace

from hlotool.analysis.collectives.groups.program_mesh import find_header_mesh
from hlotool.analysis.collectives.measured import measure_collectives
from hlotool.analysis.collectives.overlap.machine import Machine, fit_machine
from hlotool.analysis.collectives.overlap.pricing import Pricing, price
from hlotool.analysis.collectives.report import (
    NO_OPTIONS,
    CollectiveOptions,
    CollectiveReport,
    analyze_collectives,
    sum_collectives,
)
from hlotool.analysis.collectives.totals import CollectiveTotals
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.model import CostModel, measure_costs
from hlotool.analysis.cost.report import CostReport, analyze_cost
from hlotool.analysis.findings import Evidence, Finding, find_findings
from hlotool.analysis.fusions.call_census import CustomCallRow, count_custom_calls
from hlotool.analysis.fusions.call_totals import CustomCallTotals, add_up_calls
from hlotool.analysis.fusions.measured import add_measured_calls, add_measured_times
from hlotool.analysis.fusions.missed import MissedRow, find_missed
from hlotool.analysis.fusions.outside import OutsideFusions, measure_outside
from hlotool.analysis.fusions.recompute import RecomputeRow, find_recomputed
from hlotool.analysis.fusions.report import FusionReport, find_fusions
from hlotool.analysis.fusions.roofline import estimate_call_times, estimate_fusion_times
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.call_graph import CallGraph, read_call_graph
from hlotool.analysis.graph.executions import Executions, count_executions
from hlotool.analysis.graph.fingerprint import Fingerprints
from hlotool.analysis.measured.facts import MeasuredFacts, describe_runs
from hlotool.analysis.measured.instructions import MeasuredInstruction, rank_instructions
from hlotool.analysis.memory.donation import DonationRow, find_donations
from hlotool.analysis.memory.estimate.obstacle import find_obstacle
from hlotool.analysis.memory.gains.donating import add_gains
from hlotool.analysis.memory.headroom import measure_headroom
from hlotool.analysis.memory.holdings import Holding, find_holdings
from hlotool.analysis.memory.report import MemoryReport, analyze_memory, find_memory
from hlotool.analysis.memory.values.value_rows import BufferRow, rows_at
from hlotool.analysis.outline.rows import OutlineRow, outline_program
from hlotool.analysis.outline.run_time import RunTime, estimate_run_time
from hlotool.analysis.outline.steps import OutlineEvidence, StepKind
from hlotool.analysis.show.evidence import ShowEvidence
from hlotool.analysis.show.report import ShowReport, show_names
from hlotool.analysis.summary.compilation import Compilation, list_axes
from hlotool.analysis.summary.loop_loads import weigh_loops
from hlotool.analysis.summary.loop_rows import LoopRow, list_loops
from hlotool.analysis.summary.measured import measure_opcodes
from hlotool.analysis.summary.module_counts import ModuleCounts, count_module
from hlotool.analysis.summary.report import Summary, find_worst
from hlotool.analysis.summary.run_bound import bound_run
from hlotool.errors import InputError
from hlotool.fields import InputPaths
from hlotool.ir import Mesh, Module
from hlotool.ir.buffers import BufferAssignment
from hlotool.ir.measurement import Measurement
from hlotool.program.assumptions import NO_ASSUMPTIONS, Assumptions
from hlotool.program.call_rules import compile_call_rules
from hlotool.program.mesh_beside import MeshBeside
from hlotool.program.named import NamedFigures
from hlotool.program.notes import note_chip, write_notes

_TEXT = InputPaths("<text>")


class Program(NamedFigures):
    """One program: its module, its buffer assignment, or both.

    What is about the module raises InputError where there is none; memory is None where
    nothing tells of it. `assumptions` are what the user says beside it. Everything raises what
    its analysis raises.
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

    def without_assignment(self) -> Program:
        """Return the same program as if it had no buffer assignment."""
        return Program(
            *(self.name, self.module, None, self._paths, self.assumptions),
            mesh_beside=self._mesh_beside,
            measured=self.measured,
            ask_beside=self._ask_beside,
        )

    def notes(self) -> tuple[str, ...]:
        """Say in sentences what of its files was not understood, or may be missing."""
        named = self.assumptions.machine
        chip = named.chip if named else None
        is_left_out = chip is not None and (self.machine is None or self.machine.chip is None)
        return (
            *write_notes(self.module, self.assignment),
            *((note_chip(self.expect_module(), chip),) if chip and is_left_out else ()),
        )

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

    def _find_mesh(self) -> Mesh | None:
        return self._mesh_beside.find(self.expect_module()) if self._mesh_beside else None

    @cached_property
    def collective_totals(self) -> CollectiveTotals:
        """What crosses the interconnect, in sums alone: a fraction of the work."""
        return sum_collectives(self.expect_module(), self.executions, self.graph)

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
        return replace(found, rows=estimate_fusion_times(found.rows, self.machine.chip))

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
        )

    @property
    def _chip(self) -> Chip | None:
        return self.machine.chip if self.machine else None

    def _why_memory_is_unknown(self) -> str:
        """Return the reason in half a sentence, '' where memory is known."""
        obstacle = None if self.memory else find_obstacle(self.expect_module())
        return obstacle.reason if obstacle else ""
