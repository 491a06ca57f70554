"""`hlotool fusions`: what each fusion costs; and custom calls, missed fusions, and one body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.fusions import rows as fusion_rows
from hlotool.analysis.fusions.report import FusionReport, expand_fusion, expect_fusion
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.many import many_programs
from hlotool.commands.shared.request import Request, load_one
from hlotool.errors import UsageError
from hlotool.hlo import Instruction
from hlotool.table import Document, Line, quote_braces
from hlotool.table.units import parse_size
from hlotool.table.words import count_noun

_EXAMPLE: Final = """\
hlotool fusions dump/ --by kind,root_opcode
hlotool fusions dump/ --missed --recompute
hlotool fusions dump/ --chip h100 --where '"trivial" in flags'"""
_LEAST: Final = "1MiB"  # of traffic per step: what a list of missed fusions leaves out is less
# Where rows that are alike come from: by these, groups need rows of one place each.
_PLACES: Final = ("computation", "scope", "op_name", "source_file", "source_line", "stack")
_SHARE: Final = "{flops_share} of all known flops"


@document_command("fusions", fusion_rows.FUSIONS, example=_EXAMPLE, renamed={"--expand": "--body"})
@shared.dump_options
@shared.option("--body NAME", "Show the body of one fusion.", default="")
@shared.option("--missed", "List large operations left unfused.")
@shared.option(
    "--above SIZE",
    f"With --missed: only operations that move at least SIZE per step; {_LEAST} by default.",
)
@shared.option("--recompute", "List expensive operations that several fusions repeat.")
@shared.stack_option
@shared.add_options(shared.CHIP_ALONE)
@many_programs(about_one=("body",), listing={"missed": "missed", "recompute": "recompute"})
def fusions(
    request: Request,
    *,
    body: str,
    missed: bool,
    above: str | None,
    recompute: bool,
    has_stacks: bool,
    options: shared.RowOptions,
) -> Document:
    """List fusions, most memory traffic per step first."""
    missed = missed or options.rows == "missed"  # who asks for the rows asks for the list
    recompute = recompute or options.rows == "recompute"
    if above is not None and not missed:
        raise UsageError("--above needs --missed.")
    least_bytes = parse_size(above or _LEAST, "--above")
    program = load_one(request)
    module = program.expect_module()
    chip = program.machine.chip if program.machine else None
    report = program.fusions
    calls = program.custom_call_totals
    shows_calls = options.rows == fusion_rows.CUSTOM_CALLS.name
    lines = _describe_calls(calls)
    if not shows_calls:
        lines = _headline(report, calls, chip, is_part=module.source.is_fragment)
    lists: dict[str, Sequence[Struct]] = {}
    if body:
        lists["body"] = expand_fusion(body, module, program.costs)
        lines = _describe_body(report, body, expect_fusion(body, module))
    if missed:
        lists["missed"] = program.find_missed(least_bytes)
    if recompute:
        lists["recompute"] = program.recomputed
    is_by_place = options.groups_by(*_PLACES)
    rows, listed_calls = report.rows, program.custom_calls
    if is_by_place:
        rows = program.find_fusions(tells_places=True).rows
        listed_calls = program.find_custom_calls(tells_places=True)
    is_measured = program.measured is not None
    document = Document(
        fusion_rows.choose_fusion_columns(has_chip=chip is not None, is_measured=is_measured),
        program.paths,
        rows={"rows": rows, **lists, "custom_calls": listed_calls},
        blocks={
            "totals": report.totals,
            "custom_call_totals": calls,
            **({fusion_rows.OUTSIDE.name: program.outside_fusions} if is_measured else {}),
        },
        lines=lines,
        notes=() if lists or shows_calls else _say_outside(program.outside_fusions),
        shown=tuple(lists) or ("rows",),
        focus=next(iter(lists), ""),
        find_words=program.find_words,
    )
    return shared.print_stacks(document, module, "rows", *lists) if has_stacks else document


def _headline(
    report: FusionReport, calls: fusion_rows.CustomCallTotals, chip: Chip | None, *, is_part: bool
) -> tuple[Line, ...]:
    bound = "≥ " if is_part else ""
    totals = Line(
        f"{bound}{{fusion_count:fusion}}, {bound}{{distinct_count}} distinct: "
        "{traffic_bytes_per_step} of memory "
        "traffic and {flops_per_step} flops per step; {on_chip_bytes_per_step} never reach memory",
        fusion_rows.FUSION_TOTALS,
        report.totals,
    )
    lines = (totals, *_point_to_calls(calls))
    if chip is None:
        return lines
    said = f"Times are estimates at the peak rates of {quote_braces(chip.description)}"
    if calls.estimated_seconds:
        said += "; custom calls take another {estimated_seconds}"
    return (*lines, Line(said, fusion_rows.CALL_TOTALS, calls))


def _say_outside(outside: fusion_rows.OutsideFusions | None) -> tuple[Line, ...]:
    """Say how much was measured that the table does not show, and where that is listed."""
    if outside is None or not outside.measured_seconds:
        return ()
    text = (
        "measured outside fusions: {measured_seconds} per step, {share} of all "
        "instructions, {longest_seconds} of it in {longest}; `hlotool summary --rows "
        "instructions` lists them"
    )
    return (Line(text, fusion_rows.OUTSIDE, outside),)


def _point_to_calls(calls: fusion_rows.CustomCallTotals) -> tuple[Line, ...]:
    """Say in a line what custom calls do, and where they are; nothing where they cost nothing."""
    unknown = calls.unknown_flops_count
    said = []
    if calls.computing_count:
        do = count_noun(calls.computing_count, "custom call does", "custom calls do")
        said.append(f"{do} {_SHARE}")
    elif calls.moving_count and not unknown:
        move = count_noun(calls.moving_count, "custom call moves", "custom calls move")
        said.append(f"{move} {{traffic_bytes_per_step}}")
    if unknown:
        told = f"{unknown:,} more" if said else count_noun(unknown, "custom call")
        said.append(f"{told} may compute anything")
    if not said:
        return ()
    return (Line(f"{', '.join(said)}: --rows custom_calls", fusion_rows.CALL_TOTALS, calls),)


def _describe_calls(calls: fusion_rows.CustomCallTotals) -> tuple[Line, ...]:
    """Say what all custom calls cost together, and of how many that is unknown."""
    if not calls.call_count:
        return (Line("no custom calls"),)
    share = f", {_SHARE}," if calls.computing_count else ""
    unknown = {"flops": calls.unknown_flops_count, "traffic": calls.unknown_traffic_count}
    left_out = " and ".join(f"{what} of {count:,}" for what, count in unknown.items() if count)
    text = (
        f"{count_noun(calls.call_count, 'custom call')}, {{distinct_count}} distinct: "
        f"{{flops_per_step}} flops{share} and {{traffic_bytes_per_step}} of memory traffic per step"
    )
    return (
        Line(f"{text}; unknown: {left_out}" if left_out else text, fusion_rows.CALL_TOTALS, calls),
    )


def _describe_body(report: FusionReport, name: str, fusion: Instruction) -> tuple[Line, ...]:
    """Say what the fusion is whose body is shown; nothing of one inside another fusion."""
    wanted, holder = name.removeprefix("%"), fusion.computation.name
    for row in report.rows:
        if fusion.full_name in row.members:
            runs = "?" if row.executions is None else row.executions
            alike = f", {row.count} alike" if row.count > 1 else ""
            kind = " ".join(filter(None, (row.kind, row.backend_kind)))
            return (Line(f"{wanted}: {kind}, in {holder}{alike}, executions {runs}"),)
    return ()
