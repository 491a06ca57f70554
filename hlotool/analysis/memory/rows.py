"""The rows of `hlotool buffers`: allocations, and the values in them, all or those at an instant.

A row says of a value what the assignment, the live ranges and the module know of it: its bytes,
where it comes from, what uses it, whose parameter it is, and what would be saved without it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from msgspec import Struct
from msgspec.structs import asdict

from hlotool.analysis.memory import memory_map
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.value_origins import Teller
from hlotool.analysis.origin import Stack, StackFrame, find_parameter_tree, write_short_source
from hlotool.hlo import ArrayShape, Module, buffers
from hlotool.hlo.opcodes import MOVES, OPCODES
from hlotool.hlo.shape import DTYPES
from hlotool.table import COUNT, NUMBER, TIMES, column, figure


class AllocationRow(Struct, frozen=True):
    """One allocation, with the most that was in use in it at once."""

    allocation: Annotated[int, column("its number", NUMBER)]
    size_bytes: Annotated[int, column("bytes reserved")]
    space: Annotated[int, column("number of the memory space")]
    allocation_type: Annotated[buffers.AllocationType, column("its type")]
    parameter_number: Annotated[int | None, figure("parameter number", null_text="")]
    parameter_name: Annotated[
        str | None,
        column("the program's name for the parameter", heading="parameter", null_text=""),
    ]
    is_constant: Annotated[bool, figure("whether it holds the program's constants")]
    is_live_out: Annotated[bool, figure("whether it may hold an output")]
    is_thread_local: Annotated[
        bool, figure("whether it is thread-local; only the reported total counts such memory")
    ]
    value_count: Annotated[int, column("values placed in it", heading="values")]
    peak_bytes: Annotated[
        int | None, column("most bytes in use at once", null_text="", is_summed=False)
    ]
    fragmentation_bytes: Annotated[
        int | None,
        column(
            "size of a temp allocation minus the most in use, alignment included; null for "
            "other types",
            null_text="",
            is_summed=False,
        ),
    ]


def allocation_rows(
    memory: memory_map.MemoryMap, module: Module | None, color: int | None
) -> list[AllocationRow]:
    """Return the allocations of a space or (None) of all, as XLA numbers them."""
    rows = []
    for one in memory.assignment.allocations:
        if color not in {None, one.color}:
            continue
        measured = memory.measure(one)
        peak = measured[0].peak()[0] if measured else None
        is_temp = one.allocation_type == "temp"
        rows.append(
            AllocationRow(
                allocation=one.number,
                size_bytes=one.size_bytes,
                space=one.color,
                allocation_type=one.allocation_type,
                parameter_number=one.parameter,
                parameter_name=find_parameter_name(one, module, memory.assignment),
                is_constant=one.is_constant,
                is_live_out=one.is_live_out,
                is_thread_local=one.is_thread_local,
                value_count=len(one.values),
                peak_bytes=peak,
                fragmentation_bytes=one.size_bytes - peak if is_temp and peak is not None else None,
            )
        )
    return rows


class BufferRow(Struct, frozen=True):
    """One value. `live_bytes` are its own at the instant shown, None for all values.

    `allocation` and `offset` are None in an estimate, `live_from`, `live_until` and
    `live_positions` where nothing says when values are live; `index` where the instruction is no
    tuple.
    """

    live_bytes: Annotated[
        int | None,
        column(
            "its bytes at the instant; shared bytes count for the value that becomes "
            "live last; null with --all",
            heading="size at peak",
        ),
    ]
    saves_bytes: Annotated[
        int | None,
        column(
            "fall of the space's peak without these bytes and the values that share "
            "them; totals remove all rows at once, so they are not sums",
            joint=lambda row: row.held,
        ),
    ]
    size_bytes: Annotated[int, figure("size in memory, with padding", is_summed=False)]
    count: Annotated[int, column("values folded into the row", TIMES)]
    allocation_type: Annotated[buffers.AllocationType, column("type of its allocation")]
    value: Annotated[str, column("defining instruction and index")]
    shape: Annotated[str, column("its shape, without layout", is_shape=True)]
    opcode: Annotated[str | None, figure("opcode of the defining instruction", words=OPCODES)]
    live_from: Annotated[int | None, column("first position at which it is live", NUMBER)]
    live_until: Annotated[int | None, column("last position at which it is live", NUMBER)]
    scope: Annotated[
        str | None,
        figure(
            "module path in the op_name, without transformations; else that of its producer",
            is_path=True,
        ),
    ]
    scope_from: Annotated[
        Teller | None, figure("source of the scope: the instruction itself, its producer or a user")
    ]
    source: Annotated[
        str | None,
        column("file and line without directories; after `for`, those of a user of the value"),
    ]
    source_from: Annotated[
        Teller | None, figure("source of the line: the instruction itself, its producer or a user")
    ]
    parameter_name: Annotated[
        str | None,
        figure("the program's name for the parameter that owns the memory", null_text=""),
    ]
    origin: Annotated[
        str | None,
        column(
            "the parameter, else the scope, else the parameter that it copies; after "
            "`for`, the scope of a user",
            is_path=True,
            heading="belongs to",
        ),
    ]
    instruction: Annotated[str, figure("the defining instruction")]
    index: Annotated[
        tuple[int, ...] | None,
        figure(
            "index in the instruction's tuple; null without a tuple, empty for the tuple's table"
        ),
    ]
    dtype: Annotated[str | None, figure("element type; null for a tuple's table", words=DTYPES)]
    unpadded_bytes: Annotated[
        int | None,
        figure(
            "size without tile padding; of a tuple, its table; null if a dimension is unknown",
            is_summed=False,
        ),
    ]
    padding_bytes: Annotated[
        int | None, figure("bytes that tiles and the allocator's minimum sizes add")
    ]
    aliases: Annotated[
        tuple[str, ...], figure("live values that share its bytes, latest first (at most 100)")
    ]
    allocation: Annotated[int | None, figure("number of its allocation", NUMBER)]
    offset: Annotated[int | None, figure("first byte inside the allocation", NUMBER)]
    space: Annotated[int, figure("number of the memory space")]
    is_donated: Annotated[bool, figure("whether a parameter and an output share its memory")]
    live_positions: Annotated[int | None, figure("number of positions at which it is live", NUMBER)]
    use_count: Annotated[int | None, figure("number of its uses as an operand", NUMBER)]
    op_name: Annotated[str | None, figure("op_name of the instruction itself")]
    source_file: Annotated[str | None, figure("source file it comes from")]
    source_line: Annotated[int | None, figure("line in that file")]
    parameter: Annotated[
        str | None,
        figure("the parameter that owns the memory: its name, else its number", null_text="(none)"),
    ]
    parameter_tree: Annotated[
        str | None,
        figure(
            "the part of the program's arguments with that parameter: params, mu, nu, batch",
            null_text="(none)",
        ),
    ]
    stack: Stack = None
    stack_frame: StackFrame = None
    producer_op_name: Annotated[
        str | None, figure("op_name that has the scope, of the instruction or its producer")
    ] = None
    moved_parameter: Annotated[
        str | None, figure("the parameter of which it is a copy, a conversion or a part")
    ] = None
    global_shape: Annotated[
        str | None, figure("of a parameter: its global shape", null_text="", is_shape=True)
    ] = None
    spec: Annotated[
        tuple[tuple[str, ...], ...] | None,
        figure(
            "of a parameter: mesh axes over which each dimension is sharded, as in "
            "`hlotool shardings`",
            null_text="",
        ),
    ] = None
    spec_text: Annotated[
        str | None, figure("the same in JAX notation", null_text="", heading="spec")
    ] = None
    copies: Annotated[
        int | None,
        figure(
            "of a parameter: devices that hold the same part", COUNT, null_text="", is_summed=False
        ),
    ] = None
    held: memory_map.Saving[memory_map.Tenure] | None = None

    @property
    def padding_factor(self) -> float | None:
        """How often its own bytes find room in it."""
        return self.size_bytes / self.unpadded_bytes if self.unpadded_bytes else None

    @property
    def is_placed(self) -> bool:
        """Whether it is an array that several devices hold, each a part of it or all."""
        is_whole = self.copies == 1 and self.global_shape == self.shape
        return self.spec_text is not None and self.global_shape is not None and not is_whole


def rows_at(
    report: MemoryReport, position: int, color: int | None, most: int | None = None
) -> list[BufferRow]:
    """Return the values that hold bytes at a position, the largest first, of a space `most`.

    Values that share bytes are one row, that of the value whose live range begins last;
    `live_bytes` of all rows add up to what is in use (docs/memory.md). `color` None means all
    spaces.
    """
    colors = report.map.colors() if color is None else (color,)
    held = (memory_map.list_holdings(report.map, position, each)[:most] for each in colors)
    placed = [(one.allocation, one.value, one) for each in held for one in each]
    return describe_placed(report, placed)


def all_rows(report: MemoryReport, color: int | None) -> list[BufferRow]:
    """Return every value of a space or (None) of all, thread-local ones too, by number."""
    every = report.map.assignment.allocations
    chosen = (each for each in every if color in {None, each.color})
    values = [value for each in chosen for value in each.values]
    return describe_values(report, sorted(values, key=lambda value: value.number))


def describe_values(
    report: MemoryReport, wanted: Collection[buffers.BufferValue]
) -> list[BufferRow]:
    """Return the rows of some values, in their order, without what they hold at an instant."""
    allocations = report.map.assignment.allocations
    homes = {value: each for each in allocations for value in each.values}
    return describe_placed(report, [(homes[value], value, None) for value in wanted])


def describe_placed(
    report: MemoryReport,
    told: Sequence[tuple[buffers.Allocation, buffers.BufferValue, memory_map.Holding | None]],
) -> list[BufferRow]:
    """Write all of some values, and what they hold where that is asked at an instant."""
    memory, origins = report.map, report.origins
    tenures = memory_map.Tenures(memory, {value for _, value, _ in told})
    is_estimate = report.figures.sizes_from == "estimate"
    rows = []
    for allocation, value, holding in told:
        live = None if allocation.is_thread_local else memory.range_of(value)
        origin = origins.of(value)
        name = find_parameter_name(allocation, report.module, memory.assignment)
        number = allocation.parameter
        made_in = None if origin.scope_from == "user" else origin.scope
        used_in = _mark(origin.scope, origin.scope_from)
        source = write_short_source(origin.source_file, origin.source_line)
        held = tenures.find_saving(allocation, value)
        moved = origin.moved_parameter
        # Donated memory may hold a copy of another parameter for a while. An update in place stays
        # the owner's, whatever is written there.
        is_others = origin.opcode in MOVES and moved not in {None, (name or "").partition("{")[0]}
        row = BufferRow(
            **asdict(origin),
            live_bytes=holding.live_bytes if holding else None,
            saves_bytes=held.together((held,)) if held else None,
            size_bytes=value.size_bytes,
            count=1,
            allocation_type=allocation.allocation_type,
            value=value.name,
            shape=str(value.shape),
            live_from=live.start if live else None,
            live_until=live.end if live else None,
            source=_mark(source, origin.source_from),
            parameter_name=name,
            origin=(None if is_others else name) or made_in or moved or used_in,
            instruction=value.instruction,
            index=value.index,
            dtype=value.shape.dtype if isinstance(value.shape, ArrayShape) else None,
            unpadded_bytes=memory_map.unpadded_bytes_of(value),
            padding_bytes=memory_map.padding_bytes_of(value),
            aliases=tuple(alias.name for alias in holding.aliases) if holding else (),
            allocation=None if is_estimate else allocation.number,
            offset=None if is_estimate else value.offset,
            space=value.color,
            is_donated=allocation.is_donated,
            live_positions=live.end - live.start + 1 if live else None,
            use_count=origins.count_uses(value),
            parameter=name or (None if number is None else str(number)),
            parameter_tree=find_parameter_tree(name) if name else None,
            held=held,
        )
        rows.append(row)
    return rows


def _mark(text: str | None, told_by: Teller | None) -> str | None:
    """Mark what is not said of the value itself but of what uses it."""
    return f"for {text}" if text and told_by == "user" else text


def find_parameter_name(
    allocation: buffers.Allocation, module: Module | None, assignment: buffers.BufferAssignment
) -> str | None:
    """Return a parameter's name, with the index of its part: `state['w']`, `pair{1}`.

    It is the op_name in the module or, without one, in the assignment's used values. None
    where no parameter owns the allocation, or the parameter has no name.
    """
    if (number := allocation.parameter) is None:
        return None
    if module is not None:
        parameters = module.entry.parameters
        found = parameters[number].metadata().op_name if number < len(parameters) else ""
    else:
        used = (assignment.find_definition(value.number) for value in allocation.values)
        names = (one.metadata.op_name for one in used if one and one.opcode == "parameter")
        found = next(names, "")
    return buffers.format_position(found, allocation.parameter_index or None) if found else None
