"""The figures that a saved document holds, in the place of a program.

`hlotool summary --json` writes them, and `hlotool check --update-baseline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.totals import KindRow
from hlotool.diff.blocks.collectives import (
    CollectiveChange,
    Sums,
    has_changed,
    make_change,
)
from hlotool.program.program import Program

Json = Mapping[str, object]

_FUSION_COUNT: Final = "fusions.fusion_count"
# Where a summary holds the record of each block of metrics.
PLACES: Final = {
    "buffers": ("memory", "totals"),
    "buffers.estimated": ("memory", "estimated"),
    "collectives": ("collectives",),
    "cost": ("cost",),
    "module": ("module",),
    "fusions": ("fusions",),
}
_KIND_NUMBERS: Final = (
    "count", "textual_count", "executions", "payload_bytes_per_run", "wire_bytes_per_run",
)  # fmt: skip


class SavedFigures(Struct, frozen=True):
    """A summary, or one module of a baseline; figures it does not hold are None."""

    name: str
    document: Json

    def metric(self, path: str) -> object:
        """Return a metric, None where the document does not hold it."""
        block, _, name = path.rpartition(".")
        found = self._record(block).get(name)
        return self._count_fusions() if found is None and path == _FUSION_COUNT else found

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        record = self._record(path.rpartition(".")[0])
        return record.get("is_lower_bound") is True, record.get("is_upper_bound") is True

    def rows(self, path: str) -> Sequence[object]:
        """Return nothing: a saved document holds no rows that budgets could look at."""
        del path
        return ()

    def kinds(self) -> tuple[KindRow, ...] | None:
        """Return the collectives by kind, None where the document does not tell all of it."""
        rows = self._record("collectives").get("by_kind")
        if not isinstance(rows, list):
            return None
        known = tuple(found for row in rows if (found := _kind_row(row)))
        return known if len(known) == len(rows) else None

    def _count_fusions(self) -> object:
        """Return how many fusions run, which a summary counts among its opcodes."""
        rows = self.document.get("opcodes")
        if not isinstance(rows, list):
            return None
        found = (row for row in rows if isinstance(row, Mapping) and row.get("opcode") == "fusion")
        return next(found, {"executed_count": 0}).get("executed_count")

    def _record(self, block: str) -> Json:
        value: object = self.document
        for key in PLACES[block]:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping) else {}


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
    rows = [
        make_change(kind, _sums(here.get(kind)), _sums(there.get(kind)))
        for kind in sorted({*here, *there})
    ]
    changed = [row for row in rows if has_changed(row)]
    return tuple(sorted(changed, key=lambda row: (-abs(row.delta_bytes), row.kind)))


def _sums(row: KindRow | None) -> Sums | None:
    if row is None:
        return None
    return Sums(
        row.count,
        row.executions,
        row.payload_bytes_per_run,
        row.wire_bytes_per_run,
        None,
        row.is_lower_bound,
    )


def _kind_row(row: object) -> KindRow | None:
    """Read one kind of a document, None where a figure is missing or no number."""
    if not isinstance(row, Mapping):
        return None
    found = map(row.get, _KIND_NUMBERS)
    numbers = [one for one in found if isinstance(one, int) and not isinstance(one, bool)]
    if len(numbers) != len(_KIND_NUMBERS):
        return None
    count, textual_count, executions, payload_bytes, wire_bytes = numbers
    return KindRow(
        str(row.get("kind", "")),
        count,
        textual_count,
        executions,
        payload_bytes,
        wire_bytes,
        is_lower_bound=row.get("is_lower_bound") is True,
        is_upper_bound=row.get("is_upper_bound") is True,
    )
