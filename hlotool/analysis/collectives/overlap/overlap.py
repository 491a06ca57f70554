"""What is computed while a collective is under way?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.chains import FusedCollective
from hlotool.analysis.collectives.logical import LogicalCollective
from hlotool.analysis.collectives.overlap.overlap_work import NO_WORK, OverlapWork
from hlotool.analysis.collectives.overlap.work_meter import WorkMeter
from hlotool.analysis.cost import CostModel
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Computation, Instruction
from hlotool.ir.async_chain import list_later_steps


class Overlap(Struct, frozen=True):
    """Work between the start and the done of a collective, and what of it can hide it.

    `work` is None where there is no such place, or where it is not known; `hiding` is None
    only where it is not known, and no work where a collective does not run beside any.
    """

    work: OverlapWork | None
    hiding: OverlapWork | None


_UNKNOWN: Final = Overlap(None, None)
_NEVER_BESIDE: Final = Overlap(None, NO_WORK)


class OverlapMeter:
    """Measures the work beside the collectives of one module, in schedule order.

    What is work, and what it costs, says `work_meter`. Only what stands behind the step that
    takes the last operand is beside a transfer: before, it cannot have begun, and what makes
    the operand cannot hide it. Work beside several collectives hides each of them.
    """

    def __init__(
        self,
        collectives: Iterable[LogicalCollective],
        executions: Executions,
        costs: CostModel,
        chips: tuple[Chip, ...],
    ) -> None:
        carriers: set[Instruction] = set()
        self._windows: dict[Computation, list[tuple[Instruction, Instruction]]] = {}
        for one in collectives:
            carriers.add(one.begin)
            if one.done is not None:
                carriers.add(one.done)
                if not one.is_fused and one.done.computation is one.begin.computation:
                    windows = self._windows.setdefault(one.begin.computation, [])
                    windows.append((find_opening(one.begin), one.done))
        self._meter = WorkMeter(executions, costs, carriers, chips)
        self._sums: dict[Computation, Mapping[Instruction, OverlapWork]] = {}

    def measure(self, collective: LogicalCollective) -> Overlap:
        """Measure the work that can hide a collective.

        None hides a synchronous one, nor a pair that GPU marks `is_sync`. Unknown where the
        order of the text is no schedule, or where the end stands in another computation.
        """
        begin, done = collective.begin, collective.done
        computation = begin.computation
        is_sync = is_marked_sync(collective)
        is_scheduled = computation.module.header.is_scheduled
        if not collective.is_async:
            return _NEVER_BESIDE if is_scheduled or is_sync else _UNKNOWN
        if collective.is_fused:
            work = self._measure_steps(collective.steps)
        elif not is_scheduled or done is None or done.computation is not computation:
            return _NEVER_BESIDE if is_sync else _UNKNOWN
        else:
            sums = self._sums_of(computation)
            work = sums[done].without(sums[find_opening(begin)])
        return Overlap(work, NO_WORK if is_sync else work)

    def _sums_of(self, computation: Computation) -> Mapping[Instruction, OverlapWork]:
        """Add up the work of a computation before each opening and done; once for each.

        What stands beside no collective is left out: nobody asks for it.
        """
        known = self._sums.get(computation)
        if known is not None:
            return known
        changes: Counter[Instruction] = Counter()
        for opening, done in self._windows[computation]:
            changes[opening] += 1
            changes[done] -= 1
        sums: dict[Instruction, OverlapWork] = {}
        depth, work = 0, NO_WORK
        for instruction in computation.instructions:
            if instruction in changes:
                depth += changes[instruction]
                sums[instruction] = work
            elif depth > 0 and self._meter.is_work(instruction):
                work = work.plus(self._meter.measure(instruction))
        self._sums[computation] = sums
        return sums

    def _measure_steps(self, steps: Iterable[FusedCollective]) -> OverlapWork:
        """Add up the compute in the fusions that carry a collective on."""
        work = NO_WORK
        for step in steps:
            if any(map(self._meter.is_work, step.operation.computation.instructions)):
                work = work.plus(self._meter.measure_step(step))
        return work


def find_opening(begin: Instruction) -> Instruction:
    """Return the step at which a transfer can begin: the last that takes an operand.

    TPU hands collectives to its SparseCores by `async-start()`; an `async-update` has the
    operands.
    """
    if begin.opcode != "async-start":
        return begin
    taking = [step for step in list_later_steps(begin) if len(step.operands) > 1]
    return taking[-1] if taking else begin


def is_marked_sync(collective: LogicalCollective) -> bool:
    """Whether GPU runs a start and its done back to back (`collective_backend_config`)."""
    for instruction in (collective.begin, collective.operation):
        if "backend_config" in instruction.attributes:
            config = instruction.backend_config()
            if config and config.find("collective_backend_config", "is_sync") is True:
                return True
    return False
