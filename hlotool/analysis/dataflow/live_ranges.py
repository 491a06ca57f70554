"""LiveRanges: when each value is live, as printed or derived from the schedule.

Derived ranges follow HloLiveRange (xla/hlo/utils/hlo_live_range.cc): from the definition, or the
start of the computation for parameters, to the last use, or the end of the computation for what
leaves it; values of one buffer are trimmed to abut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.dataflow.schedule import Schedule, find_async_end, require_schedule
from hlotool.analysis.dataflow.sharing import Groups, must_share
from hlotool.analysis.dataflow.values import Dataflow, Position, Value, resolve, trace_values
from hlotool.analysis.graph.backend import find_backend
from hlotool.hlo import Alias, Instruction, Module
from hlotool.hlo.buffers import BufferAssignment, LiveRange, ValueKey
from hlotool.hlo.module import find_async_start
from hlotool.hlo.opcodes import USES_NOTHING, USES_TOP_ONLY

LiveRangeSource: TypeAlias = Literal["live-range", "derived"]


class LiveRanges(Struct, frozen=True, dict=True):
    """Where the ranges of values come from, and what runs at each position, 0 … `end`.

    `source` says whether the live-range section was read or the schedule followed.
    """

    source: LiveRangeSource
    sequence: tuple[str, ...]

    @property
    def end(self) -> int:
        """The position after the last instruction, where what leaves the program lives."""
        return len(self.sequence)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """At which position each instruction runs, by its name."""
        return {name: position for position, name in enumerate(self.sequence)}

    def instruction_at(self, position: int) -> str | None:
        """Return the instruction that runs at a position, None after the last."""
        return self.sequence[position] if 0 <= position < len(self.sequence) else None


def add_live_ranges(
    assignment: BufferAssignment, module: Module | None
) -> tuple[BufferAssignment, LiveRanges | None]:
    """Return the assignment with printed live ranges, else with derived ones.

    None without a module to derive from. Raises InputError when the module that would have to
    tell is not scheduled.
    """
    if assignment.live_ranges is not None:
        return assignment, LiveRanges("live-range", assignment.live_ranges.sequence)
    if module is None:
        return assignment, None
    flow = trace_values(require_schedule(module))
    ranges = derive_ranges(flow)
    allocations = tuple(
        replace(one, values=[replace(each, live=ranges.get(each.key)) for each in one.values])
        for one in assignment.allocations
    )
    return replace(assignment, allocations=allocations), name_live_ranges(flow)


def derive_ranges(flow: Dataflow) -> dict[ValueKey, LiveRange]:
    """Derive every value's range from the schedule, as XLA does."""
    ranges = value_ranges(flow, shared_buffers(flow))
    return {(value.instruction.full_name, value.index): found for value, found in ranges.items()}


def name_live_ranges(flow: Dataflow) -> LiveRanges:
    """Say that the schedule was followed, and what runs at each position."""
    return LiveRanges("derived", tuple(one.full_name for one in flow.schedule.sequence))


def value_ranges(
    flow: Dataflow, shared: Iterable[list[Value]], donated: Collection[Value] = ()
) -> dict[Value, LiveRange]:
    """Return the range of each value, trimmed where values share a buffer.

    `donated` are parameters that would be donated beside those of the header.
    """
    # XLA computes each range as if its value were alone, and trims those of a buffer afterwards.
    ranges = _range_alone(flow, donated)
    for buffer in shared:
        # Each range ends where the next one of the buffer begins; the last takes the latest end.
        order = sorted(buffer, key=lambda value: (ranges[value].start, ranges[value].end))
        for one, following in pairwise(order):
            first, second = ranges[one], ranges[following]
            if first.end > second.end:
                ranges[following] = LiveRange(second.start, first.end)
            if first.end > second.start:
                ranges[one] = LiveRange(first.start, second.start)
    return ranges


