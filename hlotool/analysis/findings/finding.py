"""One thing about a module that is worth a look, and what findings are made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.report import CollectiveReport
from hlotool.analysis.cost import CostModel, CostReport
from hlotool.analysis.fusions.missed import MissedRow, find_missed
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.memory.figures import MemoryFigures
from hlotool.ir.module import Module

Severity: TypeAlias = Literal["info", "warning"]

LEAST_BYTES: Final = 1 << 20
LEAST_SHARE: Final = 0.01  # of all bytes accessed in one run


class Finding(Struct, frozen=True):
    """One finding: a sentence, and how many bytes it is about.

    `bytes` are what the message speaks of: traffic or transfers of one run, or memory held;
    None where there is no such figure. `source` is `file:line`.
    """

    code: str
    severity: Severity
    message: str
    instruction: str | None
    bytes: int | None
    source: str | None


class Evidence(Struct, frozen=True, dict=True):
    """The analyses of one module that findings are made from; None where not done."""

    module: Module
    executions: Executions
    costs: CostModel
    cost: CostReport
    collectives: CollectiveReport | None = None
    memory: MemoryFigures | None = None

    @cached_property
    def backend(self) -> Backend | None:
        """The backend whose marks the text bears."""
        return find_backend(self.module)

    @cached_property
    def least_traffic_bytes(self) -> int:
        """From so many bytes in one run on, traffic is worth a finding."""
        share = self.cost.bytes_accessed_per_run * LEAST_SHARE
        return max(LEAST_BYTES, int(share))

    @cached_property
    def missed(self) -> tuple[MissedRow, ...]:
        """Large operations outside fusions; none before optimization, where all are."""
        if not self.module.header.is_scheduled:
            return ()
        return find_missed(self.executions, self.costs, self.least_traffic_bytes)

    def share(self, size_bytes: int) -> str:
        """Write a part of all bytes accessed in one run: `3 %`."""
        return percent(size_bytes, self.cost.bytes_accessed_per_run)


def percent(part: int, whole: int) -> str:
    """Write a part of a whole: `12 %`, `0.4 %`."""
    value = 100 * part / whole if whole else 0.0
    return f"{value:.0f} %" if value >= 1 else f"{value:.1f} %"


def name_all(names: Sequence[str]) -> str:
    """Write the first of some names and how many are like it: `all-gather.5 and 3 like it`."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} like it"


def write_source(file: str | None, line: int | None) -> str | None:
    """Write a place in the user's program as `file:line`."""
    if file is None:
        return None
    return f"{file}:{line}" if line else file


def first_source(places: Iterable[tuple[str | None, int | None]]) -> str | None:
    """Return the first place that is known."""
    return next((write_source(*place) for place in places if place[0] is not None), None)
