"""`hlotool outline`: a program as it runs; for other tools a trace, or a graph of what runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, get_args

import click

from hlotool.analysis.cost.model import TOLD_PADDING
from hlotool.analysis.origin import read_origin, write_short_source
from hlotool.analysis.outline.clock import StepKind
from hlotool.analysis.outline.report import ON_CLOCK, OUTLINE, UNPRICED, OutlineRow, with_measured
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.output import print_document, write_bytes, write_text
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.summary import say_why_unknown
from hlotool.errors import UsageError
from hlotool.export.graph import ExplorerNode, render_model_explorer
from hlotool.export.profilers import Slice, Track, render_perfetto
from hlotool.page.data import list_levels
from hlotool.program.program import Program
from hlotool.table import Document, Line, Unit
from hlotool.table.units import format_value
from hlotool.table.words import suggest

_KINDS: Final[tuple[StepKind, ...]] = get_args(StepKind)
_FORMATS: Final = ("perfetto", "model-explorer")
_NAMES: Final = "instructions of each step: --columns +names; one instruction: hlotool show"
_WORK_ALONE: Final = (
    "traffic/step excludes collectives and overlapped copies; summary includes them"
)
_WORK_BESIDE: Final = (
    "a collective's share counts the work folded into it, which overlaps its transfer; "
    "`exposed` shows its waits"
)
_ON_CLOCK: Final = (
    "steps in a loop have the times of its first iteration; the loop has those of all"
)
_EXAMPLE: Final = """\
hlotool outline dump/
hlotool outline dump/ --only collective,wait
hlotool outline dump/ --nesting 1 --chip h100"""


@document_command("outline", OUTLINE, example=_EXAMPLE, formats=(*shared.FORMATS, *_FORMATS))
@shared.dump_options
@shared.option("--only KIND,…", f"Only steps of these kinds: {', '.join(_KINDS)}.", default="")
@shared.option(
    "--nesting N",
    "Hide steps nested deeper than N loops, branches or calls.",
    type=click.IntRange(min=0),
)
@shared.option(
    "--clock", "With --chip: show the start and end of each step on a modelled clock.", "has_clock"
)
@shared.add_options(shared.MACHINE_AND_LATENCY)
def outline(
    request: Request, *, only: str, nesting: int | None, has_clock: bool, options: shared.RowOptions
) -> None:
    """Show a program in the order it runs: loops, collectives and the work between them."""
    kinds = _parse_kinds(only)
    program = load_one(request, with_buffers=options.format == "perfetto")
    if has_clock and not program.pricing.is_timed:
        raise UsageError("--clock needs --chip, because times need a chip.")
    rows = program.outline(kinds, nesting)
    if options.format == "perfetto":
        write_bytes(_render_trace(program, rows), options.output)
        return
    if options.format == "model-explorer":
        graph = render_model_explorer(program.expect_module().name, _make_nodes(program))
        write_text((graph,), options.output)
        return
    spec = OUTLINE if program.pricing.is_rated else UNPRICED
    document = Document(
        with_measured(ON_CLOCK if has_clock else spec, rows),
        program.paths,
        rows={"steps": rows},
        lines=(_describe(program, rows), *((Line(_ON_CLOCK),) if has_clock else ())),
        notes=_write_notes(program, rows, options) if rows and not options.columns else (),
    )
    print_document(document, options)


def _parse_kinds(text: str) -> tuple[StepKind, ...]:
    asked = [one.strip() for one in text.split(",")] if text else []
    for one in asked:
        if one not in _KINDS:
            raise UsageError(f"--only: unknown kind {one!r}; {suggest(one, _KINDS)}")
    return tuple(kind for kind in _KINDS if kind in asked)


def _describe(program: Program, rows: Sequence[OutlineRow]) -> Line:
    module = program.expect_module()
    pricing = program.pricing
    order = "in schedule order" if module.header.is_scheduled else "in the order of the text"
    if not pricing.is_rated:
        no_chip = "no known chip has this backend, so shares of time are unknown"
        return Line(f"{module.name}, {order}; {no_chip}")
    if not pricing.is_timed:
        rates = f"shares of work are estimates at the ratios of {pricing.chip.name}"
        return Line(f"{module.name}, {order}; {rates}; --chip gives times")
    # The clock stops, or of a text that is no schedule the last row ends.
    end = max((row.end_seconds or 0.0 for row in rows), default=0.0)
    step = program.step_time
    run = format_value(step.duration.total if step else end, Unit.SECONDS)
    said = (
        f"{module.name}, {order}; one step at the peaks of {pricing.chip.name} takes an estimated "
    )
    if step and step.padded.total > step.duration.total * TOLD_PADDING:
        run += f" to {format_value(step.padded.total, Unit.SECONDS)} with tile padding"
    # How links are shared, and what a transfer waits for, is modelled: that is no peak.
    if step and not step.is_upper_bound and not step.duration.exposed:
        run += ": a lower bound, because no kernel reaches the peaks"
    if program.cost.is_total_lower_bound or program.cost.is_traffic_lower_bound:
        run += f"; {say_why_unknown(program.cost)}: shares refer to known work"
    return Line(said + run)


def _write_notes(
    program: Program, rows: Sequence[OutlineRow], options: shared.RowOptions
) -> tuple[Line, ...]:
    """Say what the table leaves out, and whose the work beside a collective is."""
    told = sum(row.traffic_bytes_per_step or 0 for row in rows if row.parent is None)
    is_less = told < program.cost.traffic_bytes_per_step
    has_beside = options.groups_by("kind") and any(
        row.kind == "collective" and row.time_share for row in rows
    )
    return (
        *((Line(_WORK_BESIDE),) if has_beside else ()),
        *((Line(_WORK_ALONE),) if is_less else ()),
        *(() if options.by else (Line(_NAMES),)),
    )


# Other tools.


def _render_trace(program: Program, rows: Sequence[OutlineRow]) -> bytes:
    """Return the modelled clock as tracks: loops, work, transfers, and memory in use."""
    if not program.pricing.is_timed:
        raise UsageError("--format perfetto needs --chip, because times need a chip.")
    holding = {row.parent for row in rows}
    parts = {
        "loops": [row for row in rows if row.kind in {"loop", "call", "repeat"}],
        "work": [
            row for row in rows if row.kind in {"compute", "memory"} and row.number not in holding
        ],
        "transfers": [row for row in rows if row.kind == "collective"],
    }
    shown = ((name, map(_make_slices, found)) for name, found in parts.items() if found)
    tracks = [Track(name, tuple(chain.from_iterable(slices))) for name, slices in shown]
    levels = list_levels(program)
    memory = [Track("memory in use", levels=levels)] if levels else []
    return render_perfetto(program.expect_module().name, [*tracks, *memory])


def _make_slices(row: OutlineRow) -> Iterator[Slice]:
    """Yield when a step runs: as often as it stands there."""
    notes = {
        "scope": row.scope or "",
        "instructions": ", ".join(row.names[:8]),
        "flops per step": str(row.flops_per_step or ""),
        "bytes of memory per step": str(row.traffic_bytes_per_step or ""),
        "bytes sent per step": str(row.sent_bytes_per_step or ""),
    }
    told = tuple((name, said) for name, said in notes.items() if said)
    for start, end in row.own.spans:
        yield Slice(row.what, start, end, told)


def _make_nodes(program: Program) -> Iterator[ExplorerNode]:
    """Yield the instructions of the computations that run, callers first.

    What has no scope stands in its computation. Costs are those of one execution.
    """
    for computation in program.executions.executed:
        for one in computation.instructions:
            origin, cost = read_origin(one), program.costs.of(one)
            told = {
                "name": one.full_name,
                "shape": str(one.shape),
                "source": write_short_source(origin.source_file, origin.source_line) or "",
                "flops": str(cost.total_flops),
                "traffic_bytes": str(cost.traffic_bytes),
            }
            yield ExplorerNode(
                one.full_name,
                one.opcode,
                origin.scope or computation.name,
                tuple(dict.fromkeys(each.full_name for each in one.operands)),
                tuple((key, said) for key, said in told.items() if said),
            )
