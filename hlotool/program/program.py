"""One program, and everything that is worked out about it: each thing once, when first asked for.

`given` has what it was made of, `work` what runs in it and what that costs; here are its memory,
its transfers, and what is drawn from all of these. No place but these knows which analysis needs
which other. Commands, the Python API, findings, diffs and budgets ask here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from msgspec.structs import replace

from hlotool.analysis.collectives.groups.program_mesh import find_header_mesh
from hlotool.analysis.collectives.measured import measure_collectives
from hlotool.analysis.collectives.overlap.pricing import Pricing, price
from hlotool.analysis.collectives.report import (
    NO_OPTIONS,
    CollectiveOptions,
    CollectiveReport,
    analyze_collectives,
    sum_collectives,
)
from hlotool.analysis.collectives.totals import CollectiveTotals
from hlotool.analysis.findings import Evidence, Finding, find_findings
from hlotool.analysis.memory.donation import DonationRow, find_donations
from hlotool.analysis.memory.estimate.obstacle import find_obstacle
from hlotool.analysis.memory.gains.donating import add_gains
from hlotool.analysis.memory.headroom import measure_headroom
from hlotool.analysis.memory.holdings import Holding, find_holdings
from hlotool.analysis.memory.report import MemoryReport, analyze_memory, find_memory
from hlotool.analysis.memory.values.value_rows import BufferRow, rows_at
from hlotool.analysis.outline.listing import outline_program
from hlotool.analysis.outline.rows import OutlineRow
from hlotool.analysis.outline.run_time import RunTime, estimate_run_time
from hlotool.analysis.outline.steps import OutlineEvidence, StepKind
from hlotool.analysis.show.evidence import ShowEvidence
from hlotool.analysis.show.report import ShowReport, show_names
from hlotool.analysis.summary.compilation import Compilation, list_axes
from hlotool.analysis.summary.loop_loads import weigh_loops
from hlotool.analysis.summary.loop_rows import LoopRow, list_loops
from hlotool.analysis.summary.report import Summary, find_worst
from hlotool.analysis.summary.run_bound import bound_run
from hlotool.analysis.summary.run_estimate import RunEstimate, describe_run_time
from hlotool.program.work import ProgramWork


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
