"""Which values lie, or probably lie, in one buffer?

What must share is a rule of dataflow (`shared_buffers`); what may is the allocator's choice,
of which this says the likely part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.dataflow.may_share import Pair, may_share, shares_by_choice
from hlotool.analysis.dataflow.values import Value, resolve
from hlotool.analysis.graph.backend import Backend
from hlotool.ir.buffers import LiveRange
from hlotool.ir.module import Instruction

_MOST_COMPARED: Final = 64  # values of one buffer that are looked at before sharing it


class EstimatedBuffer(Struct, eq=False):
    """Values that share memory, with the time it is in use."""

    values: list[Value]
    start: int
    end: int
    is_parameter: bool


def join_values(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    shared: Iterable[list[Value]],
    backend: Backend | None,
) -> list[EstimatedBuffer]:
    """Group the values that lie, or probably lie, in one buffer; in order of definition."""
    joined = _Buffers(flow, ranges, shared, backend)
    for user, outputs in groupby(flow.values, attrgetter("instruction")):
        if shares_by_choice(user.opcode, backend):
            joined.write_over(user, outputs)
    return joined.all()


def is_entry_parameter(value: Value) -> bool:
    """Whether a value is, or is in, a parameter of the entry."""
    one = value.instruction
    return one.opcode == "parameter" and one.computation is one.computation.module.entry


class _Buffers:
    """The buffer of each value.

    Two values that share with nobody by rule may share by choice
    (xla/service/heap_simulator/heap_simulator.cc); others may only move in where a
    parameter was, as parameters have memory before temporary values look for theirs
    (BufferAssigner::AssignSingleHloBuffer, xla/service/buffer_assignment.cc).
    """

    def __init__(
        self,
        flow: Dataflow,
        ranges: Mapping[Value, LiveRange],
        shared: Iterable[list[Value]],
        backend: Backend | None,
    ) -> None:
        self.flow = flow
        self.ranges = ranges
        self.backend = backend
        self.buffer_of: dict[Value, EstimatedBuffer] = {}
        for group in shared:
            buffer = EstimatedBuffer(
                group.copy(),
                min(ranges[value].start for value in group),
                max(ranges[value].end for value in group),
                is_parameter=any(map(is_entry_parameter, group)),
            )
            self.buffer_of.update(dict.fromkeys(group, buffer))
        self.has_rule = set(self.buffer_of)
        for value in flow.values:
            if value not in self.buffer_of:
                found = ranges[value]
                self.buffer_of[value] = EstimatedBuffer(
                    [value], found.start, found.end, is_parameter=is_entry_parameter(value)
                )

    def write_over(self, user: Instruction, outputs: Iterable[Value]) -> None:
        """Let each output of an instruction be written over one operand, where it may."""
        born = self.flow.schedule.positions[user]
        nodes, buffer_of = self.flow.nodes, self.buffer_of
        operands = []
        for number, operand in enumerate(user.operands):
            source = resolve(nodes[operand].value)
            if buffer_of[source].end == born:
                operands.append((number, source))
        for output in outputs if operands else ():
            if output.is_phi:
                continue
            for number, source in operands:
                if self.can_follow(source, output) and may_share(
                    Pair(user, number, source.shape, output.shape, output.index), self.backend
                ):
                    self.join(source, output)
                    break

    def can_follow(self, operand: Value, output: Value) -> bool:
        """Whether a buffer is needed last where the other is written, and not needed before."""
        first, second = self.buffer_of[operand], self.buffer_of[output]
        born = self.ranges[output].start
        if (
            first is second
            or operand.instruction.opcode == "constant"
            or first.end != born
            or len(second.values) > _MOST_COMPARED
        ):
            return False
        if not second.is_parameter:
            return operand not in self.has_rule and output not in self.has_rule
        start = first.start
        return all(
            self.ranges[one].start >= born
            or self.ranges[one].end < start
            or (self.ranges[one].end == start and self.may_share(one, first.values[0]))
            for one in second.values
        )

    def may_share(self, operand: Value, output: Value) -> bool:
        """Whether the instruction that defines `output` may write it over `operand`."""
        user = output.instruction
        for number, one in enumerate(user.operands):
            if self.flow.value_at(one, ()) is operand:
                pair = Pair(user, number, operand.shape, output.shape, output.index)
                return may_share(pair, self.backend)
        return False

    def join(self, operand: Value, output: Value) -> None:
        """Put two buffers into one."""
        first, second = self.buffer_of[operand], self.buffer_of[output]
        first.values += second.values
        first.start = min(first.start, second.start)
        first.end = second.end
        first.is_parameter |= second.is_parameter
        for value in second.values:
            self.buffer_of[value] = first

    def all(self) -> list[EstimatedBuffer]:
        """Return each buffer once, in the order of its first value."""
        return list(dict.fromkeys(self.buffer_of[value] for value in self.flow.values))
