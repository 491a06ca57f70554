"""What is computed while a collective is under way?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.chains import FusedCollective
from hlotool.analysis.collectives.logical import LogicalCollective
from hlotool.analysis.cost import Cost, CostModel
from hlotool.analysis.cost.cost import add_costs
from hlotool.analysis.cost.custom_calls import NO_WORK_TARGETS
from hlotool.analysis.cost.operations import WORKING, find_work
from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Computation, Instruction
from hlotool.ir.opcodes import (
    ASYNC_DONES,
    COLLECTIVES,
    CONTROL_FLOW,
    DEVICE_NUMBERS,
    LATER_STEPS,
    PASSES_ON,
    SLICES,
)

_RUNS_OTHERS: Final = CONTROL_FLOW - LATER_STEPS
# Nothing is computed by these: they name, pass on, wait, or move between memory spaces.
_IDLE: Final = (
    (PASSES_ON - _RUNS_OTHERS) | COLLECTIVES | ASYNC_DONES | DEVICE_NUMBERS | {"constant"}
)
# What an async-start may wrap without computing anything.
_ONLY_MOVES: Final = SLICES | {"async-start", "copy"}


class Overlap(Struct, frozen=True):
    """Work between the start and the done of a collective; None where it is not known.

    `is_exposed`: no real work stands there, so that all of its time is waiting.
    """

    instruction_count: int | None
    flops: int | None
    size_bytes: int | None
    is_exposed: bool | None


NOT_STARTED: Final = Overlap(None, None, None, is_exposed=True)
_REAL_WORK: Final = 100  # times the work's bytes, and the payload can be hidden behind it


class _OverlapWork(Struct, frozen=True):
    """Instructions that work, their flops and bytes, and how many nobody knows the cost of."""

    count: int = 0
    flops: int = 0
    size: int = 0
    hidden: int = 0


class OverlapMeter:
    """Measures the work beside the collectives of one module, in schedule order.

    Work is what computes, or moves data within memory: not what names values, waits, copies
    between memory spaces, or communicates. flops and bytes are those of the cost model, with
    what it knows of custom calls; a loop in between counts all its rounds. Of a TPU fusion
    that carries a collective on, the compute inside counts, not the collective.

    Real work is that which accesses at least a hundredth of the payload's bytes, or does a
    flop for each of them: memory and matrix units are so much faster than links that less
    hides nothing. A custom call of which nothing is known is real work.
    """

    def __init__(
        self,
        collectives: Iterable[LogicalCollective],
        executions: Executions,
        costs: CostModel,
    ) -> None:
        self._carriers: set[Instruction] = set()
        self._windows: dict[Computation, list[tuple[Instruction, Instruction]]] = {}
        for one in collectives:
            self._carriers.add(one.begin)
            if one.done is not None:
                self._carriers.add(one.done)
                if not one.is_fused and one.done.computation is one.begin.computation:
                    windows = self._windows.setdefault(one.begin.computation, [])
                    windows.append((one.begin, one.done))
        self._trips = {loop.instruction: loop.trip_count for loop in executions.loops}
        self._costs = costs
        self._totals: Mapping[Computation, Cost] | None = None
        self._sums: dict[Computation, dict[Instruction, _OverlapWork]] = {}
        self._started: dict[Computation, bool] = {}

    def measure(self, collective: LogicalCollective, payload_bytes: int | None) -> Overlap:
        """Measure the work that can hide a collective.

        A synchronous one is exposed, and so is a pair that GPU marks `is_sync`. Unknown where
        the order of the text is no schedule, or where the end stands in another computation.
        """
        begin, done = collective.begin, collective.done
        if not collective.is_async:
            return NOT_STARTED
        if collective.is_fused:
            return self._judge(self._measure_steps(collective.steps), payload_bytes)
        is_sync = is_marked_sync(collective)
        computation = begin.computation
        is_scheduled = computation.module.header.is_scheduled
        if not is_scheduled or done is None or done.computation is not computation:
            return Overlap(None, None, None, is_exposed=True if is_sync else None)
        sums = self._sums_of(computation)
        before, after = sums[begin], sums[done]
        work = _OverlapWork(
            after.count - before.count,
            after.flops - before.flops,
            after.size - before.size,
            after.hidden - before.hidden,
        )
        return self._judge(work, payload_bytes, is_sync=is_sync)

    def _judge(
        self, work: _OverlapWork, payload_bytes: int | None, *, is_sync: bool = False
    ) -> Overlap:
        """Say whether the work is enough to call a collective hidden; None where nobody knows."""
        is_exposed = is_sync or not work.count or self._is_too_little(work, payload_bytes)
        return Overlap(work.count, work.flops, work.size, is_exposed)

    @staticmethod
    def _is_too_little(work: _OverlapWork, payload_bytes: int | None) -> bool | None:
        """Whether work beside a collective hides less than its payload; see `_REAL_WORK`."""
        if work.hidden:  # custom calls, say, of which nobody knows how much they do
            return False
        if payload_bytes is None:
            return None
        return work.size * _REAL_WORK < payload_bytes and work.flops < payload_bytes

    def _sums_of(self, computation: Computation) -> dict[Instruction, _OverlapWork]:
        """Add up the work of a computation before each start and done; once for each.

        What stands beside no collective is left out: nobody asks for it.
        """
        sums = self._sums.get(computation)
        if sums is not None:
            return sums
        changes: Counter[Instruction] = Counter()
        for begin, done in self._windows[computation]:
            changes[begin] += 1
            changes[done] -= 1
        sums = self._sums[computation] = {}
        depth = count = flops = size = hidden = 0
        for instruction in computation.instructions:
            if instruction in changes:
                depth += changes[instruction]
                sums[instruction] = _OverlapWork(count, flops, size, hidden)
            elif depth > 0 and self._is_work(instruction):
                cost = self._cost(instruction)
                count += 1
                flops += _flops(cost)
                size += cost.memory_bytes
                hidden += _is_hidden(cost)
        return sums

    def _is_work(self, instruction: Instruction) -> bool:
        opcode = instruction.opcode
        if opcode in _IDLE or instruction in self._carriers:
            return False
        if opcode == "custom-call":
            return instruction.custom_call_target not in NO_WORK_TARGETS
        return opcode != "async-start" or self._starts_work(instruction.callee())

    def _starts_work(self, callee: Computation | None) -> bool:
        """Whether an async-start computes something, and does not only copy or communicate."""
        if callee is None:
            return False
        if callee not in self._started:
            self._started[callee] = any(
                one.opcode not in _ONLY_MOVES and self._is_work(one) for one in callee.instructions
            )
        return self._started[callee]

    def _cost(self, instruction: Instruction) -> Cost:
        """Return the cost of one instruction; of a loop, of all its rounds."""
        if instruction.opcode not in {"call", "while"}:
            return self._costs.of(instruction)
        if self._totals is None:
            self._totals = self._costs.all_with_trip_counts(self._trips)
        inside = add_costs(self._totals[one] for one in instruction.called_computations())
        rounds = self._trips.get(instruction, 1)
        return inside.times(1 if rounds is None else rounds)

    def _measure_steps(self, steps: Iterable[FusedCollective]) -> _OverlapWork:
        """Add up the compute in the fusions that carry a collective on."""
        count = flops = size = hidden = 0
        for step in steps:
            body = step.operation.computation
            if not any(self._is_work(one) for one in body.instructions):
                continue
            count += 1
            cost = self._costs.of(step.fusion)
            flops += _flops(cost) - _own_flops(step.operation)
            size += _compute_bytes(step, self._costs)
            hidden += _is_hidden(cost)
        return _OverlapWork(count, flops, size, hidden)


def _flops(cost: Cost) -> int:
    """Return all the arithmetic that is known, that of custom calls too."""
    return cost.flops + cost.custom_call_flops


def _is_hidden(cost: Cost) -> bool:
    """Whether what an instruction does is known to nobody."""
    return cost.unknown_custom_call_count > 0


def is_marked_sync(collective: LogicalCollective) -> bool:
    """Whether GPU runs a start and its done back to back (`collective_backend_config`)."""
    for instruction in (collective.begin, collective.operation):
        if "backend_config" in instruction.attributes:
            config = instruction.backend_config()
            if config and config.find("collective_backend_config", "is_sync") is True:
                return True
    return False


def _own_flops(operation: Instruction) -> int:
    """Return what the cost model counts for the collective itself."""
    return find_work(operation).flops if operation.opcode in WORKING else 0


def _compute_bytes(step: FusedCollective, costs: CostModel) -> int:
    """Return what the compute of a fusion reads and writes beside the collective it carries."""
    traffic = costs.fusion_traffic(step.fusion)
    body = step.operation.computation
    if traffic is None or step.fusion.callee() is not body:
        return costs.of(step.fusion).memory_bytes
    carried = {step.operation, body.root}
    reads = sum(
        size
        for parameter, size in traffic.operands
        if any(user not in carried for user in parameter.users)
    )
    writes = sum(
        size
        for made, size in traffic.results
        if made is not step.operation and made.opcode not in PASSES_ON
    )
    return reads + sum(size for _, size in traffic.constants) + writes
