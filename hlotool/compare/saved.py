"""The figures that a saved document holds, in the place of a program.

`hlotool summary --json` writes them, and `hlotool check --update-baseline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Machine
from hlotool.analysis.collectives.totals import KindRow
from hlotool.analysis.measured import MEASURED
from hlotool.compare.changes.collectives import CollectiveChange, has_changed, make_change
from hlotool.dump.saved import SavedSummary
from hlotool.program.metrics import METRICS
from hlotool.program.program import Program
from hlotool.table import Unit

_FUSION_COUNT: Final = "fusions.fusion_count"
# What is exposed goes by the machine; of another, nothing is known.
_EXPOSED: Final = {"exposed_wire_bytes_per_run": None, "exposed_seconds": None}


class SavedFigures(Struct, frozen=True):
    """A summary, or one module of a baseline; figures it does not hold are None.

    Times, and what is exposed, count only where they were estimated for the `machine` that is
    asked about.
    """

    name: str
    summary: SavedSummary
    machine: Machine | None = None

    def metric(self, path: str) -> object:
        """Return a metric, None where the document does not hold it."""
        block, _, name = path.rpartition(".")
        record = self.summary.record(block)
        is_time = METRICS[path].unit is Unit.SECONDS and block != MEASURED.name
        is_of_machine = is_time or name in _EXPOSED
        if is_of_machine and not self._is_for_machine(record):
            return None
        found = record.get(name)
        return self._count_fusions() if found is None and path == _FUSION_COUNT else found

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        record = self.summary.record(path.rpartition(".")[0])
        return record.get(METRICS[path].lower_flag) is True, record.get("is_upper_bound") is True

    def knows_rows(self, path: str) -> bool:
        """Say no: a saved document holds no rows that budgets could look at."""
        del path
        return False

    def rows(self, path: str) -> Sequence[object]:
        """Return nothing, for every list."""
        del path
        return ()

    def kinds(self) -> tuple[KindRow, ...] | None:
        """Return the collectives by kind, None where the document does not tell all of it."""
        record = self.summary.record("collectives")
        try:
            rows = convert(record.get("by_kind"), tuple[KindRow, ...])
            is_ours = self._is_for_machine(record)
            return rows if is_ours else tuple(replace(row, **_EXPOSED) for row in rows)
        except ValidationError:  # a figure is missing, or it is no number
            return None

    def _is_for_machine(self, record: Mapping[str, object]) -> bool:
        """Whether a record was made for the machine that is asked about, or for none as well."""
        return record.get("machine") == (None if self.machine is None else str(self.machine))

    def _count_fusions(self) -> int | None:
        """Return how many fusions run, which a summary counts among its opcodes."""
        if self.summary.opcodes is None:
            return None
        counts = {row.opcode: row.executed_count for row in self.summary.opcodes}
        return counts.get("fusion", 0)


def kinds_of(figures: Program | SavedFigures) -> tuple[KindRow, ...] | None:
    """Return the collectives of a side by kind, None where they are unknown."""
    if isinstance(figures, SavedFigures):
        return figures.kinds()
    return figures.collectives.totals.by_kind if figures.module else None


def compare_kinds(
    left: Sequence[KindRow], right: Sequence[KindRow]
) -> tuple[CollectiveChange, ...]:
    """Compare collectives by kind alone, which is all that a summary tells of them."""
    here, there = ({row.kind: row for row in side} for side in (left, right))
    rows = (make_change(here.get(kind), there.get(kind)) for kind in sorted({*here, *there}))
    changed = [row for row in rows if has_changed(row)]
    return tuple(sorted(changed, key=lambda row: (-abs(row.delta_bytes), row.kind)))
