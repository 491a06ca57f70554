"""Which allocations does a program have, and how much of each is ever in use?

Which values hold memory at an instant, and which are there at all?
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from msgspec import Struct, field

from hlotool.analysis.memory.memory_map import Holding, MemoryMap, find_holdings
from hlotool.analysis.memory.parameter_name import find_parameter_name, find_parameter_tree
from hlotool.analysis.memory.producers import Teller, ValueOrigin, ValueOrigins
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.savings import Gains, Held
from hlotool.analysis.memory.sizes import padding_bytes_of, unpadded_bytes_of
from hlotool.analysis.memory.users import UseCounts
from hlotool.analysis.origin import Stack, StackFrame, write_short_source
from hlotool.hlo import ArrayShape, Module
from hlotool.hlo.buffers import Allocation, AllocationClass, BufferValue, LiveRange
from hlotool.hlo.opcodes import OPCODES
from hlotool.hlo.shape import DTYPES
from hlotool.table import BYTES, COUNT, NUMBER, TIMES, column, figure


class AllocationRow(Struct, frozen=True):
    """One allocation, with the most that was in use in it at once."""

    allocation: Annotated[int, column("its number", NUMBER)]
    size_bytes: Annotated[int, column("bytes reserved", BYTES)]
    space: Annotated[int, column("number of the memory space", NUMBER)]
    class_: Annotated[AllocationClass, column("its class")] = field(name="class")
    parameter_number: Annotated[int | None, figure("number of the parameter", NUMBER, null_text="")]
    parameter_name: Annotated[
        str | None,
        column("the program's name for the parameter", heading="parameter", null_text=""),
    ]
    is_constant: Annotated[bool, figure("whether it holds the program's constants")]
    is_live_out: Annotated[bool, figure("whether it may hold an output")]
    is_thread_local: Annotated[
        bool, figure("whether it is thread-local, which only the reported total counts")
    ]
    value_count: Annotated[int, column("values placed in it", COUNT, heading="values")]
    peak_bytes: Annotated[
        int | None, column("the most in use at once", BYTES, null_text="", is_summed=False)
    ]
    fragmentation_bytes: Annotated[
        int | None,
        column(
            "size of a temp allocation minus the most in use, alignment included; null for "
            "other classes",
            BYTES,
            null_text="",
            is_summed=False,
        ),
    ]


def allocation_rows(
    memory: MemoryMap, module: Module | None, color: int | None
) -> list[AllocationRow]:
    """Return the allocations of a space or (None) of all, as XLA numbers them."""
    rows = []
    for one in memory.assignment.allocations:
        if color not in {None, one.color}:
            continue
        curve = memory.curve_of(one)
        peak = curve.peak()[0] if curve else None
        is_temp = one.allocation_class == "temp"
        rows.append(
            AllocationRow(
                allocation=one.number,
                size_bytes=one.size_bytes,
                space=one.color,
                class_=one.allocation_class,
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
    """One value. `occupied_bytes` are its own at the instant shown, None for all values.

    `allocation` and `offset` are None in an estimate, `born`, `dies` and `live_positions` where
    nothing says when values are live; `index` where the instruction is no tuple.
    """

    occupied_bytes: Annotated[
        int | None,
        column(
            "bytes it holds at the instant; shared bytes count for the value born last; null "
            "with --all",
            BYTES,
            heading="holds",
        ),
    ]
    gain_bytes: Annotated[
        int | None,
        column(
            "how far the peak of the space falls if these bytes were not there, nor those of what "
            "shares them; of several rows together, not their sum",
            BYTES,
            joint_from="held",
        ),
    ]
    size_bytes: Annotated[int, figure("size the backend gives it", BYTES, is_summed=False)]
    count: Annotated[int, column("values folded into the row", TIMES, heading="×")]
    class_: Annotated[AllocationClass, column("class of its allocation", give_way=1)] = field(
        name="class"
    )
    value: Annotated[str, column("defining instruction and index", wants=32)]
    shape: Annotated[str, column("its shape, without layout", give_way=2, is_shape=True)]
    opcode: Annotated[str | None, figure("opcode of the defining instruction", words=OPCODES)]
    born: Annotated[int | None, column("first position at which it is live", NUMBER, give_way=4)]
    dies: Annotated[int | None, column("last position at which it is live", NUMBER, give_way=3)]
    scope: Annotated[
        str | None,
        figure(
            "module path in the op_name, without transformations; where the instruction has none, "
            "that of what makes the value",
            is_path=True,
        ),
    ]
    scope_from: Annotated[
        Teller | None,
        figure("whose scope that is: the instruction's own, its maker's or a user's"),
    ]
    source: Annotated[
        str | None,
        column("file and line without directories; with `for`, of what uses the value"),
    ]
    source_from: Annotated[
        Teller | None,
        figure("whose line that is: the instruction's own, its maker's or a user's"),
    ]
    parameter_name: Annotated[
        str | None,
        figure("the program's name for the parameter whose memory it is", null_text=""),
    ]
    belongs_to: Annotated[
        str | None,
        column(
            "name of the parameter, else the scope, else the parameter it is a copy of; with "
            "`for`, the scope of what uses the value",
            is_path=True,
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
            "size without tile padding; of a tuple, its table; null where a dimension is unknown",
            BYTES,
            is_summed=False,
        ),
    ]
    padding_bytes: Annotated[
        int | None,
        figure("what tiles and the allocator's minimum sizes add", BYTES, give_way=2),
    ]
    aliases: Annotated[
        tuple[str, ...], figure("live values that share its bytes, last born first (at most 100)")
    ]
    allocation: Annotated[int | None, figure("number of its allocation", NUMBER)]
    offset: Annotated[int | None, figure("first byte inside the allocation", NUMBER)]
    space: Annotated[int, figure("number of the memory space", NUMBER)]
    is_donated: Annotated[bool, figure("whether its memory is both a parameter's and an output's")]
    live_positions: Annotated[int | None, figure("number of positions at which it is live", NUMBER)]
    use_count: Annotated[int | None, figure("operands through which it is used", NUMBER)]
    op_name: Annotated[str | None, figure("op_name of the instruction itself")]
    source_file: Annotated[str | None, figure("source file it comes from")]
    source_line: Annotated[int | None, figure("line in that file", NUMBER)]
    parameter: Annotated[
        str | None,
        figure("the parameter whose memory it is: its name, else its number", null_text="(none)"),
    ]
    parameter_tree: Annotated[
        str | None,
        figure(
            "the part of the program's arguments that holds that parameter: params, mu, nu, batch",
            null_text="(none)",
        ),
    ]
    stack: Stack = None
    stack_frame: StackFrame = None
    made_op_name: Annotated[
        str | None, figure("op_name of what has the scope, where that is no user: it or its maker")
    ] = None
    moved_parameter: Annotated[
        str | None, figure("the parameter of which it is a copy, a conversion or a part")
    ] = None
    held: Held | None = None


def rows_at(
    report: MemoryReport,
    module: Module | None,
    position: int,
    color: int | None,
    most: int | None = None,
) -> list[BufferRow]:
    """Return the values that hold bytes at a position, the largest first, of a space `most`.

    Values that share bytes are one row, that of the value born last; `occupied_bytes` of
    all rows add up to what is in use (docs/buffers.md). `color` None means all spaces.
    """
    colors = report.map.colors() if color is None else (color,)
    held = [one for each in colors for one in find_holdings(report.map, position, each)[:most]]
    describer = _Describer(report, module, {one.value for one in held})
    return [
        describer.describe(one.allocation, one.value, LiveRange(one.born, one.dies), one)
        for one in held
    ]


def all_rows(report: MemoryReport, module: Module | None, color: int | None) -> list[BufferRow]:
    """Return every value of a space or (None) of all, thread-local ones too, by number."""
    placed = [
        (value, allocation)
        for allocation in report.map.assignment.allocations
        if color in {None, allocation.color}
        for value in allocation.values
    ]
    placed.sort(key=lambda pair: pair[0].number)
    describer = _Describer(report, module, {value for value, _ in placed})
    return [
        describer.describe(allocation, value, _find_range(report, allocation, value))
        for value, allocation in placed
    ]


def describe_values(
    report: MemoryReport, module: Module | None, wanted: Collection[BufferValue]
) -> list[BufferRow]:
    """Return the rows of some values, in their order, without what they hold at an instant."""
    describer = _Describer(report, module, frozenset(wanted))
    homes = {
        value: allocation
        for allocation in report.map.assignment.allocations
        for value in allocation.values
    }
    return [
        describer.describe(homes[value], value, _find_range(report, homes[value], value))
        for value in wanted
    ]


def _find_range(
    report: MemoryReport, allocation: Allocation, value: BufferValue
) -> LiveRange | None:
    return None if allocation.is_thread_local else report.map.range_of(value)


class _Describer:
    """Writes the rows of some values of a program."""

    def __init__(
        self, report: MemoryReport, module: Module | None, wanted: Collection[BufferValue]
    ) -> None:
        self.module = module
        self.assignment = report.map.assignment
        self.is_estimate = report.figures.sizes_from == "estimate"
        self.origins = ValueOrigins(module, self.assignment, report.flow)
        self.gains = Gains(report.map, wanted)
        self.uses = UseCounts(module, self.assignment, self.origins.definers, report.flow)

    def describe(
        self,
        allocation: Allocation,
        value: BufferValue,
        live: LiveRange | None,
        holding: Holding | None = None,
    ) -> BufferRow:
        """Write all of a value, and what it holds where that is asked at an instant."""
        origin = self.origins.of(value)
        parameter_name = find_parameter_name(allocation, self.module, self.assignment)
        held = self.gains.of(allocation, value)
        return BufferRow(
            occupied_bytes=holding.occupied_bytes if holding else None,
            gain_bytes=held.together((held,)) if held else None,
            size_bytes=value.size_bytes,
            count=1,
            class_=allocation.allocation_class,
            value=value.name,
            shape=str(value.shape),
            opcode=origin.opcode,
            born=live.start if live else None,
            dies=live.end if live else None,
            scope=origin.scope,
            scope_from=origin.scope_from,
            source=_mark(
                write_short_source(origin.source_file, origin.source_line), origin.source_from
            ),
            source_from=origin.source_from,
            parameter_name=parameter_name,
            belongs_to=_find_owner(parameter_name, origin),
            instruction=value.instruction,
            index=value.index,
            dtype=value.shape.dtype if isinstance(value.shape, ArrayShape) else None,
            unpadded_bytes=unpadded_bytes_of(value),
            padding_bytes=padding_bytes_of(value),
            aliases=tuple(alias.name for alias in holding.aliases) if holding else (),
            allocation=None if self.is_estimate else allocation.number,
            offset=None if self.is_estimate else value.offset,
            space=value.color,
            is_donated=allocation.is_donated,
            live_positions=live.end - live.start + 1 if live else None,
            use_count=self.uses.of(value),
            op_name=origin.op_name,
            source_file=origin.source_file,
            source_line=origin.source_line,
            parameter=parameter_name or _text(allocation.parameter),
            parameter_tree=find_parameter_tree(parameter_name) if parameter_name else None,
            stack_frame=origin.frame or None,
            held=held,
            made_op_name=origin.made_op_name,
            moved_parameter=origin.moved_parameter,
        )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _find_owner(parameter_name: str | None, origin: ValueOrigin) -> str | None:
    """Say what a value belongs to; to what uses it only where nothing else is known."""
    made_in = None if origin.scope_from == "user" else origin.scope
    used_in = _mark(origin.scope, origin.scope_from)
    return parameter_name or made_in or origin.moved_parameter or used_in


def _mark(text: str | None, told_by: Teller | None) -> str | None:
    """Mark what is not said of the value itself but of what uses it."""
    return f"for {text}" if text and told_by == "user" else text
