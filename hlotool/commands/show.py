"""`hlotool show`: all there is about one instruction, computation, parameter or source line.

Where one thing is named, sentences say what it is, and tables what is beside it; where several are,
each is a row. For graph formats the answer is what gives to a thing, and what takes from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from hlotool.analysis.cost.model import TOLD_PADDING
from hlotool.analysis.origin import write_short_source
from hlotool.analysis.show.names import count_called
from hlotool.analysis.show.report import (
    SHOW,
    SUBJECT,
    SUBJECTS,
    BodyRow,
    ShowReport,
    choose_several_columns,
    choose_show_columns,
)
from hlotool.analysis.show.subjects import SubjectRow
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.options import FORMATS, RowOptions, dump_options, option
from hlotool.commands.shared.output import print_document, write_text
from hlotool.commands.shared.request import Request, load_one
from hlotool.dump.read import STDIN
from hlotool.dump.stores import is_address
from hlotool.export.graph import GRAPH_FORMATS, GraphEdge, GraphNode
from hlotool.hlo.opcodes import FREE
from hlotool.program.program import Program
from hlotool.table import Document, Line, Unit
from hlotool.table.units import format_value
from hlotool.table.words import list_some

_LONGEST: Final = 240  # of a definition: operands, or a literal; JSON has all
_LONGEST_SHAPE: Final = 100  # of a tuple; JSON has all
_MOST_OPCODES: Final = 8  # of a fusion
_MOST_STEPS: Final = 7  # of a way from the entry
_SEVERAL: Final = (
    "To see everything about one, name only that one. For one list about all, add --rows memory, …."
)
_EXAMPLE: Final = """\
hlotool show dump/ fusion.123
hlotool show dump/ model.py:120 --rows neighbours
hlotool show dump/ fusion.123 --format dot | dot -Tsvg > around.svg"""


def take_dump_last(
    ctx: click.Context, _: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Read `show NAME DUMP` as `show DUMP NAME` where only the last word is a file."""
    path = ctx.params["path"]
    if path == STDIN or Path(path).exists() or is_address(path) or not Path(names[-1]).exists():
        return names
    ctx.params["path"] = names[-1]
    return (path, *names[:-1])


@document_command("show", SHOW, example=_EXAMPLE, formats=(*FORMATS, *GRAPH_FORMATS))
@dump_options
@click.argument("names", metavar="NAME…", nargs=-1, required=True, callback=take_dump_last)
@option(
    "--hops",
    "List operands and users up to N steps away; 1 by default.",
    type=click.IntRange(0, 1000),
    default=1,
)
def show(request: Request, *, names: tuple[str, ...], hops: int, options: RowOptions) -> None:
    """Show everything about an instruction, computation, parameter or source line.

    NAME is one of these: an instruction or computation, a value fusion.3{0}, the program's name
    of a parameter, or a source line model.py:120. The beginning of a unique name is enough.
    """
    program = load_one(request, with_buffers=True)
    report = program.show(names, hops)
    if options.format in GRAPH_FORMATS:
        render = GRAPH_FORMATS[options.format]
        write_text((render(_nodes(report), tuple(_edges(report))),), options.output)
        return
    print_document(_document(program, report), options)


def _document(program: Program, report: ShowReport) -> Document:
    rows = {rows.name: getattr(report, rows.name) for rows in SHOW.row_lists}
    spec = choose_show_columns(report.collectives)
    if len(report.subjects) > 1:
        spec = choose_several_columns(report.subjects)
    document = Document(spec, program.paths, find_words=program.find_words, rows=rows)
    if len(report.subjects) > 1:
        return replace(document, notes=(Line(_SEVERAL), *_say_called(program, report)))
    lines = *describe_one(report.subjects[0]), *_say_inside(report)
    filled = tuple(name for name, found in rows.items() if found and name != SUBJECTS.name)
    focus = "" if filled else SUBJECTS.name
    return replace(document, lines=lines, shown=filled, limits_all=True, focus=focus)


def _say_inside(report: ShowReport) -> Iterator[Line]:
    """Say what a fusion computes, most frequent first; of what it calls the table tells."""
    counts = Counter(row.opcode for row in report.body if row.opcode not in FREE)
    if counts and report.subjects[0].opcode == "fusion":
        said = [one + f" ×{count}" * (count > 1) for one, count in counts.most_common()]
        yield Line(f"it computes {list_some(said, _MOST_OPCODES)}")


def _say_called(program: Program, report: ShowReport) -> Iterator[Line]:
    """Say where `fusion.*` names a few of many fusions: it goes by names, not by opcodes."""
    for asked, count in Counter(one.asked for one in report.subjects).items():
        of_opcode = count_called(asked, program.expect_module())
        if of_opcode > count:
            opcode, _ = asked.removeprefix("%").rsplit(".*", 1)
            told = f"{count:,} of {of_opcode:,} instructions of opcode {opcode}"
            yield Line(f"{asked} matches names: {told}.")


