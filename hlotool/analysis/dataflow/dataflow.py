"""Values: what each instruction defines, and everywhere the same memory is seen again.

Follows HloDataflowAnalysis in its SSA form (xla/hlo/analysis/hlo_dataflow_analysis.cc): an
array, and each table of a tuple, is a value of the instruction that defines it; tuples,
get-tuple-element, bitcast, calls and asynchronous pairs pass values on; where the rounds of
a loop or the branches of a conditional meet with different values stands a phi.
"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.dataflow.flow_rules import RULES
from hlotool.analysis.dataflow.phis import replace_idle_phis
from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.analysis.dataflow.values import Flow, Value, ValueTree, go_into, resolve
from hlotool.ir.instruction import Instruction
from hlotool.ir.values import ShapeIndex


class Dataflow(Struct, frozen=True):
    """All values in the order of their definition; `nodes` are those seen at instructions."""

    schedule: Schedule
    values: tuple[Value, ...]
    nodes: dict[Instruction, ValueTree]

    def value_at(self, instruction: Instruction, index: ShapeIndex) -> Value | None:
        """Return the value seen at an index of an instruction's shape, None without one."""
        node = self.nodes.get(instruction)
        for number in index:
            if node is None or not 0 <= number < len(node.children):
                return None
            node = node.children[number]
        return resolve(node.value) if node else None


def find_values(schedule: Schedule) -> Dataflow:
    """Find the values of everything the entry runs, with the positions where they are seen."""
    flow = Flow(schedule)
    nodes = flow.nodes
    for instruction in schedule.sequence:
        rule = RULES.get(instruction.opcode)
        node = rule(flow, instruction) if rule else None
        nodes[instruction] = node or flow.define(instruction)
    flow.close_loops()
    replace_idle_phis([value for value in flow.values if value.inputs is not None])
    values = tuple(value for value in flow.values if value.replacement is None)
    _collect_positions(nodes)
    return Dataflow(schedule, values, nodes)


def _collect_positions(nodes: dict[Instruction, ValueTree]) -> None:
    """Tell every value where else it is seen."""
    for instruction, node in nodes.items():
        pending: list[tuple[ShapeIndex, ValueTree]] = [((), node)]
        while pending:
            index, (value, children) = pending.pop()
            seen = value if value.replacement is None else resolve(value)
            if seen.instruction is not instruction:
                seen.positions.append((instruction, index))
            if children:
                pending += [
                    (go_into(index, number), child) for number, child in enumerate(children)
                ]
