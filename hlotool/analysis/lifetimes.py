"""Lifetimes: when each value is live, as printed or derived from the schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Literal

from hlotool.analysis.backend import find_backend
from hlotool.analysis.dataflow import Dataflow, find_values
from hlotool.analysis.in_place import must_share
from hlotool.analysis.schedule import Schedule, find_async_start, require_schedule
from hlotool.analysis.values import Value, resolve
from hlotool.ir.buffers import BufferAssignment, LiveRange, ValueKey
from hlotool.ir.module import Instruction, Module
from hlotool.ir.values import ShapeIndex
from hlotool.records import record

_UNUSED = (-1, -1)
_ASYNC = frozenset(("async-start", "async-update", "async-done"))


@record
class Lifetimes:
    """First and last position of each value, both included; positions are 0 … `end`.

    `source` says whether the live-range section was read or the schedule followed.
    """

    source: Literal["live-range", "derived"]
    sequence: tuple[str, ...]
    ranges: Mapping[ValueKey, LiveRange]

    @property
    def end(self) -> int:
        """The position after the last instruction, where what leaves the program lives."""
        return len(self.sequence)

    def instruction_at(self, position: int) -> str | None:
        """Return the instruction that runs at a position, None after the last."""
        return self.sequence[position] if 0 <= position < len(self.sequence) else None


def find_lifetimes(assignment: BufferAssignment, module: Module | None) -> Lifetimes | None:
    """Return the printed lifetimes, else derived ones; None without a module to derive from.

    Raises InputError when the module that would have to tell is not scheduled.
    """
    if assignment.live_ranges is not None:
        live = assignment.live_ranges
        return Lifetimes("live-range", live.sequence, live.ranges)
    return derive_lifetimes(find_values(require_schedule(module))) if module else None


def derive_lifetimes(flow: Dataflow) -> Lifetimes:
    """Derive every value's range from the schedule, as XLA does.

    Follows HloLiveRange (xla/hlo/utils/hlo_live_range.cc): from the definition, or the start
    of the computation for parameters, to the last use, or the end of the computation for
    what leaves it; values of one buffer are trimmed to abut.
    """
    return name_ranges(flow, value_ranges(flow))


def name_ranges(flow: Dataflow, ranges: Mapping[Value, LiveRange]) -> Lifetimes:
    """Return ranges by the names of instructions, in which nothing else tells values apart."""
    names = flow.schedule.names
    return Lifetimes(
        "derived",
        tuple(names[instruction] for instruction in flow.schedule.sequence),
        {(names[value.instruction], value.index): found for value, found in ranges.items()},
    )


def value_ranges(flow: Dataflow) -> dict[Value, LiveRange]:
    """Return the range of each value, trimmed where values share a buffer."""
    rule = _RangeRule(flow.schedule)
    ranges = {value: rule.range_of(value) for value in flow.values}
    for shared in shared_buffers(flow):
        _trim(shared, ranges)
    return ranges


def shared_buffers(flow: Dataflow) -> list[list[Value]]:
    """Return the values that must share a buffer, in groups of two and more.

    Follows HloAliasAnalysis (xla/hlo/analysis/hlo_alias_analysis.cc): donated parameters
    with their outputs, everything that meets in a loop or a conditional, in-place operations.
    """
    groups = _Groups()
    for alias in flow.schedule.module.header.aliases:
        parameters = flow.schedule.module.entry.parameters
        if alias.number < len(parameters):
            result = flow.value_at(flow.schedule.module.entry.root, alias.output_index)
            groups.join(result, flow.value_at(parameters[alias.number], alias.index))
    for value in flow.values:
        for one in value.inputs or ():
            groups.join(value, resolve(one))
    for instruction in flow.schedule.sequence:
        for pair in must_share(instruction):
            if pair.operand < len(instruction.operands):
                operand = instruction.operands[pair.operand]
                output = flow.value_at(instruction, pair.output)
                groups.join(output, flow.value_at(operand, pair.operand_index))
    return groups.all()


class _Groups:
    """Values joined in sets, the smaller into the larger."""

    def __init__(self) -> None:
        self.group_of: dict[Value, list[Value]] = {}

    def join(self, one: Value | None, other: Value | None) -> None:
        """Say that two values are one buffer."""
        if one is None or other is None or one is other:
            return
        first = self.group_of.setdefault(one, [one])
        second = self.group_of.setdefault(other, [other])
        if first is second:
            return
        small, large = sorted((first, second), key=len)
        large += small
        for value in small:
            self.group_of[value] = large

    def all(self) -> list[list[Value]]:
        """Return the groups, each once."""
        return list({id(group): group for group in self.group_of.values()}.values())


class _RangeRule:
    """When a value would be live if it shared its buffer with no other."""

    def __init__(self, schedule: Schedule) -> None:
        module = schedule.module
        self.schedule = schedule
        self.last_uses = _last_uses(schedule)
        self.donated = {(alias.number, alias.index) for alias in module.header.aliases}
        self.is_tpu = bool(schedule.async_contexts) and find_backend(module) == "tpu"

    def range_of(self, value: Value) -> LiveRange:
        """Return from the definition to the last use, or where what leaves is handed on."""
        schedule, instruction = self.schedule, value.instruction
        span = schedule.spans[instruction.computation]
        start = schedule.positions[instruction]
        end = span.end if instruction.is_root else start
        if instruction.opcode == "parameter":
            start = span.start
            is_entry = instruction.computation is schedule.module.entry
            if is_entry and (instruction.parameter_number, value.index) not in self.donated:
                return LiveRange(start, schedule.end)
        caller = self._async_caller(value)
        if caller is not None:
            end = max(end, self._done(caller))
            first = find_async_start(caller)
            if self.is_tpu and first:  # there, what an operation makes begins at its start
                start = max(start, schedule.positions.get(first, start))
        end = max(end, start, self._used(instruction, value.index))
        for place in value.positions:
            seen = place.instruction
            is_handed_on = seen.is_root and seen.computation in schedule.spans
            there = (
                schedule.spans[seen.computation].end if is_handed_on else schedule.positions[seen]
            )
            end = max(end, there, self._used(seen, place.shape_index))
        return LiveRange(start, end)

    def _used(self, instruction: Instruction, index: ShapeIndex) -> int:
        top, nested = self.last_uses.get(instruction, _UNUSED)
        return nested if index else top

    def _async_caller(self, value: Value) -> Instruction | None:
        """Return the operation that runs a value's computation beside others, if one does."""
        context = self.schedule.async_contexts.get(value.instruction.computation)
        return self.schedule.callers.get(context) if context else None

    def _done(self, caller: Instruction) -> int:
        """Return where an asynchronous operation is done."""
        end = -1
        step: Instruction | None = caller
        while step is not None and step.opcode in _ASYNC:
            end = max(end, self.schedule.positions.get(step, -1))
            step = next((user for user in step.users if user.opcode in _ASYNC), None)
        return end


