"""Where is a value seen last?"""

from __future__ import annotations

from hlotool.analysis.dataflow.async_end import find_async_end
from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.analysis.dataflow.values import Position, Value
from hlotool.ir.instruction import Instruction


def find_last_position(schedule: Schedule, value: Value) -> Position:
    """Return the position that stands latest in the schedule, the definition among equals.

    Follows HloLiveRange::ComputeValueLiveRangeEnd (xla/hlo/utils/hlo_live_range.cc): uses do
    not count, and a root is seen until its computation ends.
    """
    last = value.instruction, value.index
    end = _end(schedule, value.instruction)
    done = find_async_end(schedule, value.instruction.computation)
    if done is not None:
        end = max(end, done)
    for position in value.positions:
        there = _end(schedule, position[0])
        if there > end:
            last, end = position, there
    return last


def _end(schedule: Schedule, instruction: Instruction) -> int:
    if instruction.is_root:
        return schedule.spans[instruction.computation].end
    return schedule.positions[instruction]
