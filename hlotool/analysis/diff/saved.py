"""The figures that a saved document holds, in the place of a program.

`hlotool summary --json` writes them, and `hlotool check --update-baseline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hlotool.analysis.collective_records import KindRow
from hlotool.analysis.diff.collectives import CollectiveChange
from hlotool.analysis.figures import Program
from hlotool.records import record

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


@record
class SavedFigures:
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
        """Return the collectives by kind, None where the document does not tell."""
        rows = self._record("collectives").get("by_kind")
        if not isinstance(rows, list):
            return None
        return tuple(_kind_row(row) for row in rows if isinstance(row, Mapping))

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
    return figures.collectives.totals.by_kind if figures.collectives else None


def compare_kinds(
    left: Sequence[KindRow], right: Sequence[KindRow]
) -> tuple[CollectiveChange, ...]:
    """Compare collectives by kind alone, which is all that a summary tells of them."""
    here, there = ({row.kind: row for row in side} for side in (left, right))
    rows = [_compare(kind, here.get(kind), there.get(kind)) for kind in sorted({*here, *there})]
    changed = [row for row in rows if _differs(row)]
    return tuple(sorted(changed, key=lambda row: (-abs(row.delta_bytes), row.kind)))


_NONE: Final = KindRow("", 0, 0, 0, 0, 0, is_lower_bound=False, is_upper_bound=False)


def _compare(kind: str, left: KindRow | None, right: KindRow | None) -> CollectiveChange:
    here, there = left or _NONE, right or _NONE
    return CollectiveChange(
        change="added" if left is None else "removed" if right is None else "changed",
        kind=kind,
        axes=None,
        group_size=None,
        dtype=None,
        count=there.count or here.count,
        left_count=here.count,
        right_count=there.count,
        left_executions=here.executions,
        right_executions=there.executions,
        left_payload_bytes=here.payload_bytes_per_run,
        right_payload_bytes=there.payload_bytes_per_run,
        left_bytes=here.wire_bytes_per_run,
        right_bytes=there.wire_bytes_per_run,
        delta_bytes=there.wire_bytes_per_run - here.wire_bytes_per_run,
        left_exposed_count=None,
        right_exposed_count=None,
        is_lower_bound=here.is_lower_bound or there.is_lower_bound,
        scope=None,
        source_file=None,
        source_line=None,
    )


def _differs(row: CollectiveChange) -> bool:
    left = row.left_count, row.left_executions, row.left_payload_bytes, row.left_bytes
    right = row.right_count, row.right_executions, row.right_payload_bytes, row.right_bytes
    return left != right


def _kind_row(row: Json) -> KindRow:
    def number(name: str) -> int:
        value = row.get(name)
        return value if isinstance(value, int) else 0

    return KindRow(
        str(row.get("kind", "")),
        number("count"),
        number("textual_count"),
        number("executions"),
        number("payload_bytes_per_run"),
        number("wire_bytes_per_run"),
        is_lower_bound=row.get("is_lower_bound") is True,
        is_upper_bound=row.get("is_upper_bound") is True,
    )