def shared_buffers(
    flow: Dataflow, donations: Iterable[tuple[Value, Value]] = ()
) -> list[list[Value]]:
    """Return the values that must share a buffer, in groups of two and more.

    Follows HloAliasAnalysis (xla/hlo/analysis/hlo_alias_analysis.cc): donated parameters
    with their outputs, everything that meets in a loop or a conditional, in-place operations.
    `donations` are parameters and outputs that would share one beside those of the header.
    """
    groups: Groups[Value] = Groups()

    def join(made: Instruction, given: Sequence[Instruction], aliases: Iterable[Alias]) -> None:
        for alias in aliases:
            if alias.number < len(given):
                output = flow.value_at(made, alias.output_index)
                operand = flow.value_at(given[alias.number], alias.index)
                if output is not None and operand is not None:
                    groups.join(output, operand)

    module = flow.schedule.module
    join(module.entry.root, module.entry.parameters, module.header.aliases)
    for given, output in donations:
        groups.join(given, output)
    for value in flow.values:
        # What meets in a phi is one buffer: a loop's state stays where it is from round to round.
        for one in value.inputs or ():
            groups.join(value, resolve(one))
    for instruction in flow.schedule.sequence:
        join(instruction, instruction.operands, must_share(instruction))
    return groups.all()


def _range_alone(flow: Dataflow, more: Collection[Value]) -> dict[Value, LiveRange]:
    """Return when values would be live if each shared its buffer with no other.

    That is from the definition to the last use, or to where what leaves is handed on.
    """
    schedule, module = flow.schedule, flow.schedule.module
    top, nested = _find_ends(schedule)
    donated = {(alias.number, alias.index) for alias in module.header.aliases}
    is_tpu = bool(schedule.async_contexts) and find_backend(module) == "tpu"
    ranges: dict[Value, LiveRange] = {}
    for value in flow.values:
        instruction, computation = value.instruction, value.instruction.computation
        start = schedule.positions[instruction]
        end = (nested if value.index else top)[instruction]
        for seen, index in value.positions:
            there = (nested if index else top)[seen]
            if there > end:  # noqa: PLR1730  max() takes twice as long
                end = there
        if (done := find_async_end(schedule, computation)) is not None:
            end = max(end, done)
        if instruction.opcode == "parameter":
            start = schedule.spans[computation].start
            is_donated = (instruction.parameter_number, value.index) in donated or value in more
            # The caller owns what is not donated, and may read it when the program is done.
            if computation is module.entry and not is_donated:
                end = schedule.end
        if done is not None and is_tpu:  # there, what an operation makes begins at its start
            first = find_async_start(schedule.callers[schedule.async_contexts[computation]])
            start = max(start, schedule.positions.get(first, start)) if first else start
        ranges[value] = LiveRange(start, max(end, start))
    return ranges


def _find_ends(schedule: Schedule) -> tuple[dict[Instruction, int], dict[Instruction, int]]:
    """Return until when each instruction's top value, and its nested values, are needed there.

    That is the last use, or for a root the end of the computation. get-tuple-element and
    copy look at the top alone, tuple and domain at nothing; a while uses its operand at the
    start of its body; a call where its callee does.
    """
    top = {**schedule.positions}
    top |= {computation.root: span.stop for computation, span in schedule.spans.items()}
    nested = top.copy()
    for position, user in enumerate(schedule.sequence):
        opcode = user.opcode
        if opcode in USES_NOTHING or (opcode == "call" and user.callees("to_apply")):
            continue
        at = position
        if opcode == "while":
            body = user.expect_callee("body")
            at = schedule.positions[body.parameters[0]] if body.parameters else position
        for operand in user.operands:
            if at > top[operand]:  # noqa: PLR1730  max() takes twice as long
                top[operand] = at
            if at > nested[operand] and opcode not in USES_TOP_ONLY:
                nested[operand] = at
    return top, nested


def last_position_of(schedule: Schedule, value: Value) -> Position:
    """Return the position that stands latest in the schedule, the definition among equals.

    Follows HloLiveRange::ComputeValueLiveRangeEnd (xla/hlo/utils/hlo_live_range.cc): uses do
    not count, and a root is seen until its computation ends.
    """
    last: Position = value.instruction, value.index
    end = find_async_end(schedule, value.instruction.computation) or 0
    for position in (last, *value.positions):
        instruction = position[0]
        if instruction.is_root:
            there = schedule.spans[instruction.computation].stop
        else:
            there = schedule.positions[instruction]
        if there > end:
            last, end = position, there
    return last
