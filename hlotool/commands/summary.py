"""`hlotool summary`: one screen about a module, or a table of modules."""

from __future__ import annotations

from hlotool.analysis.inventory import ModuleFacts
from hlotool.analysis.summary import Summary, summarize
from hlotool.analysis.summary_fields import MODULE, SUMMARY
from hlotool.commands.common import RowOptions, document_command, print_document
from hlotool.commands.load import Loaded, Request, dump_options, load_one
from hlotool.fields import Document, Line


@document_command("summary", SUMMARY, example="hlotool summary dump/module_0001.jit_step.txt")
@dump_options
def summary(request: Request, options: RowOptions) -> None:
    """Show what a module is and what is in it, on one screen."""
    loaded = load_one(request)
    print_document(_document(loaded, summarize(loaded.expect_module())), options)


def _document(loaded: Loaded, found: Summary) -> Document:
    tables = ("loops", "opcodes", "dtypes") if found.loops else ("opcodes", "dtypes")
    return Document(
        spec=SUMMARY,
        input=loaded.paths,
        blocks={"module": found.module},
        rows={
            "opcodes": found.opcodes,
            "dtypes": found.dtypes,
            "loops": found.loops,
        },
        lines=_header(found.module),
        shown=tables,
    )


def _header(facts: ModuleFacts) -> tuple[Line, ...]:
    scheduled = "scheduled" if facts.is_scheduled else "not scheduled"
    split = " × ".join(
        [_plural(facts.num_partitions, "partition"), _plural(facts.replica_count, "replica")]
    )
    backend = facts.backend or "backend unknown"
    return (
        Line(f"{facts.name}: {backend}, {scheduled}, {split}"),
        Line(
            "{instruction_count} instructions in {computation_count} computations; "
            "{executed_instruction_count} run on their own, the others inside fusions and reducers",
            MODULE,
            facts,
        ),
        Line(
            "{parameter_count} parameters {parameter_bytes}, result {result_bytes}, "
            "{donated_parameter_count} parameters donated {donated_bytes}",
            MODULE,
            facts,
        ),
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


DOCUMENTS = (SUMMARY,)
