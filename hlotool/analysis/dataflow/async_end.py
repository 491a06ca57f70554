"""When is the asynchronous operation done that a computation runs in?"""

from __future__ import annotations

from hlotool.analysis.dataflow.schedule import Schedule
from hlotool.ir.async_chain import list_later_steps
from hlotool.ir.computation import Computation


def find_async_end(schedule: Schedule, computation: Computation) -> int | None:
    """Return the position of the last step, None for what runs in no asynchronous operation.

    What is defined inside lives at least so long (HloLiveRange::CalculateBufferStartEndMap,
    xla/hlo/utils/hlo_live_range.cc).
    """
    if computation not in schedule.async_contexts:
        return None
    caller = schedule.callers[schedule.async_contexts[computation]]
    return max(schedule.positions.get(step, -1) for step in (caller, *list_later_steps(caller)))