def _last_uses(schedule: Schedule) -> dict[Instruction, tuple[int, int]]:
    """Return the last position that uses an instruction's top value, and its nested values.

    get-tuple-element and copy look at the top alone, tuple and domain at nothing; a while
    uses its operand at the start of its body; a call where its callee does.
    """
    uses: dict[Instruction, tuple[int, int]] = {}
    for position, user in enumerate(schedule.sequence):
        opcode = user.opcode
        if opcode in {"tuple", "domain"}:
            continue
        if opcode == "call" and _is_flattened(schedule, user, "to_apply"):
            continue
        at = position
        if opcode == "while" and _is_flattened(schedule, user, "body"):
            body = user.callees("body")[0]
            at = schedule.positions[body.parameters[0]] if body.parameters else position
        is_shallow = opcode in {"get-tuple-element", "copy"}
        for operand in user.operands:
            top, nested = uses.get(operand, _UNUSED)
            uses[operand] = (max(top, at), nested if is_shallow else max(nested, at))
    return uses


def _is_flattened(schedule: Schedule, user: Instruction, key: str) -> bool:
    callees = user.callees(key)
    return bool(callees) and callees[0] in schedule.spans


def _trim(shared: Iterable[Value], ranges: dict[Value, LiveRange]) -> None:
    """End each range of one buffer where the next begins; the last takes the latest end."""
    order = sorted(shared, key=lambda value: (ranges[value].start, ranges[value].end))
    for one, following in pairwise(order):
        first, second = ranges[one], ranges[following]
        ranges[following] = LiveRange(second.start, max(first.end, second.end))
        ranges[one] = LiveRange(first.start, min(first.end, second.start))
