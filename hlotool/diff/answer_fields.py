"""The declarations of a diff: names, units and meanings of what it lists."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.summary.answer import MODULE
from hlotool.analysis.summary.module_facts import ModuleFacts
from hlotool.diff.blocks.collectives import CollectiveChange
from hlotool.diff.blocks.flags import FlagChange
from hlotool.diff.blocks.fold import InstructionChange
from hlotool.diff.blocks.fusions import FusionChange
from hlotool.diff.blocks.header import HeaderChange
from hlotool.diff.blocks.memory import MemoryChange
from hlotool.diff.blocks.metrics import MetricRow
from hlotool.diff.blocks.order import OrderChange
from hlotool.fields import INPUT_BLOCK, Block, DocumentSpec, Field, InputPaths, RowList, Unit

CHANGES: Final = ("added", "removed", "changed")


class SideFacts(Struct, frozen=True):
    """One side of a diff: what the user calls it, where it lies, what it is."""

    label: str
    saved_schema: str | None
    input: InputPaths
    module: ModuleFacts | None


class DiffFacts(Struct, frozen=True):
    """What holds of a diff as a whole."""

    identical: bool | None
    differs: bool
    matched_count: int | None
    changed_count: int | None
    left_only_count: int | None
    right_only_count: int | None
    not_compared: tuple[str, ...]


_CHANGE: Final = Field("change", Unit.TEXT, "what happened", in_table=True, values=CHANGES)
_TIMES: Final = Field(
    "count", Unit.TIMES, "how often the same happened", heading="×", in_table=True
)
_SCOPE: Final = Field(
    "scope", Unit.TEXT, "module path in the user's program", in_table=True, is_nullable=True,
    null_text="",
)  # fmt: skip
_WHAT: Final = Field(
    "what", Unit.TEXT, "the details as one text", heading="what differs", in_table=True
)
_OP_NAME: Final = Field("op_name", Unit.TEXT, "the name that tracing gave it", is_nullable=True)
_LINE: Final = Field("source_line", Unit.NUMBER, "line in that file", is_nullable=True)
_FILE_AND_LINE: Final = (
    Field("source_file", Unit.TEXT, "file of the user's program", is_nullable=True),
    _LINE,
)
_SOURCE: Final = (_OP_NAME, _SCOPE, *_FILE_AND_LINE)


def _sides(what: str, *, is_nullable: bool, in_table: bool = True) -> tuple[Field, ...]:
    """Declare bytes on the left, on the right, and their difference."""
    return (
        Field("left_bytes", Unit.BYTES, f"{what} on the left", heading="old", in_table=in_table,
              is_nullable=is_nullable, null_text=""),
        Field("right_bytes", Unit.BYTES, f"{what} on the right", heading="new", in_table=in_table,
              is_nullable=is_nullable, null_text=""),
        Field("delta_bytes", Unit.BYTES, "right less left", heading="difference", in_table=True,
              is_nullable=is_nullable, is_signed=True),
    )  # fmt: skip


INSTRUCTIONS: Final = RowList(
    "instructions",
    InstructionChange,
    "instructions that were added, removed or changed; those that move most bytes first",
    key="name",
    has_total=False,
    title="Instructions", fields=(
        _CHANGE,
        _TIMES,
        Field("opcode", Unit.TEXT, "the opcode; of a changed one the new", in_table=True),
        Field("reasons", Unit.LIST, "what differs: shape, dtype, layout, operands, …"),
        Field("details", Unit.LIST, "the same with both sides, of the heaviest"),
        Field("name", Unit.TEXT, "the new name, or that of what is gone", heading="instruction",
              in_table=True),
        Field("computation", Unit.TEXT, "where it stands"),
        Field("left_name", Unit.TEXT, "its name on the left", is_nullable=True),
        Field("right_name", Unit.TEXT, "its name on the right", is_nullable=True),
        Field("is_fused", Unit.FLAG, "whether it runs inside a fusion or reducer", heading="fused"),
        Field("left_shape", Unit.TEXT, "the result on the left", is_nullable=True),
        Field("right_shape", Unit.TEXT, "the result on the right", is_nullable=True),
        *_sides("results", is_nullable=True, in_table=False),
        *_SOURCE,
        _WHAT,
    ))  # fmt: skip

MEMORY: Final = RowList(
    "memory",
    MemoryChange,
    "values that hold memory at only one of the peaks, or another amount at each",
    size="delta_bytes",
    key="value",
    title="Memory at the peak", fields=(
        Field("change", Unit.TEXT, "what happened", values=CHANGES),
        Field("reason", Unit.TEXT, "new and gone values have no partner; others are just not "
              "live at the other peak, or hold more or less", heading="change", in_table=True,
              values=("new", "gone", "at the peak now", "not at the peak now", "size")),
        _TIMES,
        Field("value", Unit.TEXT, "the value that holds memory", in_table=True),
        Field("class", Unit.TEXT, "class of its allocation", in_table=True,
              values=("parameter", "output", "temp", "constant", "thread-local")),
        Field("opcode", Unit.TEXT, "what defines it", is_nullable=True),
        Field("left_shape", Unit.TEXT, "its shape on the left", is_nullable=True),
        Field("right_shape", Unit.TEXT, "its shape on the right", is_nullable=True),
        Field("shape", Unit.TEXT, "its shape; both where they differ", in_table=True),
        *_sides("bytes held at the peak", is_nullable=False),
        _OP_NAME,
        _SCOPE,
        Field("source", Unit.TEXT, "file and line, short", in_table=True, is_nullable=True,
              null_text=""),
        *_FILE_AND_LINE,
        Field("parameter_name", Unit.TEXT, "what the user calls the parameter", is_nullable=True),
    ))  # fmt: skip

COLLECTIVES: Final = RowList(
    "collectives",
    CollectiveChange,
    "collectives by kind, axes, group size and dtype, where number or bytes differ",
    size="delta_bytes",
    key="kind",
    lower_if=("is_lower_bound",),
    title="Collectives", fields=(
        _CHANGE,
        Field("kind", Unit.TEXT, "the effective kind", in_table=True),
        Field("axes", Unit.LIST, "mesh axes, where the groups name them", in_table=True,
              is_nullable=True, null_text=""),
        Field("group_size", Unit.NUMBER, "devices of a group", heading="n", in_table=True,
              is_nullable=True, null_text=""),
        Field("dtype", Unit.TEXT, "element type; null where a saved document does not tell",
              in_table=True, is_nullable=True),
        Field("count", Unit.COUNT, "how many there are now, or were", is_summed=False),
        Field("left_count", Unit.COUNT, "how many on the left", heading="old", in_table=True),
        Field("right_count", Unit.COUNT, "how many on the right", heading="new", in_table=True),
        Field("left_executions", Unit.COUNT, "how often those run", heading="old runs"),
        Field("right_executions", Unit.COUNT, "how often those run", heading="new runs"),
        Field("left_payload_bytes", Unit.BYTES, "payload in one run, on the left"),
        Field("right_payload_bytes", Unit.BYTES, "payload in one run, on the right"),
        Field("left_bytes", Unit.BYTES, "wire bytes a device and run, on the left",
              heading="old wire/run", in_table=True),
        Field("right_bytes", Unit.BYTES, "wire bytes a device and run, on the right",
              heading="new wire/run", in_table=True),
        Field("delta_bytes", Unit.BYTES, "right less left", heading="difference", in_table=True,
              is_signed=True),
        Field("left_exposed_count", Unit.COUNT, "of these, how many overlap with no work",
              heading="old exposed", is_nullable=True),
        Field("right_exposed_count", Unit.COUNT, "of these, how many overlap with no work",
              heading="new exposed", is_nullable=True),
        Field("is_lower_bound", Unit.FLAG, "whether a trip count is unknown"),
        Field("scope", Unit.TEXT, "module path of the largest", in_table=True, is_nullable=True,
              null_text=""),
        Field("source_file", Unit.TEXT, "file of the largest", is_nullable=True),
        _LINE,
    ))  # fmt: skip

FUSIONS: Final = RowList(
    "fusions",
    FusionChange,
    "fusions that were added, removed, split, merged or changed",
    size="delta_bytes",
    key="name",
    title="Fusions", fields=(
        _CHANGE,
        _TIMES,
        Field("form", Unit.TEXT, "whether one became several, or several one", in_table=True,
              is_nullable=True, null_text="", values=("split", "merged")),
        Field("name", Unit.TEXT, "what became of what", heading="fusion", in_table=True),
        Field("kind", Unit.TEXT, "the fusion kind", is_nullable=True),
        Field("root_opcode", Unit.TEXT, "what the body ends in", heading="root", in_table=True),
        Field("details", Unit.LIST, "what differs, the body's operations included"),
        Field("left_names", Unit.LIST, "the fusions on the left"),
        Field("right_names", Unit.LIST, "the fusions on the right"),
        Field("left_instruction_count", Unit.COUNT, "instructions inside, on the left",
              heading="old ops"),
        Field("right_instruction_count", Unit.COUNT, "instructions inside, on the right",
              heading="new ops"),
        *_sides("bytes accessed in one run", is_nullable=False),
        Field("delta_flops", Unit.FLOPS, "flops in one run, right less left", is_signed=True),
        *_SOURCE,
        _WHAT,
    ))  # fmt: skip

METRICS: Final = RowList(
    "metrics",
    MetricRow,
    "figures on both sides",
    has_total=False,
    limit=0,
    title="Figures", fields=(
        Field("metric", Unit.TEXT, "the figure, as budgets name it", in_table=True),
        Field("left", Unit.MEASURE, "on the left", heading="old", in_table=True, is_nullable=True,
              unit_from="unit"),
        Field("right", Unit.MEASURE, "on the right", heading="new", in_table=True,
              is_nullable=True, unit_from="unit"),
        Field("delta", Unit.MEASURE, "right less left", heading="difference", in_table=True,
              is_nullable=True, is_signed=True, unit_from="unit"),
        Field("relative_delta", Unit.PERCENT, "the difference as a part of the left",
              heading="%", in_table=True, is_nullable=True, is_signed=True, null_text=""),
        Field("ratio", Unit.RATIO, "right over left", is_nullable=True),
        Field("is_lower_bound", Unit.FLAG, "whether a side's figure is a lower bound"),
        Field("is_upper_bound", Unit.FLAG, "whether a side's figure is an upper bound"),
    ))  # fmt: skip

HEADER: Final = RowList(
    "header",
    HeaderChange,
    "what differs in the modules' headers: donation, devices, schedule",
    has_total=False,
    title="Header", fields=(
        Field("name", Unit.TEXT, "part of the HloModule line", in_table=True),
        Field("left", Unit.TEXT, "on the left; of aliases what only the left has",
              heading="old", in_table=True),
        Field("right", Unit.TEXT, "on the right; of aliases what only the right has",
              heading="new", in_table=True),
    ))  # fmt: skip

FLAGS: Final = RowList(
    "flags",
    FlagChange,
    "compiler flags that differ, those about dumping left out",
    has_total=False,
    title="Flags", fields=(
        Field("flag", Unit.TEXT, "the debug option", in_table=True),
        Field("left", Unit.TEXT, "its value on the left; null at its default", heading="old",
              in_table=True, is_nullable=True, null_text="default"),
        Field("right", Unit.TEXT, "its value on the right; null at its default", heading="new",
              in_table=True, is_nullable=True, null_text="default"),
    ))  # fmt: skip

ORDER: Final = Block(
    "order",
    OrderChange,
    "how the order differs; null where it does not",
    is_nullable=True,
    fields=(
        Field("moved_count", Unit.COUNT, "instructions that stand elsewhere in the schedule"),
        Field("paired_count", Unit.COUNT, "instructions that have partners"),
        Field("computation", Unit.TEXT, "where most moved"),
    ),
)

_FACTS: Final = Block(
    "facts",
    DiffFacts,
    "the diff as a whole", fields=(
        Field("identical", Unit.FLAG, "whether the programs are the same but for names, numbering, "
              "metadata and order; null where structure was not compared", is_nullable=True),
        Field("differs", Unit.FLAG, "whether any list below has a difference"),
        Field("matched_count", Unit.COUNT, "instructions with a partner", is_nullable=True),
        Field("changed_count", Unit.COUNT, "of these, those that differ", is_nullable=True),
        Field("left_only_count", Unit.COUNT, "instructions of the left without partner",
              is_nullable=True),
        Field("right_only_count", Unit.COUNT, "instructions of the right without partner",
              is_nullable=True),
        Field("not_compared", Unit.LIST, "what one side does not hold"),
    ))  # fmt: skip


def _side(name: str) -> Block:
    return Block(
        name,
        SideFacts,
        f"the {name} side",
        blocks=(INPUT_BLOCK, replace(MODULE, is_nullable=True)), fields=(
            Field("label", Unit.TEXT, "what the user calls it"),
            Field("saved_schema", Unit.TEXT, "schema of a saved document; null for a dump",
                  is_nullable=True),
        ))  # fmt: skip


DIFF: Final = DocumentSpec(
    "diff",
    "what changed from one program to another",
    scalars=_FACTS,
    blocks=(_side("left"), _side("right"), ORDER),
    row_lists=(INSTRUCTIONS, MEMORY, COLLECTIVES, FUSIONS, METRICS, HEADER, FLAGS),
)


def name_columns(left: str, right: str) -> DocumentSpec:
    """Return the declaration with the user's labels in place of old and new."""
    named = []
    for rows in DIFF.row_lists:
        fields = tuple(
            replace(field, heading=_label(field.heading, left, right)) for field in rows.fields
        )
        named.append(replace(rows, fields=fields))
    return replace(DIFF, row_lists=tuple(named))


def _label(heading: str, left: str, right: str) -> str:
    first, _, rest = heading.partition(" ")
    label = {"old": left, "new": right}.get(first, first)
    return f"{label} {rest}".strip()
