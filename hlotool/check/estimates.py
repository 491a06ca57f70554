"""Which budgets are about times, which only a machine gives?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.analysis.collectives.machine import Machine
from hlotool.errors import UsageError
from hlotool.program.metrics import METRICS, ROW_LISTS
from hlotool.table import Field, Unit
from hlotool.table.expression.nodes import Aggregate, Expression, Name, find_reads

_OF_CHIPS: Final = frozenset(("fusions", "run_time"))  # times that need one; others need a link
_MEASURED: Final = "measured"  # how the names of measured figures, and their block, begin


def expect_machine(tree: Expression, machine: Machine | None, place: str) -> None:
    """Raise UsageError where a budget reads a time that cannot be estimated."""
    name, block = find_unestimated(tree, machine)
    if name:
        options = "--chip" if block in _OF_CHIPS else "--chip or --bandwidth"
        raise UsageError(
            f"{place}: {name} is an estimate for a machine; name it with {options}, or with "
            "chip in hlotool.toml."
        )


def find_unestimated(tree: Expression, machine: Machine | None) -> tuple[str, str]:
    """Return the first time that a machine does not give, and its block; '' for none."""
    for name, block in _find_times(tree):
        is_known = machine is not None and (
            machine.chip if block in _OF_CHIPS else machine.link or machine.between
        )
        if not is_known:
            return name, block
    return "", ""


def find_measured(tree: Expression) -> str:
    """Return the first figure of a profile that a budget reads, as users call it; '' for none."""
    for one in find_reads(tree):
        if isinstance(one, Name):
            if _is_measured(one.path):
                return one.path
            continue
        for part in (one.value, one.where):
            for read in () if part is None else find_reads(part):
                if isinstance(read, Name) and _is_measured(read.path):
                    return f"{read.path} of {one.rows}"
    return ""


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
    return field.unit is Unit.SECONDS and not _is_measured(path)


def _is_measured(path: str) -> bool:
    """Say whether a figure is from a profile."""
    return any(part.startswith(_MEASURED) for part in path.split("."))
