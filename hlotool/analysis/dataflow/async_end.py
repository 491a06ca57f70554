"""When is the asynchronous operation done that a computation runs in?"""

from __future__ import annotations

from typing import Final

from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.ir.module import Computation, Instruction
from hlotool.ir.opcodes import LATER_STEPS

_STEPS: Final = LATER_STEPS | {"async-start"}


def find_async_end(schedule: Schedule, computation: Computation) -> int | None:
    """Return the position of the last step, None for what runs in no asynchronous operation.

    What is defined inside lives at least so long (HloLiveRange::CalculateBufferStartEndMap,
    xla/hlo/utils/hlo_live_range.cc).
    """
    if computation not in schedule.async_contexts:
        return None
    step: Instruction | None = schedule.callers[schedule.async_contexts[computation]]
    end = -1
    while step is not None and step.opcode in _STEPS:
        end = max(end, schedule.positions.get(step, -1))
        step = next((user for user in step.users if user.opcode in _STEPS), None)
    return end
