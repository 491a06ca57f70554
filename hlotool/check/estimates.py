"""Which budgets are about times, which only a machine gives?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.analysis.collectives.overlap.machine import Machine
from hlotool.errors import UsageError
from hlotool.fields import Field, Unit
from hlotool.program.figures import ROW_LISTS
from hlotool.program.metrics import METRICS
from hlotool.query.expression import Aggregate, Expression, Name, find_reads

_FUSIONS: Final = "fusions"  # whose times need a chip; all others need a link
_MEASURED: Final = "measured"  # how the names of measured figures, and their block, begin


def expect_machine(tree: Expression, machine: Machine | None, place: str) -> None:
    """Raise UsageError where a budget reads a time that cannot be estimated."""
    for name, block in _find_times(tree):
        is_known = machine is not None and (
            machine.chip if block == _FUSIONS else machine.link or machine.between
        )
        if not is_known:
            options = "--chip" if block == _FUSIONS else "--chip or --bandwidth"
            raise UsageError(
                f"{place}: {name} is an estimate for a machine; name it with {options}, or with "
                "chip in hlotool.toml."
            )


def _find_times(tree: Expression) -> Iterator[tuple[str, str]]:
    """Yield each time that an expression reads, and the block that it belongs to."""
    for one in find_reads(tree):
        if isinstance(one, Name):
            if _is_estimate(one.path, METRICS[one.path]):
                yield one.path, one.path.partition(".")[0]
            continue
        for part in (one.value, one.where):
            if part is not None:
                yield from _find_times_of_rows(part, one)


def _find_times_of_rows(part: Expression, of: Aggregate) -> Iterator[tuple[str, str]]:
    """Yield the times among the fields that are read of rows."""
    rows = ROW_LISTS[of.rows]
    for one in find_reads(part):
        if isinstance(one, Name) and _is_estimate(one.path, rows.field(one.path)):
            yield f"{one.path} of {of.rows}", of.rows.partition(".")[0]


def _is_estimate(path: str, field: Field) -> bool:
    """Say whether a figure is a time that a machine gives; a profile gives the measured ones."""
    is_measured = any(part.startswith(_MEASURED) for part in path.split("."))
    return field.unit is Unit.SECONDS and not is_measured
