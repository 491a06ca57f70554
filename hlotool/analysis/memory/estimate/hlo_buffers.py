"""Which values must lie in one buffer, and what else may lie there?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.dataflow.values import Value, resolve
from hlotool.ir.buffers import BufferValue
from hlotool.ir.shape import TupleShape

Role: TypeAlias = Literal["fixed", "reusable", "temp"]


class HloBuffer(Struct, eq=False):
    """Values that share memory by rule, or a single value; in order of definition.

    `role` is `fixed` for constants, tables of tuples, and parameters that are not donated:
    their memory is never another's. That of outputs and donated parameters is `reusable`
    while they do not need it. All others are `temp`. `leaves` says whether the program
    returns one of the values.
    """

    values: list[Value]
    size_bytes: int
    color: int
    role: Role
    leaves: bool


def list_buffers(
    flow: Dataflow, shared: Iterable[list[Value]], placed: Mapping[Value, BufferValue]
) -> list[HloBuffer]:
    """Put each value into one buffer; `shared` holds those with company."""
    aliases = flow.schedule.module.header.aliases
    donated = {(alias.number, alias.index) for alias in aliases}
    leaving = _find_leaving(flow)
    groups = [sorted(group, key=attrgetter("number")) for group in shared]
    grouped = {value for group in groups for value in group}
    groups += [[value] for value in flow.values if value not in grouped]
    buffers = []
    for group in groups:
        size = max([placed[value].size_bytes for value in group])
        leaves = not leaving.isdisjoint(group)
        role: Role = "reusable" if leaves else "temp"
        for value in group:
            if value.instruction.opcode == "constant" or isinstance(value.shape, TupleShape):
                role = "fixed"
            elif is_entry_parameter(value):
                key = value.instruction.parameter_number, value.index
                role = "reusable" if key in donated else "fixed"
        buffers.append(HloBuffer(group, size, placed[group[0]].color, role, leaves))
    return buffers


def is_entry_parameter(value: Value) -> bool:
    """Whether a value is, or is in, a parameter of the entry."""
    one = value.instruction
    return one.opcode == "parameter" and one.computation is one.computation.module.entry


def _find_leaving(flow: Dataflow) -> set[Value]:
    """Return the values that are part of what the program returns."""
    root = flow.schedule.module.entry.root
    leaving: set[Value] = set()
    pending = [flow.nodes[root]]
    while pending:
        value, children = pending.pop()
        leaving.add(resolve(value))
        pending += children
    return leaving