def _nodes(report: ShowReport) -> tuple[GraphNode, ...]:
    """Return a box for each subject and neighbour, each once."""
    boxes = {
        one.name: GraphNode(one.name, (one.name, *filter(None, (one.opcode, one.shape))), True)
        for one in report.subjects
    }
    for row in report.neighbours:
        boxes.setdefault(row.name, GraphNode(row.name, (row.name, row.opcode, row.shape)))
    inside = [
        GraphNode(one, (row.name, row.opcode, row.shape)) for one, row in _list_inside(report)
    ]
    return (*boxes.values(), *inside)


def _list_inside(report: ShowReport) -> list[tuple[str, BodyRow]]:
    """Return what is inside fusions, each by a name that no other box has."""
    fusions = {one.name for one in report.subjects if one.opcode == "fusion"}
    return [(f"{row.computation}/{row.name}", row) for row in report.body if row.of in fusions]


def _edges(report: ShowReport) -> Iterator[GraphEdge]:
    """Yield an arrow for each step, each once, in the direction in which values go."""
    found = {
        (row.name, row.reached_from) if row.relation == "operand" else (row.reached_from, row.name)
        for row in report.neighbours
    }
    yield from sorted(found)
    inside = _list_inside(report)
    used = {f"{row.computation}/{one}" for _, row in inside for one in row.operands}
    for name, row in inside:
        yield from ((f"{row.computation}/{one}", name) for one in row.operands)
        if name not in used:
            yield name, row.of


# The lines above the tables, where one thing was named.


def describe_one(row: SubjectRow) -> Iterator[Line]:
    """Say what something is, where it runs, where it comes from and what it costs."""
    first, *attributes = row.definition
    first = first.replace(row.shape, _shorten(row.shape), 1)
    yield Line(first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…")
    yield from (Line(f"    {each}", is_cuttable=True) for each in attributes)
    yield Line(_write_way(row))
    yield from _write_origin(row)
    yield _write_cost(row)
    if row.measured_count is not None:  # it ran in the profile
        seconds = "{measured_seconds} per step, " if row.measured_seconds is not None else ""
        yield Line(f"measured: {seconds}{{measured_count:event}} in all", SUBJECT, row)


def _shorten(shape: str) -> str:
    """Name the first parts of a long tuple, and how many more there are."""
    if len(shape) <= _LONGEST_SHAPE:
        return shape
    head, comma, _ = shape[:_LONGEST_SHAPE].rpartition(", ")
    more = shape.count(", ", len(head))
    return f"{head}, … and {more:,} more)" if comma else shape


def _write_way(row: SubjectRow) -> str:
    steps = row.call_path
    if len(steps) > _MOST_STEPS:
        half = _MOST_STEPS // 2
        steps = (*steps[:half], "…", *steps[-half:])
    more = f", and {row.caller_count - 1:,} more calls" if row.caller_count > 1 else ""
    return f"in {' > '.join(steps)}{more}"


def _write_origin(row: SubjectRow) -> Iterator[Line]:
    place = write_short_source(row.source_file, row.source_line)
    if said := [each for each in (row.scope or row.op_name, place) if each]:
        yield Line(f"from {', '.join(said)}")
    yield from (Line(f"    called from {each}") for each in row.callers)


def _write_cost(row: SubjectRow) -> Line:
    """Return runs, flops and traffic, with shares where there is something to have a share of."""
    flops = "{flops_per_step} flops"
    flops += " ({flops_share} of all)" * _is_seen(row.flops_share)
    traffic = "{traffic_bytes_per_step} of memory traffic"
    traffic += " ({traffic_share} of all)" * _is_seen(row.traffic_share)
    if row.padded_traffic_bytes_per_step > row.traffic_bytes_per_step * TOLD_PADDING:
        traffic += ", {padded_traffic_bytes_per_step} with tile padding"
    inside = ", {instruction_count} instructions inside" if row.instruction_count else ""
    times = {0: "never", 1: "once"}.get(row.known_executions, "{executions} times")
    most = "at most " if row.is_conditional and row.known_executions else ""
    whole = ", with its other parts" if row.name.endswith("}") else ""
    return Line(
        f"runs {most}{times} per step{whole}: {flops} and {traffic}; result {{size_bytes}}{inside}",
        SUBJECT,
        row,
    )


def _is_seen(share: float | None) -> bool:
    """Say whether a share is known, and is not shown as none at all."""
    shown = format_value(share, Unit.PERCENT)
    return share is not None and shown != format_value(0.0, Unit.PERCENT)
