"""Which rows a finding is about, and the line of the user's program that weighs most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.analysis.findings.finding import Finding
from hlotool.check.rule import Rule
from hlotool.program.figures import ROW_LISTS
from hlotool.program.program import Program
from hlotool.query.compile import compile_condition
from hlotool.query.expression import Aggregate

_NAMED: Final = 3  # rows named in what a rule found

# The field by which the row that a finding points at is the largest.
_WEIGHTS: Final = {
    "buffers": "occupied_bytes",
    "collectives": "known_wire_bytes_per_run",
    "fusions": "known_memory_bytes_per_run",
    "cost": "known_flops_per_run",
}
_ROWS_OF: Final = {"cost": "fusions"}
_NAMES: Final = ("name", "value", "opcode", "parameter_name", "dtype", "code")


def name_rows(counted: Aggregate, program: Program) -> str:
    """Name the first few of the rows that are counted, those of one name once.

    Of findings of one kind the first says what it is about: `large-copy ×2 (copy.3, …)`.
    """
    rows = _find_rows(counted, program)
    alike: dict[str, list[object]] = {}
    for row in rows:
        alike.setdefault(_name_of(row), []).append(row)
    named = [(name, of) for name, of in alike.items() if name][:_NAMED]
    count = len(rows) - sum(len(of) for _, of in named)
    more = f" and {count} more" if count and named else ""
    return ", ".join(_name_alike(name, of) for name, of in named) + more


def find_place(rule: Rule, program: Program) -> tuple[str | None, int | None]:
    """Return file and line of what weighs most in what the budget measures, None if unknown."""
    if rule.counted:
        rows = _find_rows(rule.counted, program)
        block = rule.counted.rows.partition(".")[0]
    else:
        block = min(rule.paths, default="").partition(".")[0]
        path = _ROWS_OF.get(block, block)
        rows = program.rows(path) if path in ROW_LISTS else ()
    weight = _WEIGHTS.get(block, "")
    for row in sorted(rows, key=lambda row: -(getattr(row, weight, 0) or 0)):
        file, line = getattr(row, "source_file", None), getattr(row, "source_line", None)
        if isinstance(file, str) and isinstance(line, int):
            return file, line
    return None, None


def _find_rows(counted: Aggregate, program: Program) -> Sequence[object]:
    rows = program.rows(counted.rows)
    if counted.where is None:
        return rows
    keeps = compile_condition(counted.where, ROW_LISTS[counted.rows].fields)
    return [row for row in rows if keeps(row)]


def _name_alike(name: str, rows: Sequence[object]) -> str:
    """Name rows of one name, and what the first of them is about."""
    text = f"{name} ×{len(rows)}" if len(rows) > 1 else name
    if not isinstance(rows[0], Finding):
        return text
    subject = rows[0].instruction or rows[0].parameter
    return f"{text} ({subject}{', …' if len(rows) > 1 else ''})" if subject else text


def _name_of(row: object) -> str:
    found = (getattr(row, name, None) for name in _NAMES)
    return next((name for name in found if isinstance(name, str) and name), "")
