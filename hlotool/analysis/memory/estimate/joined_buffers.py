"""Which values lie, or probably lie, in one allocation?

What must share is a rule of dataflow (`shared_buffers`); what may is the allocator's choice.
It first lets temporary values move into the memory of outputs and donated parameters
(`reused_memory`), then simulates a heap for the rest. Where in the heap they lie does not
matter here, but what is written over an operand needs no memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.dataflow.may_share import SharingRule
from hlotool.analysis.dataflow.values import Value
from hlotool.analysis.graph.backend import Backend
from hlotool.analysis.memory.estimate.hlo_buffers import HloBuffer
from hlotool.analysis.memory.estimate.reused_memory import Reuse
from hlotool.ir.buffers import LiveRange


def join_buffers(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    buffers: Iterable[HloBuffer],
    backend: Backend | None,
) -> list[list[HloBuffer]]:
    """Group the buffers that lie, or probably lie, in one allocation; in order of definition.

    The TPU compiler keeps its own rules, which are in no open source: nothing is joined there.
    """
    joined = []
    moving: dict[int, list[HloBuffer]] = {}
    for buffer in buffers:
        if buffer.role == "fixed" or backend == "tpu":
            joined.append([buffer])
        else:
            moving.setdefault(buffer.color, []).append(buffer)
    rule = SharingRule(backend)
    for group in moving.values():
        reuse = Reuse(flow, ranges, rule)
        left = reuse.place(group)
        joined += [memory.buffers for memory in reuse.memory]
        joined += _share_heap(flow, ranges, rule, left)
    joined.sort(key=lambda group: min([buffer.values[0].number for buffer in group]))
    return joined


def _share_heap(
    flow: Dataflow,
    ranges: Mapping[Value, LiveRange],
    rule: SharingRule,
    buffers: Iterable[HloBuffer],
) -> list[list[HloBuffer]]:
    """Let each value that is alone in its buffer be written over an operand, where it may.

    Follows HeapSimulator::RunComputation (xla/service/heap_simulator/heap_simulator.cc).
    """
    chains = [[buffer] for buffer in buffers]
    chain_of = {chain[0].values[0]: chain for chain in chains if len(chain[0].values) == 1}
    ends = {value: ranges[value].end for value in chain_of}
    sharing = [one for one in chain_of if rule.concerns(one.instruction.opcode)]
    sharing.sort(key=lambda one: (ranges[one].start, ranges[one].end, one.number))
    for output in sharing:
        for operand in output.instruction.operands:
            source = flow.value_at(operand, ())
            if (
                source is not None
                and ends.get(source) == ranges[output].start
                and rule.allows((source.instruction, source.index), output)
            ):
                ends[source] = -1  # it is taken
                chain, other = chain_of[source], chain_of[output]
                chain += other
                other.clear()
                chain_of[output] = chain
                break
    return [chain for chain in chains if chain]
