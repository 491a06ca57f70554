"""`hlotool fusions`: what each fusion costs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hlotool.analysis.cost.chips import Chip, find_chip
from hlotool.analysis.fusions.answer import FUSION_TOTALS, FUSIONS, FUSIONS_ON_CHIP
from hlotool.analysis.fusions.expansion import expand_fusion, find_fusion
from hlotool.analysis.fusions.report import FusionReport
from hlotool.analysis.fusions.roofline import estimate_fusion_times
from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.fields import Document, Line
from hlotool.fields.quantity import parse_size
from hlotool.ir import Instruction

_EXAMPLE = """\
hlotool fusions dump/ --by kind,root_opcode
hlotool fusions module_0001.jit_step.gpu_after_optimizations.txt --where '"trivial" in flags'
hlotool fusions dump/ --missed --recompute
hlotool fusions dump/ --rows custom_calls
hlotool fusions dump/ --chip h100"""


@document_command("fusions", FUSIONS, example=_EXAMPLE)
@dump_options
@click.option("--expand", metavar="NAME", default="", help="Show the body of one fusion.")
@click.option("--missed", is_flag=True, help="List large operations left unfused.")
@click.option(
    "--above",
    metavar="SIZE",
    default="1MiB",
    help="With --missed: only what moves at least this much in a run; 1MiB by default.",
)
@click.option(
    "--recompute", is_flag=True, help="List expensive operations that several fusions repeat."
)
@click.option("--chip", metavar="NAME", default="", help="Estimate times at this chip's peaks.")
@click.option(
    "--chip-file",
    metavar="FILE",
    default="",
    help="TOML file of your own chips, in the form of chips.toml.",
)
def fusions(
    request: Request,
    *,
    expand: str,
    missed: bool,
    above: str,
    recompute: bool,
    chip: str,
    chip_file: str,
    options: RowOptions,
) -> None:
    """List the fusions of a module, most bytes accessed in a run first."""
    found_chip = find_chip(chip, chip_file) if chip else None
    least_bytes = parse_size(above, "--above")
    program = load_one(request)
    report = program.fusions
    rows = estimate_fusion_times(report.rows, found_chip) if found_chip else report.rows
    lines = _header(report, found_chip)
    lists: dict[str, Sequence[object]] = {}
    if expand:
        lists["expanded"] = expand_fusion(expand, program.expect_module(), program.costs)
        lines = _describe(report, expand, find_fusion(expand, program.expect_module()))
    if missed:
        lists["missed"] = program.find_missed(least_bytes)
    if recompute:
        lists["recompute"] = program.recomputed
    print_document(
        Document(
            FUSIONS_ON_CHIP if found_chip else FUSIONS,
            program.paths,
            rows={"rows": rows, "custom_calls": program.custom_calls, **lists},
            blocks={"totals": report.totals},
            lines=lines,
            shown=tuple(lists) or ("rows",),
            focus=next(iter(lists), ""),
        ),
        options,
    )


def _header(report: FusionReport, chip: Chip | None) -> tuple[Line, ...]:
    totals = Line(
        "{fusion_count} fusions, {distinct_count} distinct: {memory_bytes_per_run} of memory "
        "traffic and {flops_per_run} flops in one run; {saved_bytes_per_run} never reach memory",
        FUSION_TOTALS,
        report.totals,
    )
    if chip is None:
        return (totals,)
    return (totals, Line(f"Times are estimates at the peak rates of {chip.description}"))


def _describe(report: FusionReport, name: str, fusion: Instruction) -> tuple[Line, ...]:
    """Say what the fusion is whose body is shown; nothing of one inside another fusion."""
    wanted, holder = name.removeprefix("%"), fusion.computation.name
    for row in report.rows:
        if fusion.full_name in row.members:
            runs = "?" if row.executions is None else row.executions
            alike = f", {row.count} alike" if row.count > 1 else ""
            kind = " ".join(filter(None, (row.kind, row.backend_kind)))
            return (Line(f"{wanted}: {kind}, in {holder}{alike}, executions {runs}"),)
    return ()


DOCUMENTS = (FUSIONS,)
