"""`hlotool summary`: one screen about a module, or a table of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click
from msgspec.structs import replace

from hlotool.analysis.collectives.answer import BETWEEN_SLICES
from hlotool.analysis.collectives.host_rows import HOST_LINE, HOST_TOTALS
from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings.finding import FINDINGS, Finding
from hlotool.analysis.measured.facts import MEASURED
from hlotool.analysis.memory.figures import ESTIMATED, TOTALS
from hlotool.analysis.summary.answer import (
    COLLECTIVES,
    MODULE,
    SUMMARY,
    SUMMARY_DIRECTORY,
    choose_summary_columns,
)
from hlotool.analysis.summary.module_facts import ModuleFacts
from hlotool.analysis.summary.report import Summary
from hlotool.analysis.usage_report.report import USAGE_REPORT
from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.commands.shared.directory_options import DirectoryMeans, directory_options
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.machine_options import MACHINE, machine_options
from hlotool.commands.shared.promised import write_promised
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.summary_directory import print_modules
from hlotool.commands.usage_report import describe_usage
from hlotool.fields import Block, Document, InputPaths, Line
from hlotool.inputs.read.text_kind import TextKind

_EXAMPLE: Final = """\
hlotool summary dump/module_0001.jit_step.txt
hlotool summary dump/ --sort -peak_bytes -n 5
hlotool summary dump/ --module jit_step --chip h100"""
_ORDER: Final = ("loops", "opcodes", "dtypes")  # of the tables
_FINDING: Final = Block("finding", Finding, FINDINGS.meaning)
_MOST_FINDINGS: Final = 8  # shown as sentences; --rows findings lists all
# Whose work it is, where that is not one device's.
_SCOPES: Final = {
    "device": "",
    "program": " (whole program, before partitioning)",
    "mixed": " (before partitioning; parts under shard_map are counted for one device)",
}


@document_command(
    "summary",
    SUMMARY,
    SUMMARY_DIRECTORY,
    USAGE_REPORT,
    example="hlotool summary dump/module_0001.jit_step.txt\nhlotool summary dump/ -n 5",
)
@dump_options
@machine_options(MACHINE)
@directory_options
@click.option("--no-findings", is_flag=True, help="Leave out the findings.")
def summary(request: Request, means: DirectoryMeans, no_findings: bool, options: RowOptions) -> int:
    """Summarize a module on one screen; for a directory, list its modules."""
    request = means.prepare(request)
    report = request.find_other(TextKind.MEMORY_REPORT)
    if report is not None:
        print_document(describe_usage(report, request, "spaces", "allocations"), options)
        return 0
    if request.find().is_directory:
        return print_modules(request, means, options)
    means.refuse()
    program = load_one(request, "executions", "costs", "memory", with_buffers=True)
    answer = program.summarize(with_findings=not no_findings)
    document = describe_summary(answer, program.paths, has_findings=not no_findings)
    print_document(replace(document, find_words=program.find_words), options)
    return 0


def describe_summary(found: Summary, paths: InputPaths, *, has_findings: bool = True) -> Document:
    """Return the answer with its prose and its tables."""
    rows: dict[str, Sequence[object]] = {
        "opcodes": found.opcodes,
        "dtypes": found.dtypes,
        "loops": found.loops,
    }
    if has_findings:
        rows["findings"] = found.findings
    return Document(
        spec=choose_summary_columns(found.loops, found.measured),
        input=paths,
        blocks={
            "module": found.module,
            "cost": found.cost,
            "memory": found.memory,
            "collectives": found.collectives,
            "host": found.host,
            "measured": found.measured,
        },
        rows=rows,
        lines=(
            *_header(found.module),
            *_memory(found),
            *_cost(found),
            *_collectives(found),
            *_measured(found),
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
        return (Line(f"memory: unknown, as {found.memory_unknown}"),)
    if memory.estimated:
        allocated = write_promised("allocated", memory.estimated, memory.backend)
        at_most = "at most " if memory.backend == "tpu" else ""
        is_known = memory.estimated.allocated_bytes is not None
        text = f"allocated {allocated}, " if is_known else ""
        return (
            Line(
                f"memory (estimate): {text}peak {{peak_bytes}}, "
                f"temp peak {at_most}{{temp_peak_bytes}}",
                ESTIMATED,
                memory.estimated,
            ),
        )
    return (
        Line(
            "memory: {allocated_bytes} allocated, {reserved_peak_bytes} reserved at the peak, "
            "{peak_bytes} in use; arguments {argument_bytes}, outputs {output_bytes}, aliased "
            "{alias_bytes}, temp {temp_bytes}",
            TOTALS,
            memory.totals,
        ),
    )


def _cost(found: Summary) -> tuple[Line, ...]:
    of_whole = _SCOPES[found.cost.counted_for]
    products = (
        ", {matrix_flops_per_run} of them in matrix products"
        if found.cost.matrix_flops_per_run
        else ""
    )
    hidden = (
        ", {custom_call_flops_per_run} in custom calls"
        if found.cost.custom_call_flops_per_run
        else ""
    )
    return (
        Line(
            f"work per run{of_whole}: {{total_flops_per_run}} flops{products}{hidden}; "
            f"{{memory_bytes_per_run}} of memory traffic",
            COST,
            found.cost,
        ),
    )


def _collectives(found: Summary) -> tuple[Line, ...]:
    totals, slices, host = found.collectives, found.collectives.between_slices(), found.host
    lines: list[Line] = []
    if totals.count:
        text = (
            "collectives: {count} run {executions} times and send {wire_bytes_per_run} per device"
        )
        if totals.exposed_seconds is not None:
            text += "; no work hides {exposed_seconds} of an estimated {transfer_seconds}"
        elif totals.exposed_wire_bytes_per_run is not None:
            text += "; no work hides an estimated {exposed_wire_bytes_per_run}"
            if totals.reference_chip is not None:
                text += " at the ratios of {reference_chip}"
        if totals.is_node_assumed:
            text += "; nodes of {devices_per_node} assumed"
        lines.append(Line(text, COLLECTIVES, totals))
    if slices is not None:
        text = "between slices (dcn): {count} of them send {wire_bytes_per_run} per device"
        lines.append(Line(text, BETWEEN_SLICES, slices))
    if host.count:
        lines.append(Line(HOST_LINE, HOST_TOTALS, host))
    return tuple(lines)


def _measured(found: Summary) -> tuple[Line, ...]:
    """Say how often a profiler saw it run, and how long."""
    if found.measured is None:
        return ()
    text = "measured: {run_count} runs on {device_count} devices"
    if found.measured.run_seconds is not None:
        text += ", {run_seconds} each"
    lines = [Line(text, MEASURED, found.measured)]
    if found.collectives.measured_seconds is not None:
        text = (
            "measured of collectives: {measured_seconds} in one run; nothing else runs in "
            "{measured_exposed_seconds} of it"
        )
        lines.append(Line(text, COLLECTIVES, found.collectives))
    return tuple(lines)


def _findings(found: Summary) -> tuple[Line, ...]:
    """Say what is worth a look in sentences, which a table would cut."""
    if not found.findings:
        return ()
    shown = found.findings[:_MOST_FINDINGS]
    lines = [Line(""), Line("Findings")]
    for one in shown:
        time = ", {estimated_seconds}" if one.estimated_seconds is not None else ""
        size = f"{{bytes}}{time}: " if one.bytes is not None else ""
        place = " ({source})" if one.source else ""
        lines.append(Line(f"* {size}{{message}} Try: {{advice}}.{place}", _FINDING, one))
    if len(shown) < len(found.findings):
        more = len(found.findings) - len(shown)
        lines.append(Line(f"… and {more} more; --rows findings lists all"))
    return tuple(lines)


def _plural(count: int | None, noun: str) -> str:
    if count is None:
        return f"? {noun}s"
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


DOCUMENTS = (SUMMARY, SUMMARY_DIRECTORY)
