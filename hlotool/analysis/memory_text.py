"""What XLA says of memory in words: its out-of-memory messages and its memory-usage reports.

Rows are what the text says and no more: a size is as exact as it is written, `63.80G` is 63.80 GiB
although XLA has rounded it; what the text leaves out is None. `OUT_OF_MEMORY` and `USAGE_REPORT`
declare the two answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.origin import ScopeColumn, find_scope, write_short_source
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.shape import sum_known
from hlotool.oom.wordings import ListedBuffer, OutOfMemory, When
from hlotool.table import NUMBER, RATIO, TIMES, Block, DocumentSpec, Fold, RowList, column, figure

if TYPE_CHECKING:
    from hlotool.oom.usage_report import UsageReport

_LAYOUT: Final = re.compile(r"\{[^{}]*+\}")
_NAME: Final = re.compile(r"%?(?P<name>[\w.\-]++) = ")
_OPCODE: Final = re.compile(r"(?<=\s)(?P<opcode>[a-z][a-z0-9\-]*+)\(")
_WORD: Final = re.compile(r"[a-z][a-z0-9\-]*+")
_LONGEST_SHAPE: Final = 10_000  # of a text from anywhere; a tuple may have thousands of parts


def _show_padding(row: ListedRow) -> object:
    return row.padding_factor if row.padding_factor is None else f"{row.padding_factor:.3g}×"


class ListedRow(Struct, frozen=True):
    """One buffer that the message lists; None where it does not say."""

    size_bytes: Annotated[int | None, column("its size, as precise as in the message")]
    count: Annotated[int, column("buffers folded into the row", TIMES)]
    instruction: Annotated[str | None, column("the instruction that defines it")]
    shape: Annotated[str | None, column("its shape, without layout", is_shape=True)]
    opcode: Annotated[str | None, column("opcode of the instruction that defines it")]
    allocation_type: Annotated[
        str | None, column("its allocation, as named in the message", heading="type")
    ]
    padding_factor: Annotated[
        float | None,
        column(
            "its size divided by the size without padding",
            RATIO,
            heading="padded",
            shown=_show_padding,
        ),
    ]
    unpadded_bytes: Annotated[int | None, figure("its size without tile padding")]
    padding_bytes: Annotated[int | None, figure("bytes that tiles add")]
    scope: ScopeColumn
    source: Annotated[str | None, column("file and line without directories")]
    layout: Annotated[str | None, figure("layout and tiles of its shape; null of a tuple")]
    op_name: Annotated[str | None, column("op_name of that instruction", is_path=True)]
    source_file: Annotated[str | None, figure("source file it comes from")]
    source_line: Annotated[int | None, figure("line in that file")]
    label: Annotated[str | None, figure("its name in the message")]
    number: Annotated[int, figure("its row in the message's list, from 1")]


class PartRow(Struct, frozen=True):
    """One line of a sum that the message writes out."""

    group: Annotated[str, column("the heading of the sum")]
    part: Annotated[str, column("an addend; total is the sum")]
    size_bytes: Annotated[int | None, column("its size", is_summed=False)]


class MessageFigures(Struct, frozen=True):
    """What the last message says; None where it does not."""

    when: Annotated[When, figure("when memory ran out: compile, load (of a program) or run")]
    space: Annotated[str | None, figure("the memory space that the message names")]
    device: Annotated[str | None, figure("the device or allocator that the message names")]
    program: Annotated[str | None, figure("the program that the message names")]
    requested_bytes: Annotated[
        int | None,
        figure("bytes requested; when compiling, bytes the program needs", extra_digits=1),
    ]
    available_bytes: Annotated[int | None, figure("bytes available", extra_digits=1)]
    missing_bytes: Annotated[int | None, figure("bytes missing", extra_digits=1)]
    limit_bytes: Annotated[int | None, figure("total memory for a program, allocated or not")]
    is_rounded: Annotated[bool, figure("whether the message rounds the request")]
    message_count: Annotated[
        int, figure("out-of-memory messages in the text; repeated ones count once")
    ]
    is_complete: Annotated[bool, figure("whether the message is complete")]
    cut_size: Annotated[
        str | None, figure("if the text ends inside a size: its first digits; that size is unknown")
    ]
    listed_count: Annotated[int, figure("buffers that the message lists")]
    listed_bytes: Annotated[int | None, figure("size of the listed buffers")]
    listed_padding_bytes: Annotated[int | None, figure("padding of the listed buffers")]


class MessageReport(Struct, frozen=True):
    """A message as an answer."""

    figures: MessageFigures
    rows: tuple[ListedRow, ...]
    parts: tuple[PartRow, ...]


def report_out_of_memory(message: OutOfMemory) -> MessageReport:
    """Return the figures of a message.

    Sizes are those that it writes, in bytes: `63.80G` is 63.80 GiB, although XLA has rounded it.
    Nothing is made up for what it leaves out: sums of the list are null where a part is unknown.
    """
    rows = tuple(_make_row(number, one) for number, one in enumerate(message.buffers, 1))
    requested, available, limit = message.requested, message.available, message.limit
    figures = MessageFigures(
        message.when,
        message.space,
        message.device,
        message.program,
        requested.bytes if requested else None,
        available.bytes if available else None,
        _measure_missing(message),
        limit.bytes if limit else None,
        requested is not None and requested.slack_bytes > 0,
        message.message_count,
        message.has_beginning and message.has_end,
        message.cut_size,
        len(rows),
        sum_known(row.size_bytes for row in rows),
        sum_known(row.padding_bytes for row in rows),
    )
    parts = tuple(PartRow(one.group, one.name, one.size_bytes) for one in message.parts)
    return MessageReport(figures, rows, parts)


def _measure_missing(message: OutOfMemory) -> int | None:
    """Return how much too much was asked: as it is printed, else by what was asked and there."""
    requested, available = message.requested, message.available
    if message.excess is not None:
        return message.excess.bytes
    if requested is None or available is None or requested.bytes < available.bytes:
        return None
    missing = requested.bytes - available.bytes
    return missing if missing > requested.slack_bytes + available.slack_bytes else None


def strip_layout(shape: str) -> str:
    """Return a shape as a message writes it without its layout."""
    return _LAYOUT.sub("", shape[:_LONGEST_SHAPE])


def find_instruction(label: str | None) -> str | None:
    """Return the name of the instruction in a label, None where it has none."""
    match = _NAME.match(label or "")
    return match["name"] if match else None


def _make_row(number: int, one: ListedBuffer) -> ListedRow:
    size, unpadded = one.size_bytes, one.unpadded_bytes
    # What would be negative is no padding: the message contradicts itself.
    padding = None if size is None or unpadded is None or size < unpadded else size - unpadded
    shape = one.shape
    layouts = _LAYOUT.findall(shape[:_LONGEST_SHAPE]) if shape else []
    return ListedRow(
        size_bytes=size,
        count=1,
        instruction=find_instruction(one.label),
        shape=strip_layout(shape) if shape else None,
        opcode="parameter" if one.is_parameter else _find_opcode(one.label),
        allocation_type=one.allocation_type or ("entry parameter" if one.is_parameter else None),
        padding_factor=1 + padding / unpadded if padding is not None and unpadded else None,
        unpadded_bytes=unpadded,
        padding_bytes=padding,
        scope=find_scope(one.op_name) if one.op_name else None,
        source=write_short_source(one.source_file, one.source_line),
        layout=layouts[0] if len(layouts) == 1 else None,
        op_name=one.op_name,
        source_file=one.source_file,
        source_line=one.source_line,
        label=one.label,
        number=number,
    )


def _find_opcode(label: str | None) -> str | None:
    """Return the opcode: `fusion`, or of `%copy.4 = s32[8]{0} copy(…)`."""
    if label is None or _WORD.fullmatch(label):
        return label
    name = _NAME.match(label)
    match = _OPCODE.search(label, name.end() - 1) if name else None
    return match["opcode"] if match else None


MESSAGE_ROWS: Final = RowList(
    "rows",
    ListedRow,
    "buffers that the message lists, largest first",
    sort="-size_bytes",
    size="size_bytes",
    key="number",
    fold=Fold(keys="shape,size_bytes,opcode,allocation_type,scope,source", name="instruction"),
    title="Listed buffers",
    screen="size_bytes,count,padding_factor,shape,instruction,op_name",
    wide_screen="allocation_type,opcode",
)
PARTS: Final = RowList(
    "parts", PartRow, "the sums in the message, in its order", has_total=False, title="Sums"
)
MESSAGE_FIGURES: Final = Block("message", MessageFigures, "the last message")
OUT_OF_MEMORY: Final = DocumentSpec(
    "out-of-memory",
    "the request that failed",
    row_lists=(MESSAGE_ROWS, PARTS),
    scalars=MESSAGE_FIGURES,
)
_WHERE_KNOWN: Final = frozenset(
    ("instruction", "opcode", "allocation_type", "padding_factor", "scope", "source", "op_name")
)


def choose_message_columns(rows: tuple[ListedRow, ...]) -> DocumentSpec:
    """Return the declaration without the columns in which no row has anything; JSON has all."""
    empty = {name for name in _WHERE_KNOWN if not any(getattr(row, name) for row in rows)}
    shown = MESSAGE_ROWS.showing(MESSAGE_ROWS.shown() - empty)
    if len(rows) <= _FEW:
        shown = replace(shown, fold=None)
    return replace(OUT_OF_MEMORY, row_lists=(shown, PARTS))


_ARGUMENT: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*")
_FEW: Final = 5  # buffers that are listed one by one
_SMALL_BYTES: Final = 1 << 30  # a device has more; a pool that the user made small may not
_OF_STATS: Final = ("BufferAssignment stats", "total allocation")


class SmallProgram(Struct, frozen=True):
    """A program that ran out of memory, and needs less than devices have."""

    program_bytes: Annotated[int, figure("all that the program allocates")]


class CopiedArguments(Struct, frozen=True):
    """Listed buffers that are copies of arguments: XLA prints the name of the argument as theirs.

    Mostly another layout is wanted. The message does not show the layout of the argument itself,
    so donation, or a result that is an argument, may be the reason too.
    """

    parameter: Annotated[str, figure("the argument with the largest copy")]
    copy_count: Annotated[int, figure("number of copies")]
    size_bytes: Annotated[int, figure("their size")]


SMALL_PROGRAM: Final = Block("program", SmallProgram, "the program of the message")
COPIED: Final = Block("copied", CopiedArguments, "copies of arguments")


def find_small_program(report: MessageReport) -> SmallProgram | None:
    """Return a running program that needs less than devices have, None where it needs more."""
    sizes = {(one.group, one.part): one.size_bytes for one in report.parts}
    size = sizes.get(_OF_STATS)
    if report.figures.when != "run" or size is None:
        return None
    needed_bytes = max(size, report.figures.requested_bytes or 0)
    return SmallProgram(size) if needed_bytes < _SMALL_BYTES else None


def find_copied_arguments(rows: Sequence[ListedRow]) -> CopiedArguments | None:
    """Return the copies of arguments in a list, None where there is none."""
    found = [one for one in rows if one.opcode == "copy" and _ARGUMENT.fullmatch(one.op_name or "")]
    if not found:
        return None
    size = sum(one.size_bytes or 0 for one in found)
    return CopiedArguments(found[0].op_name or "", len(found), size)


class SpaceTotal(Struct, frozen=True):
    """The total of a memory space, which XLA writes exactly."""

    space: Annotated[int | None, column("number of the memory space; null for all")]
    name: Annotated[str | None, column("XLA's name for it", null_text="")]
    total_bytes: Annotated[int, column("bytes of its allocations, thread-local ones too")]


class ReportedAllocationRow(Struct, frozen=True):
    """An allocation; null where the form of the report does not say."""

    place: Annotated[int, column("its row in the report, from 1", NUMBER)]
    allocation: Annotated[int | None, column("its number", NUMBER)]
    space: Annotated[int, column("number of the memory space")]
    size_bytes: Annotated[int | None, column("its size; rounded if the report is a text")]
    used_bytes: Annotated[int | None, column("where the last listed slot ends", heading="used to")]
    slot_count: Annotated[int, column("offsets at which values begin", heading="slots")]
    value_count: Annotated[int, column("listed values", heading="values")]
    left_out_count: Annotated[int, column("values that the report leaves out", heading="left out")]
    description: Annotated[
        str | None, column("the report's text for it", heading="what", null_text="")
    ]


class SlotRow(Struct, frozen=True):
    """Values that begin at one offset of an allocation, at different times."""

    size_bytes: Annotated[int, column("size of the largest, rounded", is_summed=False)]
    place: Annotated[int, column("the allocation's row in the report", NUMBER)]
    space: Annotated[int, column("number of the memory space")]
    offset: Annotated[int, column("first byte inside the allocation", NUMBER)]
    value_count: Annotated[int, column("values that begin there", heading="values")]
    shapes: Annotated[str, column("their shapes, without layouts")]
    allocation: Annotated[int | None, figure("the allocation's number", NUMBER)]


class UsageFigures(Struct, frozen=True):
    """The report as a whole."""

    total_bytes: Annotated[int, figure("bytes of all spaces, as XLA adds them up")]
    allocation_count: Annotated[int, figure("allocations that are listed")]


SLOTS: Final = RowList(
    "rows",
    SlotRow,
    "offsets of allocations with the values that begin there, largest first",
    sort="-size_bytes",
    size="size_bytes",
    key="offset",
    has_total=False,
    title="Slots",
)
ALLOCATIONS: Final = RowList(
    "allocations",
    ReportedAllocationRow,
    "allocations, in the report's order",
    key="place",
    has_total=False,
    title="Allocations",
)
SPACES: Final = RowList(
    "spaces", SpaceTotal, "totals of memory spaces", has_total=False, title="Memory spaces"
)
USAGE_FIGURES: Final = Block("report", UsageFigures, "the report as a whole")
USAGE_REPORT: Final = DocumentSpec(
    "memory-usage-report",
    "XLA's memory-usage report",
    row_lists=(SLOTS, ALLOCATIONS, SPACES),
    scalars=USAGE_FIGURES,
)


class UsageRows(Struct, frozen=True):
    """A report as an answer."""

    figures: UsageFigures
    slots: tuple[SlotRow, ...]
    allocations: tuple[ReportedAllocationRow, ...]
    spaces: tuple[SpaceTotal, ...]


def list_usage(report: UsageReport) -> UsageRows:
    """Return the rows of a report, in its order.

    Slots share bytes: those of one allocation overlap, so their sizes do not add up, although
    XLA's `cumulative_size` does add them.
    """
    slots, allocations = [], []
    for place, one in enumerate(report.allocations, 1):
        slots += [
            SlotRow(
                slot.size.bytes,
                place,
                one.color,
                slot.offset,
                slot.value_count,
                slot.shapes,
                one.number,
            )
            for slot in one.slots
        ]
        allocations.append(
            ReportedAllocationRow(
                place,
                one.number,
                one.color,
                one.size.bytes if one.size else None,
                max((slot.offset + slot.size.bytes for slot in one.slots), default=None),
                len(one.slots),
                sum(slot.value_count for slot in one.slots),
                one.left_out_count,
                one.description,
            )
        )
    spaces = tuple(SpaceTotal(each.color, each.name, each.total_bytes) for each in report.spaces)
    figures = UsageFigures(sum(each.total_bytes for each in spaces), len(allocations))
    return UsageRows(figures, tuple(slots), tuple(allocations), spaces)


class Disagreement(Struct, frozen=True):
    """A space, None for all, whose totals differ."""

    space: int | None
    reported_bytes: int
    assigned_bytes: int


def compare_totals(report: UsageReport, assignment: BufferAssignment) -> tuple[Disagreement, ...]:
    """Return the spaces in which the allocations do not add up to the report's total.

    Both count every allocation, thread-local ones and constants included; both are exact.
    """
    assigned: Counter[int | None] = Counter()
    for each in assignment.allocations:
        assigned[each.color] += each.size_bytes
    assigned[None] = assigned.total()
    return tuple(
        Disagreement(space.color, space.total_bytes, assigned[space.color])
        for space in report.spaces
        if assigned[space.color] != space.total_bytes
    )
