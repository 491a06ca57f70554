"""`hlotool show`: all there is about one instruction, computation, parameter or source line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import click

from hlotool.analysis.show.answer import (
    SHOW,
    SUBJECTS,
    choose_several_columns,
    choose_show_columns,
)
from hlotool.analysis.show.names import count_called
from hlotool.analysis.show.report import ShowReport
from hlotool.commands.prose.show import describe_one
from hlotool.commands.shared.command import (
    RowOptions,
    document_command,
    print_document,
    write_text,
)
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.shared.row_options import FORMATS
from hlotool.fields import Document, Line, quote_braces
from hlotool.program.program import Program
from hlotool.render.graph import GRAPH_FORMATS, GraphEdge, GraphNode

_EXAMPLE: Final = """\
hlotool show dump/ fusion.123
hlotool show dump/ model.py:120 --rows neighbours
hlotool show dump/ fusion.123 --format dot | dot -Tsvg > around.svg"""


@document_command("show", SHOW, example=_EXAMPLE, formats=(*FORMATS, *GRAPH_FORMATS))
@dump_options
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
@click.option(
    "--hops",
    type=click.IntRange(0, 1000),
    default=1,
    help="How many steps away operands and users are listed; 1 by default.",
)
def show(request: Request, *, names: tuple[str, ...], hops: int, options: RowOptions) -> None:
    """Show all there is about instructions, computations, parameters or source lines.

    NAME is an instruction or computation, a value fusion.3{0}, a parameter as the program calls
    it, a source line model.py:120, or the beginning of a name that nothing else begins with.
    """
    program = load_one(request, "executions", "memory", "costs", with_buffers=True)
    report = program.show(names, hops)
    if options.format in GRAPH_FORMATS:
        render = GRAPH_FORMATS[options.format]
        write_text((render(_nodes(report), tuple(_edges(report))),), options.output)
        return
    print_document(_document(program, report), options)


def _document(program: Program, report: ShowReport) -> Document:
    rows = {
        "subjects": report.subjects,
        "memory": report.memory,
        "sharing": report.sharing,
        "neighbours": report.neighbours,
        "body": report.body,
        "collectives": report.collectives,
        "findings": report.findings,
    }
    if len(report.subjects) > 1:
        return Document(
            choose_several_columns(report.subjects),
            program.paths,
            find_words=program.find_words,
            rows=rows,
            notes=(
                Line("Name one alone for all about it; --rows memory, … for one list of all."),
                *_say_called(program, report),
            ),
        )
    filled = tuple(name for name, found in rows.items() if found and name != SUBJECTS.name)
    return Document(
        choose_show_columns(report.collectives),
        program.paths,
        find_words=program.find_words,
        rows=rows,
        lines=tuple(describe_one(report.subjects[0])),
        shown=filled,
        limits_all=True,
        focus="" if filled else SUBJECTS.name,
    )


def _say_called(program: Program, report: ShowReport) -> Iterator[Line]:
    """Say where `fusion.*` names a few of many fusions: it goes by names, not by opcodes."""
    for asked, count in Counter(one.asked for one in report.subjects).items():
        of_opcode = count_called(asked, program.expect_module())
        if of_opcode > count:
            opcode, _ = asked.removeprefix("%").rsplit(".*", 1)
            yield Line(
                quote_braces(
                    f"{asked} goes by names: {count:,} are called so, of {of_opcode:,} "
                    f"instructions of opcode {opcode}."
                )
            )


def _nodes(report: ShowReport) -> tuple[GraphNode, ...]:
    """Return a box for each subject and neighbour, each once."""
    boxes = {
        one.name: GraphNode(one.name, (one.name, *filter(None, (one.opcode, one.shape))), True)
        for one in report.subjects
    }
    for row in report.neighbours:
        boxes.setdefault(row.name, GraphNode(row.name, (row.name, row.opcode, row.shape)))
    return tuple(boxes.values())


def _edges(report: ShowReport) -> Iterator[GraphEdge]:
    """Yield an arrow for each step, each once, in the direction in which values go."""
    found = {
        (row.name, row.reached_from) if row.relation == "operand" else (row.reached_from, row.name)
        for row in report.neighbours
    }
    yield from (GraphEdge(*each) for each in sorted(found))


DOCUMENTS = (SHOW,)
