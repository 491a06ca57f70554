"""One program, and everything that is worked out about it: each thing once, when first asked for.

No place but this knows which analysis needs which other. Commands, the Python API, findings,
diffs and budgets ask here. An analysis is imported where it is asked for: all of them together
are half of what hlotool has, and most commands ask for a few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hlotool.errors import InputError
from hlotool.table import InputPaths

if TYPE_CHECKING:
    from hlotool.analysis.collectives.machine import Machine, Pricing
    from hlotool.analysis.collectives.report import CollectiveOptions, CollectiveReport
    from hlotool.analysis.collectives.totals import CollectiveTotals
    from hlotool.analysis.collectives.transfers import Transfer
    from hlotool.analysis.cost.chips import Chip
    from hlotool.analysis.cost.custom_calls import CallRule
    from hlotool.analysis.cost.model import CostModel, CostReport
    from hlotool.analysis.findings.finding import Finding
    from hlotool.analysis.fusions.report import FusionReport
    from hlotool.analysis.fusions.rows import (
        CustomCallRow,
        CustomCallTotals,
        MissedRow,
        OutsideFusions,
        RecomputeRow,
    )
    from hlotool.analysis.graph.calls import CallGraph
    from hlotool.analysis.graph.equality import Fingerprints
    from hlotool.analysis.graph.executions import Executions
    from hlotool.analysis.measured import MeasuredFacts, MeasuredInstruction
    from hlotool.analysis.memory.donation import DonationRow
    from hlotool.analysis.memory.memory_map import Holding
    from hlotool.analysis.memory.placed import ReplicatedRow
    from hlotool.analysis.memory.report import MemoryReport
    from hlotool.analysis.memory.rows import BufferRow
    from hlotool.analysis.outline.clock import OutlineEvidence, StepKind, StepTime
    from hlotool.analysis.outline.report import Outline, OutlineRow
    from hlotool.analysis.shardings.causes import SpecReader
    from hlotool.analysis.shardings.partitioned import Partitioned, PassTexts
    from hlotool.analysis.shardings.report import ArrayRow, ShardingReport
    from hlotool.analysis.shardings.rows import ChainRow, ReshardRow
    from hlotool.analysis.shardings.witness import Witness
    from hlotool.analysis.show.report import ShowReport
    from hlotool.analysis.show.subjects import ShowEvidence
    from hlotool.analysis.summary.counts import Compilation, LoopRow, ModuleCounts
    from hlotool.analysis.summary.report import StepEstimate, Summary
    from hlotool.hlo import Mesh, Module
    from hlotool.hlo.buffers import BufferAssignment
    from hlotool.hlo.values import Measurement, Target
    from hlotool.program.siblings import SiblingMesh

_Held = TypeVar("_Held")
_TEXT: Final = InputPaths("<text>")


class Assumptions(Struct, frozen=True):
    """What the user says that no dump tells.

    That is what custom calls cost whose text does not say, and what times are estimated for.
    """

    call_rules: tuple[CallRule, ...] = ()
    machine: Machine | None = None

    def for_several(self) -> Assumptions:
        """Return the same for several programs, of which a chip need not fit each."""
        if self.machine is None or not self.machine.must_fit:
            return self
        return replace(self, machine=replace(self.machine, must_fit=False))


NO_ASSUMPTIONS: Final = Assumptions()


class NamedFigures(Protocol):
    """Figures by the names that budgets and diffs have for them.

    A `Program` works them out when they are asked for; a saved document holds some of them.
    """

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where nothing tells."""

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""

    def knows_rows(self, path: str) -> bool:
        """Say whether a list is known at all, empty or not."""

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of a list such as `collectives`; none where nothing tells."""


class Beside(Struct, frozen=True):
    """What is asked for what the files beside a text tell, where there are some.

    `mesh` is the one that the text before optimization names; `ask_witnesses` gives what all files
    say of its arrays, `read_pass_texts` the texts around the partitioner.
    """

    mesh: SiblingMesh | None = None
    find_compilation: Callable[[], Compilation] | None = None
    ask_witnesses: Callable[..., Sequence[Witness]] | None = None
    read_pass_texts: Callable[[], PassTexts] | None = None
    target: Target | None = None
    read_cycles: Callable[[], Mapping[str, int]] = dict


NOTHING_BESIDE: Final = Beside()


class Program:
    """One program: its module, its buffer assignment, or both; perhaps a measurement.

    What is about the module raises InputError where there is none; memory is None where nothing
    tells of it. Everything raises what its analysis raises.
    """

    def __init__(
        self,
        name: str,
        module: Module | None,
        assignment: BufferAssignment | None = None,
        paths: InputPaths = _TEXT,
        assumptions: Assumptions = NO_ASSUMPTIONS,
        *,
        measured: Measurement | None = None,
        beside: Beside = NOTHING_BESIDE,
    ) -> None:
        self.name = name
        self.module = module
        self.assignment = assignment
        self.assumptions = assumptions
        self.measured = measured
        self._beside = beside
        self._paths = paths

    # What it was made of.

    @property
    def paths(self) -> InputPaths:
        """The files it was read from so far: a mesh is looked for only when axes need it."""
        mesh_path = self._beside.mesh.path if self._beside.mesh else None
        return replace(self._paths, mesh_path=mesh_path) if mesh_path else self._paths

    def without_assignment(self) -> Self:
        """Return the same program as if it had no buffer assignment."""
        made_of = self.name, self.module, None, self._paths, self.assumptions
        return type(self)(*made_of, measured=self.measured, beside=self._beside)

    @cached_property
    def machine(self) -> Machine | None:
        """What is known of the machine, as far as it holds for programs of this backend.

        A chip that the user names wins over that of the files beside the text. Raises UsageError
        where it must fit, and does not.
        """
        named = self.assumptions.machine
        if self.target_chip is not None and (named is None or named.chip is None):
            from hlotool.analysis.collectives.machine import add_chip

            named = add_chip(named, self.target_chip)
        if named is None or named.chip is None or named.chip.backend is None or not self.module:
            return named
        from hlotool.analysis.collectives.machine import fit_machine
        from hlotool.analysis.graph.backend import find_backend

        return fit_machine(named, find_backend(self.module))

    @cached_property
    def target_chip(self) -> Chip | None:
        """The chip that the files beside the text name; of a file's name it is an assumption."""
        if self._beside.target is None:
            return None
        from hlotool.analysis.collectives.machine import ASSUMED_CHIP
        from hlotool.analysis.cost.chips import match_chip

        device_count = self.module.header.device_count if self.module else None
        found = match_chip(self._beside.target, device_count)
        if self._beside.target.is_sure:
            return found
        if self.module is not None and found is not None:
            self.module.values[ASSUMED_CHIP] = found
        return None

    @property
    def _chip(self) -> Chip | None:
        return self.machine.chip if self.machine else None

    def expect_module(self) -> Module:
        """Return the module, or raise InputError where the dump has no text of it."""
        if self.module is None:
            raise InputError(
                f"{self.paths.path}: this buffer assignment lacks the module's text; give "
                "it with --module-text. `hlotool buffers` works without."
            )
        return self.module

    def find_words(self) -> frozenset[str]:
        """Return the opcodes that its text holds, known to hlotool or not."""
        instructions = self.module.instructions() if self.module else ()
        return frozenset(one.opcode for one in instructions)

    @cached_property
    def compilation(self) -> Compilation:
        """Under what it was compiled, as far as its files tell."""
        from hlotool.analysis.summary.counts import Compilation

        mesh = self._find_mesh()
        found = self._beside.find_compilation() if self._beside.find_compilation else Compilation()
        axes = tuple(f"{axis.name}={axis.size}" for axis in mesh.axes) if mesh else None
        return replace(found, mesh=axes)

    def _find_mesh(self) -> Mesh | None:
        """Return the mesh that its text names, else that of the text before optimization."""
        from hlotool.analysis.collectives.mesh import find_header_mesh

        return find_header_mesh(self.expect_module()) or self._find_mesh_beside()

    def _find_mesh_beside(self) -> Mesh | None:
        return self._beside.mesh.find(self.expect_module()) if self._beside.mesh else None

    # Figures by the names that budgets and diffs have for them.

    def metric(self, path: str) -> object:
        """Return a metric such as `buffers.temp_bytes`, None where the dump does not tell."""
        block, _, name = path.rpartition(".")
        record = self._read(_BLOCKS, block, None)
        return None if record is None else getattr(record, name)

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        from hlotool.program.metrics import METRICS

        record = self._read(_BLOCKS, path.rpartition(".")[0], None)
        is_lower = bool(getattr(record, METRICS[path].lower_flag, False))
        return is_lower, bool(getattr(record, "is_upper_bound", False))

    def knows_rows(self, path: str) -> bool:
        """Say whether the dump tells of a list at all, empty or not."""
        return (self.memory if path in _NEED_NO_MODULE else self.module) is not None

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of a list such as `collectives`; none where the dump does not tell."""
        return self._read(_LISTS, path, ())

    def _read(
        self, where: Mapping[str, Callable[[Program], _Held]], path: str, unknown: _Held
    ) -> _Held:
        """Return the record that holds metrics, or a list; `unknown` where nothing tells."""
        find = where[path]
        return find(self) if self.module is not None or path in _NEED_NO_MODULE else unknown

    # What runs in it, and what that costs.

    @cached_property
    def graph(self) -> CallGraph:
        """Which computations call which."""
        from hlotool.analysis.graph.calls import read_call_graph

        return read_call_graph(self.expect_module())

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """Which computations are the same."""
        from hlotool.analysis.graph.equality import Fingerprints

        return Fingerprints(self.graph)

    @cached_property
    def fingerprint(self) -> str | None:
        """What is equal where the operations are, however they are printed; None without a module.

        Layouts and literals count, as far as every print has them; not names, order, metadata,
        channel numbers, backend configs and frontend attributes.
        """
        if self.module is None:
            return None
        from hlotool.analysis.graph.equality import Fingerprints

        return Fingerprints(self.graph, elides_all=True).of(self.module.entry)

    @cached_property
    def executions(self) -> Executions:
        """How often each computation runs."""
        from hlotool.analysis.graph.executions import count_executions

        return count_executions(self.expect_module(), self.graph)

    @cached_property
    def costs(self) -> CostModel:
        """The cost of every instruction."""
        from hlotool.analysis.cost.model import CostModel

        module, rules = self.expect_module(), self.assumptions.call_rules
        if not rules:
            return CostModel(module, self.graph, self.executions)
        from hlotool.analysis.cost.custom_calls import compile_call_rules

        return CostModel(module, self.graph, self.executions, compile_call_rules(rules))

    @cached_property
    def cost(self) -> CostReport:
        """What one step computes."""
        from hlotool.analysis.cost.model import analyze_cost

        return analyze_cost(self.expect_module(), self.costs)

    @cached_property
    def counts(self) -> ModuleCounts:
        """What the module is, and what is in it."""
        from hlotool.analysis.summary.counts import count_module

        return count_module(self.expect_module(), self.graph, self.executions, self.measured)

    @cached_property
    def loops(self) -> tuple[LoopRow, ...]:
        """Which loops there are, and what each moves and sends."""
        from hlotool.analysis.summary.counts import list_loops

        return list_loops(self.costs, self.collectives.rows)

    @property
    def measured_runs(self) -> MeasuredFacts | None:
        """How often a profiler saw it run, and how long; None without a profile."""
        from hlotool.analysis.measured import describe_runs

        return describe_runs(self.measured)

    @cached_property
    def measured_instructions(self) -> tuple[MeasuredInstruction, ...]:
        """What takes most of the measured time; nothing without a profile."""
        if self.measured is None:
            return ()
        from hlotool.analysis.measured import rank_instructions

        return rank_instructions(self.measured, self.costs)

    # Fusions and custom calls.

    @cached_property
    def fusions(self) -> FusionReport:
        """What each fusion costs; with a chip, how long it takes."""
        return self.find_fusions(tells_places=False)

    def find_fusions(self, *, tells_places: bool) -> FusionReport:
        """Return the same; those of equal bodies apart where they come from different places."""
        from hlotool.analysis.fusions.report import (
            add_measured_times,
            estimate_fusions,
            list_fusions,
        )

        found = list_fusions(self.fingerprints, self.costs, tells_places=tells_places)
        if self.measured is not None:
            found = replace(found, rows=add_measured_times(found.rows, self.measured))
        return estimate_fusions(found, self._chip) if self._chip else found

    @cached_property
    def custom_calls(self) -> tuple[CustomCallRow, ...]:
        """Which custom calls run, and what is known of their cost; with a chip, how long."""
        return self.find_custom_calls(tells_places=False)

    def find_custom_calls(self, *, tells_places: bool) -> tuple[CustomCallRow, ...]:
        """Return the same; those alike apart where they come from different places."""
        from hlotool.analysis.fusions.report import (
            add_measured_times,
            count_custom_calls,
            estimate_call_times,
        )

        found = count_custom_calls(self.costs, tells_places=tells_places)
        if self.measured is not None:
            found = add_measured_times(found, self.measured)
        return estimate_call_times(found, self._chip) if self._chip else found

    @cached_property
    def custom_call_totals(self) -> CustomCallTotals:
        """What all custom calls cost together."""
        from hlotool.analysis.fusions.report import add_up_calls

        return add_up_calls(self.custom_calls, self.cost)

    @cached_property
    def outside_fusions(self) -> OutsideFusions | None:
        """How much of the measured time lies outside fusions; None where none was measured."""
        from hlotool.analysis.fusions.report import measure_outside

        return measure_outside(self.measured_instructions)

    def find_missed(self, least_bytes: int) -> tuple[MissedRow, ...]:
        """Return the operations outside fusions that move so much per step."""
        from hlotool.analysis.fusions.missed import find_missed

        return find_missed(self.costs, least_bytes)

    @cached_property
    def recomputed(self) -> tuple[RecomputeRow, ...]:
        """Which expensive operations are made several times."""
        from hlotool.analysis.fusions.missed import list_recomputed

        return list_recomputed(self.fingerprints, self.costs)

    # Memory.

    @cached_property
    def memory(self) -> MemoryReport | None:
        """What memory it takes; an estimate where there is no buffer assignment."""
        from hlotool.analysis.memory.report import find_memory

        return find_memory(self.module, self.assignment)

    def expect_memory(self) -> MemoryReport:
        """Return what memory it takes, or raise InputError that says why nothing tells."""
        from hlotool.analysis.memory.report import analyze_memory

        return self.memory or analyze_memory(self.module, self.assignment)

    @cached_property
    def peak_rows(self) -> tuple[BufferRow, ...]:
        """The values of space 0 that hold memory at its peak; none where nothing tells."""
        return self.list_holders()

    def list_holders(self, most: int | None = None) -> tuple[BufferRow, ...]:
        """Return the largest of `peak_rows`, at most so many, without working out the others."""
        if (report := self.memory) is None or report.figures.peak.position is None:
            return ()
        from hlotool.analysis.memory.rows import rows_at

        return self.place_rows(rows_at(report, report.figures.peak.position, 0, most))

    def place_rows(self, rows: Sequence[BufferRow]) -> tuple[BufferRow, ...]:
        """Return rows with what is known of the arrays that are parameters."""
        if self.module is None:
            return tuple(rows)
        from hlotool.analysis.memory.placed import place_parameters

        return place_parameters(rows, self.module, self.placed_parameters)

    @cached_property
    def replicated(self) -> tuple[ReplicatedRow, ...]:
        """What parameters hold at the peak that other devices hold too; none without a module."""
        if self.module is None or self.module.header.num_partitions == 1:
            return ()
        from hlotool.analysis.memory.placed import measure_replicated

        return measure_replicated(self.find_peak_holdings(), self.module, self.placed_parameters)

    def find_peak_holdings(self) -> Sequence[Holding]:
        """Return what holds memory in space 0 at its peak, not described; nothing as above."""
        if (report := self.memory) is None or report.figures.peak.position is None:
            return ()
        from hlotool.analysis.memory.memory_map import list_holdings

        return list_holdings(report.map, report.figures.peak.position, 0)

    @cached_property
    def donations(self) -> Sequence[DonationRow]:
        """What became of the parameters' memory."""
        from hlotool.analysis.memory.donation import list_donations

        return list_donations(self.expect_module())

    @cached_property
    def donation_savings(self) -> Sequence[DonationRow]:
        """The same, with what each saves where something says when values live."""
        if (report := self.memory) is None:
            return self.donations
        from hlotool.analysis.memory.donated import add_savings

        return add_savings(self.donations, report)

    # What crosses the interconnect.

    @cached_property
    def transfers(self) -> Sequence[Transfer]:
        """What each of its collectives sends."""
        from hlotool.analysis.collectives.transfers import measure_transfers

        return measure_transfers(self.expect_module(), self.executions, self.graph)

    @cached_property
    def collectives(self) -> CollectiveReport:
        """What crosses the interconnect."""
        return self.analyze_collectives()

    def analyze_collectives(self, options: CollectiveOptions | None = None) -> CollectiveReport:
        """Return what crosses the interconnect, as the user's options have it."""
        from hlotool.analysis.collectives.report import (
            NO_OPTIONS,
            analyze_collectives,
            measure_collectives,
        )

        options = options or NO_OPTIONS
        if options.machine is None and self.machine is not None:
            options = replace(options, machine=self.machine)
        found = analyze_collectives(
            self.expect_module(),
            self.transfers,
            self.costs,
            options,
            sibling_mesh=self._find_mesh_beside,
        )
        return found if self.measured is None else measure_collectives(found, self.measured)

    @cached_property
    def collective_totals(self) -> CollectiveTotals:
        """What crosses the interconnect, in sums alone: a fraction of the work."""
        from hlotool.analysis.collectives.report import sum_collectives

        return sum_collectives(self.expect_module(), self.transfers)

    @cached_property
    def pricing(self) -> Pricing:
        """At which speeds its work and its transfers go."""
        from hlotool.analysis.collectives.machine import price

        return price(self.expect_module(), self.machine)

    @cached_property
    def shardings(self) -> ShardingReport:
        """Where its arrays lie on the devices."""
        return self.find_shardings()

    @cached_property
    def placed_arrays(self) -> ShardingReport:
        """Where its arrays lie, without a look at files that tell of results alone."""
        if "shardings" in self.__dict__:
            return self.shardings
        return self.find_shardings(with_results=False)

    @property
    def placed_parameters(self) -> Sequence[ArrayRow]:
        """Where its parameters lie; none without a module."""
        return self.placed_arrays.parameters if self.module else ()

    def find_shardings(
        self, mesh: Mesh | None = None, *, with_results: bool = True
    ) -> ShardingReport:
        """Return where its arrays lie; a mesh that the user gave names the axes.

        Raises UsageError where the mesh has not as many devices as the program.
        """
        from hlotool.analysis.collectives.mesh import check_given_mesh
        from hlotool.analysis.shardings.report import report_shardings
        from hlotool.analysis.shardings.witness import ask_module

        module = self.expect_module()
        if mesh is not None:
            check_given_mesh(mesh, module)
        ask = self._beside.ask_witnesses
        path = self.paths.path
        witnesses = ask(module, with_results=with_results) if ask else (ask_module(module, path),)
        return report_shardings(module, witnesses, mesh or self._find_mesh())

    @cached_property
    def partitioned(self) -> Partitioned:
        """What the texts of passes around the partitioner say, where they lie beside the text."""
        from hlotool.analysis.shardings.partitioned import Partitioned, PassTexts

        read = self._beside.read_pass_texts
        return Partitioned(read() if read else PassTexts())

    @cached_property
    def reshards(self) -> tuple[ReshardRow, ...]:
        """Why each collective is there."""
        return self.find_reshards()

    def find_reshards(
        self, mesh: Mesh | None = None, report: CollectiveReport | None = None
    ) -> tuple[ReshardRow, ...]:
        """Return the same, of collectives as the user's options have them."""
        from hlotool.analysis.collectives.report import CollectiveOptions
        from hlotool.analysis.shardings.causes import CauseEvidence, explain_collectives

        if report is None:
            options = CollectiveOptions(mesh=mesh)
            report = self.analyze_collectives(options) if mesh else self.collectives
        evidence = CauseEvidence(
            self.transfers,
            report.rows,
            self.graph,
            self.paths.module_path or self.paths.path,
            lambda: self.partitioned,
            self.read_specs(mesh),
            lambda: self.find_shardings(mesh, with_results=False) if mesh else self.placed_arrays,
        )
        return explain_collectives(evidence)

    def read_specs(self, mesh: Mesh | None = None) -> SpecReader:
        """Return what reads the specs of its values; a mesh that the user gave names the axes."""
        from hlotool.analysis.shardings.causes import SpecReader

        devices = self.expect_module().header.device_count
        return SpecReader(devices, lambda: mesh or self._find_mesh())

    @cached_property
    def explained_collectives(self) -> CollectiveReport:
        """What crosses the interconnect, with the causes."""
        return self.add_causes(self.collectives)

    def add_causes(self, report: CollectiveReport, mesh: Mesh | None = None) -> CollectiveReport:
        """Return a report with the causes of its collectives."""
        from hlotool.analysis.shardings.rows import describe_move

        rows = zip(report.rows, self.find_reshards(mesh, report), strict=True)
        told = (replace(row, cause=one.cause, moves=describe_move(one)) for row, one in rows)
        return replace(report, rows=tuple(told))

    def explain_chain(self, name: str, mesh: Mesh | None = None) -> tuple[ChainRow, ...]:
        """Return the chain that leads to a collective, or to those that move a value."""
        from hlotool.analysis.shardings.chain import explain_chain

        return explain_chain(
            name,
            self.find_reshards(mesh),
            self.expect_module(),
            self.partitioned,
            reader=self.read_specs(mesh),
            arguments=(self.find_shardings(mesh) if mesh else self.placed_arrays).parameters,
        )

    # What is drawn from all of these.

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is worth a look; nothing of a part of a program, as the rest may be the reason."""
        if self.expect_module().source.is_fragment:
            return ()
        from hlotool.analysis.findings.find import collect_findings
        from hlotool.analysis.findings.finding import Evidence

        arrays = self._glance_at_arrays()
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
            arrays.parameters if arrays else (),
            arrays.specs if arrays else {},
            self._find_mesh() if arrays else None,
            lambda: self.reshards if self.partitioned.texts.after else (),
            self.transfers,
            lambda: self.recomputed,
            self.compilation.flags or (),
        )
        return collect_findings(evidence)

    def _glance_at_arrays(self) -> ShardingReport | None:
        """Return where arrays lie, as far as a glance tells; None where one device has them all."""
        count = self.expect_module().header.num_partitions
        return None if count is None or count == 1 else self.placed_arrays

    @cached_property
    def show_evidence(self) -> ShowEvidence:
        """The analyses that an answer about one thing is made from."""
        from hlotool.analysis.show.subjects import ShowEvidence

        return ShowEvidence(
            self.expect_module(),
            self.costs,
            self.cost,
            self.memory,
            self.explained_collectives.rows,
            self.findings,
            self.measured,
        )

    def show(self, names: Sequence[str], hops: int = 1) -> ShowReport:
        """Return what there is to know about some names."""
        from hlotool.analysis.show.report import show_names

        return show_names(names, hops, self.show_evidence)

    def outline(
        self, only: Collection[StepKind] = (), nesting: int | None = None
    ) -> tuple[OutlineRow, ...]:
        """Return its steps in the order in which they run."""
        return self.find_outline(only, nesting).rows

    def find_outline(self, only: Collection[StepKind] = (), nesting: int | None = None) -> Outline:
        """Return its steps in the order in which they run, and when each instruction begins."""
        from hlotool.analysis.outline.report import outline_program

        return outline_program(self._outline_evidence, only, nesting)

    @cached_property
    def _outline_evidence(self) -> OutlineEvidence:
        from hlotool.analysis.outline.clock import OutlineEvidence

        times = {one.name: one.measured_seconds for one in self.measured_instructions}
        found = self.collectives.rows, self.pricing, times
        return OutlineEvidence(self.expect_module(), self.costs, *found)

    @cached_property
    def step_time(self) -> StepTime | None:
        """How long one step takes, by estimate; None where no chip stands for its backend."""
        from hlotool.analysis.outline.clock import estimate_step_time

        return estimate_step_time(self._outline_evidence)

    @property
    def step_estimate(self) -> StepEstimate | None:
        """The same as figures, where a chip was named for it."""
        if self._chip is None:
            return None
        from hlotool.analysis.summary.report import describe_step_time

        return describe_step_time(self.step_time, str(self.machine), self._find_xla_seconds())

    def _find_xla_seconds(self) -> float | None:
        """Return what XLA's own estimates of a step's instructions come to, None without any."""
        hertz = self._chip.clock_hertz if self._chip else None
        cycles = self._beside.read_cycles() if hertz else {}
        found = [
            cycles[one.name] * self.executions.lower_bound(computation)
            for computation in (self.executions.executed if cycles else ())
            for one in computation.instructions
            if one.name in cycles
        ]
        return sum(found) / hertz if found and hertz else None

    def summarize(self, *, with_findings: bool = True, limit_bytes: int | None = None) -> Summary:
        """Return all that is worth knowing first; without a limit, that of the chip counts."""
        from hlotool.analysis.memory.report import measure_fit
        from hlotool.analysis.summary.report import Summary, find_worst, measure_roofline

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
            memory_unknown=self._explain_unknown_memory(),
            roofline=measure_roofline(self.cost, chip) if chip else None,
            fit=(
                measure_fit(self.memory, limit_bytes, chip)
                if self.memory and limit_bytes is not None
                else None
            ),
            worst_collective=find_worst(report.rows),
            instructions=self.measured_instructions,
            step_time=self.step_estimate,
            replicated=self.replicated,
        )

    def _explain_unknown_memory(self) -> str:
        """Return the reason in half a sentence, '' where memory is known."""
        if self.memory is not None:
            return ""
        from hlotool.analysis.memory.estimate import find_obstacle

        obstacle = find_obstacle(self.expect_module())
        return obstacle.reason if obstacle else ""


# Where a program has the records and lists of which `metrics` declares the fields.
_BLOCKS: Final[Mapping[str, Callable[[Program], object]]] = {
    "buffers": lambda one: one.memory and one.memory.figures.totals,
    "buffers.estimated": lambda one: one.memory and one.memory.figures.estimated,
    "collectives": lambda one: one.collectives.totals,
    "collectives.host": lambda one: one.collectives.host.totals,
    "cost": lambda one: one.cost,
    "fusions": lambda one: one.fusions.totals,
    "measured": lambda one: one.measured_runs,
    "module": lambda one: one.counts.module,
    "step_time": lambda one: one.step_estimate,
    "shardings": lambda one: one.shardings.totals,
}
_LISTS: Final[Mapping[str, Callable[[Program], Sequence[object]]]] = {
    "buffers": lambda one: one.peak_rows,
    "buffers.donation": lambda one: one.donation_savings,
    "buffers.replicated": lambda one: one.replicated,
    "buffers.spaces": lambda one: one.memory.figures.spaces if one.memory else (),
    "collectives": lambda one: one.explained_collectives.rows,
    "collectives.host": lambda one: one.collectives.host.rows,
    "fusions": lambda one: one.fusions.rows,
    "fusions.custom_calls": lambda one: one.custom_calls,
    "shardings": lambda one: one.shardings.parameters,
    "shardings.reshards": lambda one: one.reshards,
    "shardings.results": lambda one: one.shardings.results,
    "summary.dtypes": lambda one: one.counts.dtypes,
    "summary.findings": lambda one: one.findings,
    "summary.loops": lambda one: one.loops,
    "summary.opcodes": lambda one: one.counts.opcodes,
}
_NEED_NO_MODULE: Final = frozenset(("buffers", "buffers.estimated", "buffers.spaces"))
