"""What `hlotool diff` answers of two programs: its lists, its blocks, its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.summary.counts import ModuleFacts
from hlotool.analysis.summary.report import MODULE
from hlotool.compare.causes.account import AccountRow
from hlotool.compare.causes.cause import Cause, Triage
from hlotool.compare.changes.collectives import CollectiveChange
from hlotool.compare.changes.figures import MetricRow, TimeChange
from hlotool.compare.changes.fusions import FusionChange
from hlotool.compare.changes.header import FlagChange, HeaderChange
from hlotool.compare.changes.instructions import InstructionChange, MeasuredChange, OrderChange
from hlotool.compare.changes.memory import MemoryChange, SpaceChange
from hlotool.table import INPUT_BLOCK, Block, DocumentSpec, InputPaths, RowList, figure

DEVICES: Final = "devices over which {} bytes and flops are summed; 1 if both run on equally many"
_ALONE: Final = "instructions on the {} without a counterpart"


class SideFacts(Struct, frozen=True):
    """One side of a diff: what the user calls it, where it lies, what it is."""

    label: Annotated[str, figure("the user's name for it")]
    saved_schema: Annotated[str | None, figure("schema of a saved document; null for a dump")]
    input: InputPaths
    module: ModuleFacts | None


class DiffFacts(Struct, frozen=True):
    """What holds of a diff as a whole."""

    identical: Annotated[
        bool | None,
        figure(
            "whether the programs are the same except for names, numbering, metadata and order; "
            "null where structure was not compared"
        ),
    ]
    differs: Annotated[bool, figure("whether any list has a difference")]
    matched_count: Annotated[int | None, figure("instructions with a counterpart")]
    changed_count: Annotated[int | None, figure("how many of these differ")]
    old_only_count: Annotated[int | None, figure(_ALONE.format("old"))]
    new_only_count: Annotated[int | None, figure(_ALONE.format("new"))]
    copied_count: Annotated[
        int | None, figure("instructions that are copies of those in a loop's body")
    ]
    stages: Annotated[tuple[str, ...], figure("the stages of both texts, if they differ")]
    old_devices: Annotated[int, figure(DEVICES.format("old"))]
    new_devices: Annotated[int, figure(DEVICES.format("new"))]
    not_compared: Annotated[tuple[str, ...], figure("files that only one side has")]


INSTRUCTIONS: Final = RowList(
    "instructions",
    InstructionChange,
    "instructions that were added, removed or changed, most bytes moved first",
    key="name",
    has_total=False,
    title="Instructions",
    screen="change,count,opcode,name,delta_bytes,what,scope",
)
MEMORY: Final = RowList(
    "memory",
    MemoryChange,
    "values that hold memory at only one of the peaks, or different amounts at each",
    size="delta_bytes",
    key="value",
    title="Memory at the peak",
    screen="old_bytes,new_bytes,delta_bytes,count,value,reason,shape,source",
    wide_screen="scope",
)
COLLECTIVES: Final = RowList(
    "collectives",
    CollectiveChange,
    "collectives that differ, by kind, interconnect, devices and dtype",
    size="delta_bytes",
    key="kind",
    title="Collectives",
    screen="change,kind,interconnect,axes,old_count,new_count,delta_bytes,delta_exposed_bytes,what",
    wide_screen="scope,dtype,old_executions,new_executions,old_exposed_seconds,new_exposed_seconds",
)
FUSIONS: Final = RowList(
    "fusions",
    FusionChange,
    "fusions that were added, removed, split, merged or changed",
    size="delta_bytes",
    key="name",
    title="Fusions",
    screen="old_bytes,new_bytes,delta_bytes,count,name,change,scope,what",
    wide_screen="form,root_opcode",
)
METRICS: Final = RowList(
    "metrics", MetricRow, "figures on both sides", has_total=False, limit=0, title="Figures"
)
HEADER: Final = RowList(
    "header",
    HeaderChange,
    "differences of the modules' headers: donation, devices, schedule",
    has_total=False,
    title="Header",
)
FLAGS: Final = RowList(
    "flags",
    FlagChange,
    "compiler flags that differ, except those about dumping",
    has_total=False,
    title="Flags",
)
SPACES: Final = RowList(
    "spaces",
    SpaceChange,
    "memory spaces in which peak or reserved bytes differ",
    has_total=False,
    title="Memory spaces",
)
MEASURED: Final = RowList(
    "measured",
    MeasuredChange,
    "with two profiles: instructions by the change of their time",
    title="Measured time",
    screen="name,opcode,old_seconds,new_seconds,delta_seconds",
    wide_screen="source",
)
CAUSES: Final = RowList(
    "causes",
    Cause,
    "reasons for differences, found by comparison: changes of the program first, then by bytes",
    has_total=False,
    title="Why",
    screen="id,subject,old,new,delta_bytes,source",
    wide_screen="count,scope,measure",
)
ACCOUNT: Final = RowList(
    "account",
    AccountRow,
    "each reason's part of each figure's difference; the rows of a figure add up to it",
    key="reason",
    has_total=False,
    limit=0,
    title="Account",
)
TRIAGE: Final = Block(
    "triage", Triage, "the source of the change; null if the sides are equal", is_nullable=True
)
TIME: Final = Block(
    "time",
    TimeChange,
    "estimated time of one step; null if the sides are equal, or no single chip fits both",
    is_nullable=True,
)
ORDER: Final = Block(
    "order", OrderChange, "the difference in order; null without one", is_nullable=True
)
FACTS: Final = Block("facts", DiffFacts, "the diff as a whole")


def _side(name: str) -> Block:
    blocks = (INPUT_BLOCK, replace(MODULE, is_nullable=True))
    return Block(name, SideFacts, f"the {name} side", blocks)


DIFF: Final = DocumentSpec(
    "diff",
    "changes from one program to another",
    scalars=FACTS,
    blocks=(_side("old"), _side("new"), TRIAGE, TIME, ORDER),
    row_lists=(
        *(INSTRUCTIONS, CAUSES, ACCOUNT, MEMORY, SPACES),
        *(COLLECTIVES, FUSIONS, METRICS, HEADER, FLAGS, MEASURED),
    ),
)


def name_columns(old: str, new: str, collectives: Sequence[CollectiveChange] = ()) -> DocumentSpec:
    """Return the declaration with the user's labels in place of old and new.

    Collectives have columns for the interconnect, for how often they run, for what is exposed and
    for what else differs only where rows differ in these.
    """
    named = []
    for declared in DIFF.row_lists:
        is_cut = declared is COLLECTIVES
        rows = declared.showing(_shown_of(collectives)) if is_cut else declared
        fields = tuple(
            replace(field, heading=_label(field.heading, old, new)) for field in rows.fields
        )
        named.append(replace(rows, chosen=fields))
    return replace(DIFF, row_lists=tuple(named))


def _shown_of(rows: Sequence[CollectiveChange]) -> set[str]:
    """Return the columns that tell collectives apart, or their sides."""
    shown = COLLECTIVES.shown()
    if not {"dcn"} < {row.interconnect for row in rows}:
        shown -= {"interconnect"}
    for name in ("exposed_bytes", "exposed_seconds"):
        if any(getattr(row, f"old_{name}") != getattr(row, f"new_{name}") for row in rows):
            shown |= {f"old_{name}", f"new_{name}"}
            if name == "exposed_bytes":
                shown.add("delta_exposed_bytes")
    if any(_runs_otherwise(row) for row in rows):
        shown |= {"old_executions", "new_executions"}
    if not any(row.details for row in rows):
        shown -= {"what"}
    return shown


def _runs_otherwise(row: CollectiveChange) -> bool:
    """Whether it runs more or less often, and not just because there are more or fewer."""
    runs, counts = (row.old_executions, row.new_executions), (row.old_count, row.new_count)
    return runs[0] != runs[1] and runs != counts


def _label(heading: str, old: str, new: str) -> str:
    first, _, rest = heading.partition(" ")
    label = {"old": old, "new": new}.get(first, first)
    return f"{label} {rest}".strip()
