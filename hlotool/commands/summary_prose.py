"""What `hlotool summary` says of a module: lines of prose, and which tables.

Imported when the analyses are about to run, as it knows all their figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings import Finding
from hlotool.analysis.findings.fields import FINDINGS
from hlotool.analysis.memory.figures_fields import ESTIMATED, TOTALS
from hlotool.analysis.summary.answer_fields import COLLECTIVES, MODULE, SUMMARY
from hlotool.analysis.summary.module_counts import ModuleFacts
from hlotool.analysis.summary.report import Summary
from hlotool.fields import Block, Document, InputPaths, Line

_ORDER: Final = ("loops", "opcodes", "dtypes")  # of the tables
_FINDING: Final = Block("finding", Finding, FINDINGS.meaning, fields=FINDINGS.fields)
_MOST_FINDINGS: Final = 8  # shown as sentences; --rows findings lists all


def describe_summary(found: Summary, paths: InputPaths, *, has_findings: bool) -> Document:
    """Return the answer with its prose and its tables."""
    rows: dict[str, Sequence[object]] = {
        "opcodes": found.opcodes,
        "dtypes": found.dtypes,
        "loops": found.loops,
    }
    if has_findings:
        rows["findings"] = found.findings
    return Document(
        spec=SUMMARY,
        input=paths,
        blocks={
            "module": found.module,
            "cost": found.cost,
            "memory": found.memory,
            "collectives": found.collectives,
        },
        rows=rows,
        lines=(
            *_header(found.module),
            *_memory(found),
            *_cost(found),
            *_collectives(found),
            *_findings(found),
        ),
        shown=tuple(name for name in _ORDER if rows.get(name)),
    )


def _header(facts: ModuleFacts) -> tuple[Line, ...]:
    scheduled = "scheduled" if facts.is_scheduled else "not scheduled"
    split = " × ".join(
        [_plural(facts.num_partitions, "partition"), _plural(facts.replica_count, "replica")]
    )
    backend = facts.backend or "backend unknown"
    return (
        Line(f"{{name}}: {backend}, {scheduled}, {split}", MODULE, facts),
        Line(
            "{instruction_count} instructions in {computation_count} computations; "
            "{executed_instruction_count} run outside fusions and reducers",
            MODULE,
            facts,
        ),
        Line(
            "{parameter_count} parameters {parameter_bytes}, {donated_parameter_count} of them "
            "donated {donated_bytes}; result {result_bytes}",
            MODULE,
            facts,
        ),
    )


def _memory(found: Summary) -> tuple[Line, ...]:
    memory = found.memory
    if memory is None:
        return (Line("memory: unknown, as the module is not scheduled"),)
    if memory.estimated:
        return (
            Line(
                "memory: estimated peak {peak_bytes}, temp {temp_peak_bytes} of it at most",
                ESTIMATED,
                memory.estimated,
            ),
        )
    return (
        Line(
            "memory: {allocated_bytes} allocated, peak {peak_bytes}; arguments {argument_bytes}, "
            "outputs {output_bytes}, aliased {alias_bytes}, temp {temp_bytes}",
            TOTALS,
            memory.totals,
        ),
    )


def _cost(found: Summary) -> tuple[Line, ...]:
    of_whole = " (whole program, before partitioning)" if found.cost.scope == "program" else ""
    hidden = (
        ", and {custom_call_flops_per_run} more in custom calls"
        if found.cost.custom_call_flops_per_run
        else ""
    )
    return (
        Line(
            f"work per run{of_whole}: {{flops_per_run}} flops, {{matrix_flops_per_run}} of them "
            f"in matrix products{hidden}; {{bytes_accessed_per_run}} accessed",
            COST,
            found.cost,
        ),
    )


def _collectives(found: Summary) -> tuple[Line, ...]:
    totals = found.collectives
    if not totals.count:
        return ()
    return (
        Line(
            "collectives: {count} run {executions} times and send {wire_bytes_per_run} per device",
            COLLECTIVES,
            totals,
        ),
    )


def _findings(found: Summary) -> tuple[Line, ...]:
    """Say what is worth a look in sentences, which a table would cut."""
    if not found.findings:
        return ()
    shown = found.findings[:_MOST_FINDINGS]
    lines = [Line(""), Line("Findings")]
    for one in shown:
        size = "{bytes}: " if one.bytes is not None else ""
        place = " ({source})" if one.source else ""
        lines.append(Line(f"* {size}{{message}}{place}", _FINDING, one))
    if len(shown) < len(found.findings):
        more = len(found.findings) - len(shown)
        lines.append(Line(f"… and {more} more; --rows findings lists all"))
    return tuple(lines)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
