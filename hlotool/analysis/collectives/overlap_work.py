"""The work that may hide a collective: which instructions are work, and how much each does.

An instruction takes the longer of its flops and its bytes at the peaks of a chip. Sums keep flops
and bytes apart from the seconds, which are exact fractions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import reduce
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple, replace

from hlotool.analysis.collectives.logical import FusedCollective
from hlotool.analysis.cost.arithmetic import WORKING, count_work
from hlotool.analysis.cost.chips import Chip, weigh_flops
from hlotool.analysis.cost.cost import Cost
from hlotool.analysis.cost.custom_calls import NO_WORK_TARGETS
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.cost.traffic import MAIN_SPACE
from hlotool.analysis.graph.calls import list_branches
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import Computation, Instruction, Shape, TupleShape
from hlotool.hlo.opcodes import (
    ASYNC_DONES,
    COLLECTIVES,
    CONTROL_FLOW,
    DEVICE_NUMBERS,
    LATER_STEPS,
    PASSES_ON,
    SLICES,
)


class OverlapWork(Struct, frozen=True):
    """Instructions that work: how many, their flops and bytes, of how many a part is unknown.

    `limiting_flops` adds up the flops of those that the arithmetic of the meter's chip limits,
    weighed (`weigh_flops`),
    `limiting_bytes` the bytes of those that its memory limits. `taken_seconds` are those in which
    the work hides transfers inside, such as those of a loop's body: they hide no other.
    """

    instruction_count: int = 0
    flops: int = 0
    memory_bytes: int = 0
    unknown_count: int = 0
    limiting_flops: int = 0
    limiting_bytes: int = 0
    taken_seconds: Fraction | int = 0

    def plus(self, other: OverlapWork, times: int = 1) -> OverlapWork:
        """Return this and so many times another; -1 takes a part away."""
        parts = zip(astuple(self), astuple(other), strict=True)
        return OverlapWork(*(one + times * more for one, more in parts))

    def spare_seconds(self, chip: Chip) -> Fraction:
        """Return how long a chip takes at its peaks, without what is taken."""
        computing = self.limiting_flops / Fraction(chip.flops_per_second)
        moving = self.limiting_bytes / Fraction(chip.hbm_bytes_per_second)
        return computing + moving - self.taken_seconds


NO_WORK: Final = OverlapWork()

_RUNS_OTHERS: Final = CONTROL_FLOW - LATER_STEPS
# These run computations in their place.
FLOW: Final = frozenset(("call", "conditional", "while"))
# Nothing is computed by these: they name, pass on, wait, or move between memory spaces.
_IDLE: Final = (
    (PASSES_ON - _RUNS_OTHERS) | COLLECTIVES | ASYNC_DONES | DEVICE_NUMBERS | {"constant"}
)
# What an async-start may wrap without computing anything.
_ONLY_MOVES: Final = SLICES | {"async-start", "copy"}


class WorkMeter:
    """Tells work from what is none, and measures it.

    Work is what computes, or moves data within memory: not what names values, waits, copies
    between memory spaces, or communicates. flops and bytes are those of the cost model, with
    what it knows of custom calls. A loop counts all its rounds, a conditional the branch that
    takes the least time, so that no more seems hidden than is. Of a TPU fusion that carries a
    collective on, the compute inside counts, not the collective.

    An instruction takes the longer of its flops and its bytes. Where a custom call, a size or a
    trip count is unknown, what is known counts, and `unknown_count` tells. `inside` is the work of
    the computations that loops, calls and conditionals run, which the caller adds up.
    """

    def __init__(
        self,
        executions: Executions,
        costs: CostModel,
        carriers: Collection[Instruction],
        chip: Chip,
    ) -> None:
        self._costs = costs
        self._carriers = carriers
        self._chip = chip
        self._trips = {loop.instruction: loop.trip_count for loop in executions.loops}
        self._started: dict[Computation, bool] = {}

    def is_work(self, instruction: Instruction) -> bool:
        """Whether an instruction computes something, or moves data within memory."""
        opcode = instruction.opcode
        if opcode in _IDLE or instruction in self._carriers:
            return False
        if opcode == "custom-call":
            return instruction.custom_call_target not in NO_WORK_TARGETS
        return opcode != "async-start" or self._starts_work(instruction.callee())

    def measure(
        self, instruction: Instruction, inside: Mapping[Computation, OverlapWork]
    ) -> OverlapWork:
        """Measure one execution of an instruction that is work."""
        if instruction.opcode in FLOW:
            return self._measure_flow(instruction, inside)
        cost = self._costs.of(instruction)
        return self._make(cost, cost.total_flops, cost.memory_bytes)

    def measure_step(self, step: FusedCollective) -> OverlapWork:
        """Measure the compute in a fusion that carries a collective on."""
        if not any(map(self.is_work, step.operation.computation.instructions)):
            return NO_WORK
        cost = self._costs.of(step.fusion)
        # What the cost model counts for the collective itself is no compute.
        operation = step.operation
        own = count_work(operation).flops if operation.opcode in WORKING else 0
        return self._make(cost, cost.total_flops - own, _compute_bytes(step, self._costs))

    def _make(self, cost: Cost, flops: int, size_bytes: int) -> OverlapWork:
        chip = self._chip
        weighed = weigh_flops(flops, cost.products, chip)
        is_computing = weighed * chip.hbm_bytes_per_second > size_bytes * chip.flops_per_second
        return OverlapWork(
            1,
            flops,
            size_bytes,
            int(cost.is_total_lower_bound or cost.is_memory_lower_bound),
            weighed if is_computing else 0,
            0 if is_computing else size_bytes,
        )

    def _measure_flow(
        self, instruction: Instruction, inside: Mapping[Computation, OverlapWork]
    ) -> OverlapWork:
        """Measure a loop with all its rounds, or what else runs computations."""
        if instruction.opcode == "conditional":
            branches = [inside.get(one, NO_WORK) for one in list_branches(instruction)]
            # The least time, so that no more seems hidden than is; of those alike the best known.
            least = min(
                branches,
                key=lambda one: (one.spare_seconds(self._chip), one.unknown_count),
                default=NO_WORK,
            )
            return replace(least, instruction_count=1)
        called = [inside.get(one, NO_WORK) for one in instruction.called_computations()]
        rounds = self._trips.get(instruction, 1)
        once = reduce(OverlapWork.plus, called, NO_WORK)
        work = NO_WORK.plus(once, 1 if rounds is None else rounds)
        unknown_count = work.unknown_count + (rounds is None)
        return replace(work, instruction_count=1, unknown_count=unknown_count)

    def _starts_work(self, callee: Computation | None) -> bool:
        """Whether an async-start computes something, and does not only copy or communicate."""
        if callee is None:
            return False
        if callee not in self._started:
            self._started[callee] = any(
                one.opcode not in _ONLY_MOVES and self.is_work(one) for one in callee.instructions
            )
        return self._started[callee]


def _compute_bytes(step: FusedCollective, costs: CostModel) -> int:
    """Return what the compute of a fusion moves in memory, beside the collective it carries."""
    traffic = costs.fusion_traffic(step.fusion)
    body = step.operation.computation
    if traffic is None or step.fusion.callee() is not body:
        return costs.of(step.fusion).memory_bytes
    carried = {step.operation, body.root}
    reads = sum(
        size
        for parameter, size in traffic.operands
        if any(user not in carried for user in parameter.users)
        and _is_in_memory(step.fusion.operands[parameter.parameter_number].shape)
    )
    shape = step.fusion.shape
    shapes = shape.elements if isinstance(shape, TupleShape) else (shape,)
    writes = sum(
        size
        for place, (made, size) in enumerate(traffic.results)
        if made is not step.operation
        and made.opcode not in PASSES_ON
        and (len(shapes) != len(traffic.results) or _is_in_memory(shapes[place]))
    )
    return reads + sum(size for _, size in traffic.constants) + writes


def _is_in_memory(shape: Shape) -> bool:
    """Whether an array lies in the main memory, and in no space of the chip's own."""
    return any(leaf.memory_space == MAIN_SPACE for leaf in shape.leaves())
