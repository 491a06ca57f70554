"""How long does each instruction take, on the modelled clock of one run?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.cost import Cost
from hlotool.analysis.cost.arithmetic import weigh_flops
from hlotool.analysis.graph.call_graph import find_branches
from hlotool.analysis.graph.host_transfers import is_with_host
from hlotool.analysis.outline.duration import NO_TIME, Duration
from hlotool.analysis.outline.memory_lane import MemoryLane
from hlotool.analysis.outline.steps import OutlineEvidence, find_kind
from hlotool.ir.async_chain import list_later_steps
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ASYNC_DONES, ASYNC_STARTS

_HOST_SPACE: Final = 5  # pinned memory of the host, on GPU and TPU
_BESIDE: Final = ASYNC_STARTS | ASYNC_DONES | {"send", "recv"}


class Clock:
    """Adds up what runs, callees first; times are of one execution, loops with all their rounds.

    Work takes the longer of its flops and its bytes at the chip's peaks. An asynchronous copy, or
    slice, takes its bytes at the memory's speed: it moves them in the time in which the work
    before its done leaves memory idle, and its done waits for what is left. So do the bytes that
    a collective moves in memory; besides, it stops the work for what no work hides of its transfer.
    What ends in another computation is waited for where it begins. So no run is shorter than all
    its traffic takes memory.

    Of a conditional the longest branch counts, an unknown trip count as one round, a condition as
    often as its body. The speed of the link to the host is unknown: what goes over it takes as
    long as memory does, and makes the time a lower bound. Names, views and constants take no time.
    """

    def __init__(self, evidence: OutlineEvidence) -> None:
        self._evidence = evidence
        self._steps: dict[Instruction, Duration] = {}
        self._runs: dict[Computation, Duration] = {}
        for computation in reversed(evidence.executions.executed):  # what is called comes first
            self._runs[computation] = self._walk(computation)

    def of(self, instruction: Instruction) -> Duration:
        """Return how long one execution of an instruction keeps what is behind it waiting."""
        return self._steps.get(instruction, NO_TIME)

    def of_run(self, computation: Computation) -> Duration:
        """Return how long one execution of a computation takes."""
        return self._runs.get(computation, NO_TIME)

    def _walk(self, computation: Computation) -> Duration:
        lane = MemoryLane()
        total = NO_TIME
        for one in computation.instructions:
            taken = self._measure(one, lane)
            if taken is not NO_TIME:
                self._steps[one] = taken
                total = total.plus(taken)
        return total

    def _measure(self, one: Instruction, lane: MemoryLane) -> Duration:
        """Measure an instruction, and let what is under way go on meanwhile."""
        kind = find_kind(one, self._evidence)
        if kind in {"collective", "wait"}:
            return self._move(one, lane, self._find_exposed(one, is_end=kind == "wait"))
        if kind is None:
            return self._move(one, lane, NO_TIME) if one.opcode in _BESIDE else NO_TIME
        if kind == "conditional":
            taken = _take_longest(map(self.of_run, find_branches(one)))
        elif kind in {"loop", "call"}:
            taken = self._repeat(one)
        else:
            taken = self._work(self._evidence.costs.of(one))
        lane.give(taken.idle)
        return taken

    def _work(self, cost: Cost) -> Duration:
        """Let work take the longer of its flops and its bytes."""
        chip = self._evidence.pricing.chip
        compute = weigh_flops(cost.total_flops, cost.products, chip) / chip.flops_per_second
        memory = cost.memory_bytes / chip.hbm_bytes_per_second
        is_known = not (cost.is_total_lower_bound or cost.is_memory_lower_bound)
        if compute > memory:
            return Duration(compute=compute, is_known=is_known, moving=memory)
        return Duration(memory=memory, is_known=is_known, moving=memory)

    def _repeat(self, one: Instruction) -> Duration:
        """Add up the rounds of a loop, or what else runs computations."""
        rounds = self._evidence.trips.get(one, 1)
        total = Duration(is_known=rounds is not None)
        for called in one.called_computations():
            total = total.plus(self.of_run(called), 1 if rounds is None else rounds)
        return total

    def _move(self, one: Instruction, lane: MemoryLane, exposed: Duration) -> Duration:
        """Begin what runs beside the work, or wait for it; `exposed` is the wait for a link.

        A fusion that carries a collective on may compute for longer than it moves bytes: then it
        is work.
        """
        costs = self._evidence.costs
        own = self._work(costs.of(one))
        is_known = own.is_known and exposed.is_known and not _is_over_host_link(one)
        if own.compute and one.opcode == "fusion":
            lane.give(own.idle)
            return exposed.plus(replace(own, is_known=is_known))
        done = _find_done(one)
        if done is not None:
            lane.begin(done, own.memory + self._work(costs.of(done)).memory)
            moving = own.moving + self._work(costs.of(done)).moving
            return replace(exposed, is_known=is_known, moving=moving)
        is_begun = one.opcode in ASYNC_DONES and lane.has(one)
        left = lane.end(one) if is_begun else own.memory
        waited = max(left - exposed.exposed, 0.0)
        lane.give(exposed.exposed - left)
        return Duration(
            memory=waited,
            exposed=exposed.exposed,
            is_known=is_known,
            moving=0.0 if is_begun else own.moving,
        )

    def _find_exposed(self, one: Instruction, *, is_end: bool) -> Duration:
        """Return how long a collective stops the work for its link, where it ends."""
        evidence = self._evidence
        row = (evidence.ends if is_end else evidence.begins)[one.full_name]
        if not is_end and row.name in evidence.waited:
            return NO_TIME
        seconds = evidence.pricing.links.estimate(row.wire_bytes, row.network, row.span)
        if seconds is None or row.exposed_share is None:
            return Duration(is_known=False)
        return Duration(exposed=float(seconds) * row.exposed_share)


def _take_longest(branches: Iterable[Duration]) -> Duration:
    """Return the longest branch; memory may be as busy as in any."""
    found = list(branches)
    longest = max(found, key=lambda each: each.total, default=NO_TIME)
    return replace(longest, moving=max((each.moving for each in found), default=0.0))


def _find_done(start: Instruction) -> Instruction | None:
    """Return what waits for an asynchronous step in its computation; None where nothing does."""
    if start.opcode == "async-start":
        last = start
        for step in list_later_steps(start):
            last = step
        return last if last.opcode in ASYNC_DONES else None
    if start.opcode not in _BESIDE - ASYNC_DONES:
        return None
    return next((user for user in start.users if user.opcode in ASYNC_DONES), None)


def _is_over_host_link(one: Instruction) -> bool:
    """Whether a step of a copy or transfer goes between the device and its host."""
    if one.opcode in {"send", "recv"} and is_with_host(one):
        return True
    shapes = (one.shape, *(operand.shape for operand in one.operands))
    return any(leaf.memory_space == _HOST_SPACE for each in shapes for leaf in each.leaves())
