"""`hlotool fields`: which fields a command's answer has, with units and meanings.

As a table only the fields of rows, which the row options take; else all, each a row itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.check.results import METRIC_ROWS, MetricRow, list_metric_rows
from hlotool.commands import COMMANDS, load_command
from hlotool.commands.shared.command import document_command, documents_of
from hlotool.commands.shared.many import PROGRAMS
from hlotool.commands.shared.options import RowOptions, completing, hide_typed, takes_several
from hlotool.commands.shared.output import print_document, write_text
from hlotool.commands.shared.request import Request, load_one
from hlotool.errors import UsageError
from hlotool.table import Document, DocumentSpec, Field, RowList, column, figure
from hlotool.table.units import format_field
from hlotool.table.words import suggest

_EXAMPLE: Final = """\
hlotool fields collectives
hlotool fields buffers --where 'unit == "bytes" and holder == "rows"'
hlotool fields diff --json"""

_CHECK: Final = "check"  # whose metrics are fields, too


class FieldRow(Struct, frozen=True):
    """One field of one list or block."""

    document: Annotated[str, figure("name of its document's schema")]
    holder: Annotated[str, column("its row list, for --rows, or its block", heading="of")]
    is_row: Annotated[
        bool, figure("whether it is a field of rows, for --where and other row options")
    ]
    name: Annotated[str, column("its name", heading="field")]
    unit: Annotated[str, column("its unit, or type")]
    is_nullable: Annotated[bool, figure("whether it may be unknown")]
    is_shown: Annotated[bool, figure("whether a table shows it without --columns")]
    heading: Annotated[str, figure("what a table calls it")]
    meaning: Annotated[str, column("meaning of the field")]
    values: Annotated[tuple[str, ...], figure("all possible values, if they are known")]


FIELDS: Final = RowList(
    "fields", FieldRow, "fields in the order of the JSON", has_total=False, limit=0
)
_METRICS: Final = replace(METRIC_ROWS, is_optional=True)
FIELDS_DOCUMENT: Final = DocumentSpec(
    "fields", "the fields of a command's answers", row_lists=(FIELDS, _METRICS)
)


@document_command("fields", FIELDS_DOCUMENT, example=_EXAMPLE)
@click.argument("command", metavar="COMMAND", shell_complete=completing(lambda _: COMMANDS.items()))
@click.argument("path", metavar="[PATH]", default="", callback=hide_typed)
def fields(command: str, path: str, options: RowOptions) -> None:
    """List the fields of a command's answer: name, unit, meaning.

    The table lists those of rows, for --where, --sort, --by and --columns; JSON lists every
    one. For `check` it also lists metrics, with their figures in PATH.
    """
    if path and command != _CHECK:
        raise UsageError(f"Only `hlotool fields {_CHECK}` takes PATH.")
    if command not in COMMANDS or not documents_of(command):
        known = [one for one in COMMANDS if documents_of(one)]
        raise UsageError(f"no command {command!r} has fields; {suggest(command, known)}")
    documents = documents_of(command)
    callback = load_command(command).callback
    if callback and takes_several(callback):
        documents = (*documents, PROGRAMS)
    metrics: list[MetricRow] = []
    if command == _CHECK:
        metrics = list_metric_rows(load_one(Request(path), with_buffers=True) if path else None)
    if options.format == "table" and not options.chooses_rows:
        write_text(_write_lists(documents, metrics), options.output)
        return
    found = [row for spec in documents for row in list_fields(spec)]
    rows: dict[str, Sequence[object]] = {"fields": found}
    if metrics:
        rows[_METRICS.name] = metrics
    print_document(Document(FIELDS_DOCUMENT, None, rows=rows), options)


def list_fields(spec: DocumentSpec) -> Iterator[FieldRow]:
    """Yield the fields of a document: of its top, its blocks and its row lists."""
    for path, holder in spec.walk():
        for field in holder.fields:
            is_row = isinstance(holder, RowList) and "." not in path
            kind = field.unit.value, field.is_nullable, field.in_table
            says = field.title, field.meaning, field.values
            yield FieldRow(spec.name, path, is_row, field.name, *kind, *says)


def _write_lists(documents: Sequence[DocumentSpec], metrics: Sequence[MetricRow]) -> Iterator[str]:
    """Write the fields of rows, and metrics, as a terminal shows them: a paragraph a list."""
    formatter = click.get_current_context().make_formatter()
    for spec in documents:
        for rows in spec.row_lists:
            added = f", with {rows.option}" if rows.option else ""
            title = f"{spec.name} --rows {rows.name}{added} ({rows.meaning})"
            with formatter.section(click.wrap_text(title, formatter.width - 1, "", "  ")):
                formatter.write_dl([(one.name, _explain(one)) for one in rows.fields])
    if metrics:
        with formatter.section(f"metrics ({_METRICS.meaning})"):
            formatter.write_dl([_explain_metric(one) for one in metrics])
    yield formatter.getvalue().lstrip("\n")


def _explain(field: Field) -> str:
    """Return a field's meaning behind its unit, with `?` where it may be unknown."""
    return f"[{field.unit.value}{'?' * field.is_nullable}] {field.meaning}"


def _explain_metric(row: MetricRow) -> tuple[str, str]:
    """Return a metric's name, and its meaning behind its unit, with its figure if it is known."""
    figure = f": {format_field(_METRICS.field('figure'), row)}" * (row.figure is not None)
    return row.metric, f"[{row.kind}] {row.meaning}{figure}"
