"""`hlotool summary`: one screen about a module, or a table of modules."""

from __future__ import annotations

from hlotool.analysis.executions import count_executions
from hlotool.analysis.summary import Inventory, take_inventory
from hlotool.analysis.summary_fields import MODULE, SUMMARY
from hlotool.commands.common import RowOptions, document_command, print_document
from hlotool.commands.load import Loaded, Request, dump_options, load_one
from hlotool.fields import Document, Line


@document_command("summary", SUMMARY, example="hlotool summary dump/module_0001.jit_step.txt")
@dump_options
def summary(request: Request, options: RowOptions) -> None:
    """Show what a module is and what is in it, on one screen."""
    loaded = load_one(request)
    module = loaded.expect_module()
    inventory = take_inventory(module, count_executions(module))
    print_document(_document(loaded, inventory), options)


def _document(loaded: Loaded, inventory: Inventory) -> Document:
    tables = ("loops", "opcodes", "dtypes") if inventory.loops else ("opcodes", "dtypes")
    return Document(
        spec=SUMMARY,
        input=loaded.paths,
        blocks={"module": inventory.module},
        rows={
            "opcodes": inventory.opcodes,
            "dtypes": inventory.dtypes,
            "loops": inventory.loops,
        },
        lines=_header(inventory),
        shown=tables,
    )


def _header(inventory: Inventory) -> tuple[Line, ...]:
    facts = inventory.module
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
