"""The messages of a log as an answer, and what they are about in a dump.

The program is found by its name, instructions by their op_name, and where a message has none by
name and shape. XLA numbers instructions anew in each pass: a name alone, of a pass in the middle,
says nothing of the final text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.memory_text import strip_layout
from hlotool.analysis.origin import read_origin, write_short_source
from hlotool.hlo import Instruction, Module
from hlotool.hlo.opcodes import TRANSFERS
from hlotool.oom.wordings import Kind
from hlotool.table import DocumentSpec, RowList, column, figure

if TYPE_CHECKING:
    from hlotool.oom.log import Chunks, LogMessage

_MOST_NAMED: Final = 8  # instructions of one message


class LogRow(Struct, frozen=True):
    """One message, however often it is said."""

    kind: Annotated[Kind, column("kind of event")]
    count: Annotated[int, column("number of messages", is_summed=False, heading="×")]
    program: Annotated[
        str | None,
        column(
            "the program that it names; with --dump, the program that has the named instruction",
            null_text="",
        ),
    ]
    instruction: Annotated[
        str | None, column("the instruction that it names, as called in that pass", null_text="")
    ]
    bytes: Annotated[
        int | None,
        column("size requested, needed after rematerialization, or in use", null_text=""),
    ]
    limit_bytes: Annotated[int | None, column("size available", null_text="")]
    over_bytes: Annotated[int | None, column("size missing", null_text="")]
    before_bytes: Annotated[int | None, figure("size needed before rematerialization")]
    seconds: Annotated[float | None, column("duration in the last message", null_text="")]
    source: Annotated[str | None, column("file and line, without directories", null_text="")]
    instructions: Annotated[
        tuple[str, ...],
        column(
            "with --dump: instructions of the final text that it concerns", heading="in the dump"
        ),
    ]
    from_sharding: Annotated[
        str | None, column("sharding of the array", heading="from", is_below=True, null_text="")
    ]
    to_sharding: Annotated[
        str | None, column("sharding that is needed", heading="to", is_below=True, null_text="")
    ]
    shape: Annotated[str | None, figure("shape of the instruction, without layout", is_shape=True)]
    op_name: Annotated[
        str | None,
        column(
            "op_name of the instruction",
            heading="op_name",
            is_path=True,
            is_below=True,
            null_text="",
        ),
    ]
    reason: Annotated[
        str | None,
        column(
            "further details: arrays that were not donated, why JAX traced again",
            is_below=True,
            null_text="",
        ),
    ]
    device: Annotated[str | None, figure("device or allocator that it names")]
    source_file: Annotated[str | None, figure("source file")]
    source_line: Annotated[int | None, figure("line in that file")]
    line: Annotated[int, figure("line of the log with the first message")]


class ChunkRow(Struct, frozen=True):
    """Chunks of one size in an allocator."""

    total_bytes: Annotated[int, column("bytes of all these chunks")]
    count: Annotated[int, column("chunks in use")]
    size_bytes: Annotated[int, column("size of each chunk", is_summed=False)]


LOG_ROWS: Final = RowList(
    "rows",
    LogRow,
    "messages of a log, in order",
    has_total=False,
    key="line",
    title="Messages",
    screen="kind,count,program,instruction,bytes,"
    "limit_bytes,over_bytes,seconds,op_name,from_sharding,to_sharding,reason",
    wide_screen="source,instructions",
)
CHUNKS: Final = RowList(
    "chunks",
    ChunkRow,
    "sizes in use in the allocator, from its last message",
    sort="-total_bytes",
    title="Chunks in use",
)
LOG: Final = DocumentSpec(
    "log", "messages of XLA and JAX in a log", row_lists=(LOG_ROWS, CHUNKS), version=1
)


def choose_log_columns(rows: Sequence[LogRow]) -> DocumentSpec:
    """Return the declaration without the columns in which no row has anything; JSON has all."""
    empty = {name for name in LOG_ROWS.shown() if not any(getattr(row, name) for row in rows)}
    return replace(LOG, row_lists=(LOG_ROWS.showing(LOG_ROWS.shown() - empty), CHUNKS))


def list_messages(
    messages: Iterable[LogMessage], modules: Sequence[Module] = ()
) -> tuple[LogRow, ...]:
    """Return the rows of messages, with the instructions of some modules that they are about.

    `over_bytes` is what rematerialization left above its limit; of out-of-memory messages
    `hlotool buffers` says more.
    """
    by_name = {module.name: module for module in modules}
    return tuple(_make_row(one, by_name) for one in messages)


def list_chunks(chunks: Iterable[Chunks]) -> tuple[ChunkRow, ...]:
    """Return the rows of chunks."""
    return tuple(ChunkRow(one.count * one.size_bytes, one.count, one.size_bytes) for one in chunks)


def _make_row(one: LogMessage, modules: dict[str, Module]) -> LogRow:
    named = modules.get(one.program or "")
    chosen = [named] if named else list(modules.values())
    found = next(((each, meant) for each in chosen if (meant := _find_meant(one, each))), None)
    module, meant = found or (named, [])
    file, line = one.source_file, one.source_line
    if file is None and meant:
        origin = read_origin(meant[0])
        file, line = origin.source_file, origin.source_line
    over = None if one.bytes is None or one.limit_bytes is None else one.bytes - one.limit_bytes
    found_here = {
        "program": module.name if module else one.program,
        "over_bytes": over if over is not None and over > 0 else None,
        "source": write_short_source(file, line),
        "instructions": tuple(each.full_name for each in meant[:_MOST_NAMED]),
        "shape": strip_layout(one.shape) if one.shape else None,
        "source_file": file,
        "source_line": line,
    }
    return LogRow(**(asdict(one) | found_here))


def _find_meant(one: LogMessage, module: Module) -> list[Instruction]:
    """Return the instructions of a module that a message is about: of a reshard its collectives."""
    shape = strip_layout(one.shape) if one.shape else None

    def is_meant(each: Instruction) -> bool:
        if one.op_name is not None:
            return each.metadata().op_name == one.op_name
        return each.name == one.instruction and strip_layout(str(each.shape)) == shape

    if one.op_name is None and (one.instruction is None or shape is None):
        return []
    found = [each for each in module.instructions() if is_meant(each)]
    if one.kind != "involuntary-reshard":
        return found
    return [each for each in found if each.opcode in TRANSFERS]
