"""What are findings made from, and from which size on is anything worth one?"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.analysis.collectives.overlap.pricing import Pricing, price
from hlotool.analysis.collectives.report import CollectiveReport
from hlotool.analysis.cost import CostModel, CostReport
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.findings.wording import percent
from hlotool.analysis.fusions.missed import MissedRow, find_missed
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.measured.facts import MeasuredFacts
from hlotool.analysis.memory.donation import DonationRow, find_donations
from hlotool.analysis.memory.report import MemoryReport
from hlotool.ir.module import Module

LEAST_BYTES: Final = 1 << 20
LEAST_SECONDS: Final = 10e-6
LEAST_SHARE: Final = 0.01  # of all that crosses memory in one run


class Evidence(Struct, frozen=True, dict=True):
    """The analyses of one module that findings are made from; None where not done."""

    module: Module
    executions: Executions
    costs: CostModel
    cost: CostReport
    collectives: CollectiveReport | None = None
    memory: MemoryReport | None = None
    machine: Machine | None = None
    measured: MeasuredFacts | None = None
    fusions: tuple[FusionRow, ...] = ()  # where their times were measured, and are estimated

    @cached_property
    def pricing(self) -> Pricing:
        """At which speeds work and transfers go: those of the user's machine, or ratios."""
        return price(self.module, self.machine)

    @property
    def chip(self) -> Chip | None:
        """The chip that times are shown for."""
        return self.machine.chip if self.machine else None

    @cached_property
    def backend(self) -> Backend | None:
        """The backend whose marks the text bears."""
        return find_backend(self.module)

    @cached_property
    def least_traffic_bytes(self) -> int:
        """From so many bytes in one run on, traffic is worth a finding."""
        share = self.cost.memory_bytes_per_run * LEAST_SHARE
        return max(LEAST_BYTES, int(share))

    @cached_property
    def missed(self) -> tuple[MissedRow, ...]:
        """Large operations outside fusions; none before optimization, where all are."""
        if not self.module.header.is_scheduled:
            return ()
        return find_missed(self.executions, self.costs, self.least_traffic_bytes)

    @cached_property
    def donations(self) -> list[DonationRow]:
        """What became of the memory of large parameters."""
        return find_donations(self.module, LEAST_BYTES)

    @cached_property
    def copied_first(self) -> frozenset[str]:
        """The copies that make a donation worthless: a finding of their own, and no other."""
        return frozenset(row.copy_instruction for row in self.donations if row.copy_instruction)

    def share(self, size_bytes: int) -> str:
        """Write a part of all that crosses memory in one run: `3 %`."""
        return percent(size_bytes, self.cost.memory_bytes_per_run)
