"""The modelled clock of one step: how long each instruction keeps what is behind it waiting.

Seconds, of one execution, on the chip and links of `Pricing`; without a chip only their ratios mean
anything. Work takes the longer of its arithmetic and its bytes. Copies and transfers under way
share the memory with the work (`MemoryLane`): it moves for them while work computes, or waits for a
link, and the one that started first goes first, as transfers share a link in
`collectives.overlap`. Launches and caches take no time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.chips import list_unstated, weigh_cost
from hlotool.analysis.cost.cost import Cost
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.backend import is_with_host
from hlotool.analysis.graph.calls import list_branches
from hlotool.hlo import Computation, Instruction, Module, opcodes
from hlotool.hlo.module import list_later_steps

StepKind: TypeAlias = Literal[
    "loop", "conditional", "branch", "condition", "call", "repeat", "collective", "wait", "compute",
    "memory",
]  # fmt: skip
_RUNS_OTHERS: Final[Mapping[str, StepKind]] = {
    "while": "loop",
    "conditional": "conditional",
    "call": "call",
    "async-start": "call",
}
_PASSING: Final = (
    opcodes.PASSES_ON | opcodes.FREE | opcodes.DEVICE_NUMBERS | opcodes.LATER_STEPS | {"constant"}
) - opcodes.CONTROL_FLOW
_MOVING: Final = opcodes.SLICES | opcodes.COLLECTIVES | {"parameter", "copy"}


class OutlineEvidence(Struct, frozen=True, dict=True):
    """The analyses of one module that an outline is made from.

    `measured` has the seconds per step of instructions by name, those that a profile has times of.
    """

    module: Module
    costs: CostModel
    collectives: Sequence[CollectiveRow]
    pricing: Pricing
    measured: Mapping[str, float | None] = {}

    @cached_property
    def clock(self) -> Clock:
        """How long each instruction and each computation takes."""
        return Clock(self)

    @cached_property
    def begins(self) -> Mapping[str, CollectiveRow]:
        """The collectives by the instruction with which each begins."""
        return {row.name: row for row in self.collectives}

    @cached_property
    def ends(self) -> Mapping[str, CollectiveRow]:
        """The asynchronous collectives by the instruction with which each ends."""
        return {row.members[-1]: row for row in self.collectives if len(row.members) > 1}

    @cached_property
    def waited(self) -> frozenset[str]:
        """The collectives whose end is an instruction that waits for it, where they begin.

        Others end in a fusion that carries them on, or in another computation.
        """
        asked = {*self.ends, *(row.name for row in self.ends.values())}
        named = {one.full_name: one for one in self.module.instructions() if one.full_name in asked}
        return frozenset(
            row.name
            for name, row in self.ends.items()
            if named[name].opcode in opcodes.ASYNC_DONES
            if named[name].computation is named[row.name].computation
        )


def find_kind(instruction: Instruction, evidence: OutlineEvidence) -> StepKind | None:
    """Return what an instruction is; None for names, views, and copies that run beside the work.

    Work without arithmetic is `memory`.
    """
    name, opcode = instruction.full_name, instruction.opcode
    if name in evidence.begins:
        return "collective"
    if name in evidence.ends and opcode in opcodes.ASYNC_DONES:
        return "wait"
    if opcode in _RUNS_OTHERS:
        called = instruction.called_computations()
        is_run = any(one in evidence.costs.executions.counts for one in called)
        # What is started and only copies, or communicates, is a lane beside the work.
        is_move = opcode == "async-start" and all(
            one.opcode in _MOVING for each in called for one in each.instructions
        )
        return _RUNS_OTHERS[opcode] if is_run and not is_move else None
    if opcode in _PASSING or opcode in opcodes.ASYNC_DONES:
        return None
    cost = evidence.costs.of(instruction)
    is_unknown = cost.unknown_custom_call_count > 0
    return "compute" if cost.total_flops or cost.transcendentals or is_unknown else "memory"


class Duration(Struct, frozen=True):
    """Seconds by what they go to: what arithmetic limits, what memory limits, waiting for links.

    `moving` are the seconds in which memory moves bytes, here or beside what comes later: never
    more than `total` of a whole computation. `is_known` is false where a part is unknown to
    anybody, and left out.
    """

    compute: float = 0.0
    memory: float = 0.0
    exposed: float = 0.0
    is_known: bool = True
    moving: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.compute + self.memory + self.exposed

    @property
    def work(self) -> float:
        """All but waiting for links."""
        return self.compute + self.memory

    @property
    def idle(self) -> float:
        """The time in which memory moves nothing, and is free for what runs beside."""
        return max(self.total - self.moving, 0.0)

    def plus(self, other: Duration, times: int = 1) -> Duration:
        """Add another, so many times."""
        return Duration(
            self.compute + times * other.compute,
            self.memory + times * other.memory,
            self.exposed + times * other.exposed,
            self.is_known and other.is_known,
            self.moving + times * other.moving,
        )


NO_TIME: Final = Duration()


class MemoryLane:
    """What is under way in one execution of a computation, by the instruction that waits for it."""

    def __init__(self) -> None:
        self._left: OrderedDict[Instruction, float] = OrderedDict()  # what has something left
        self._begun: set[Instruction] = set()

    def begin(self, done: Instruction, seconds: float) -> None:
        """Let what takes memory so long begin; `done` waits for it."""
        self._begun.add(done)
        self._left[done] = self._left.get(done, 0.0) + seconds

    def has(self, done: Instruction) -> bool:
        """Whether what an instruction waits for began here."""
        return done in self._begun

    def give(self, seconds: float) -> None:
        """Let memory that has nothing else to do move what is under way."""
        while self._left and seconds > 0:
            done = next(iter(self._left))
            left = self._left[done] - seconds
            seconds = -left
            if left > 0:
                self._left[done] = left
            else:
                del self._left[done]

    def end(self, done: Instruction) -> float:
        """Return how long it takes to move what is left, and forget it."""
        self._begun.discard(done)
        return self._left.pop(done, 0.0)


_HOST_SPACE: Final = 5  # pinned memory of the host, on GPU and TPU
_BESIDE: Final = opcodes.ASYNC_STARTS | opcodes.ASYNC_DONES | {"send", "recv"}


class Clock:
    """Adds up what runs, callees first; times are of one execution, loops with all their rounds.

    Work takes the longer of its flops and its bytes at the chip's peaks; if it `is_padded`, tiles
    cross memory with their padding. An asynchronous copy, or
    slice, takes its bytes at the memory's speed: it moves them in the time in which the work
    before its done leaves memory idle, and its done waits for what is left. So do the bytes that
    a collective moves in memory; besides, it stops the work for what is exposed of its transfer.
    What ends in another computation is waited for where it begins. So no run is shorter than all
    its traffic takes memory.

    Example: a copy starts that takes memory 5 s. Work that computes 4 s and moves 1 s of bytes
    leaves memory idle for 3 s, in which 3 of the 5 are moved; the copy's done waits for 2 s.

    Of a conditional the longest branch counts, an unknown trip count as one round, a condition as
    often as its body. The speed of the link to the host is unknown: what goes over it takes as
    long as memory does, and makes the time a lower bound. Names, views and constants take no time.
    """

    def __init__(self, evidence: OutlineEvidence, *, is_padded: bool = False) -> None:
        self.evidence = evidence
        self._is_padded = is_padded
        self._steps: dict[Instruction, Duration] = {}
        self._runs: dict[Computation, Duration] = {}
        # What is called comes first, so that its time is known to its callers.
        for computation in reversed(evidence.costs.executions.executed):
            lane = MemoryLane()
            total = NO_TIME
            for one in computation.instructions:
                if (taken := self._measure(one, lane)) is not NO_TIME:
                    self._steps[one] = taken
                    total = total.plus(taken)
            self._runs[computation] = total

    def of(self, instruction: Instruction) -> Duration:
        """Return how long one execution of an instruction keeps what is behind it waiting."""
        return self._steps.get(instruction, NO_TIME)

    def of_run(self, computation: Computation) -> Duration:
        """Return how long one execution of a computation takes."""
        return self._runs.get(computation, NO_TIME)

    def _measure(self, one: Instruction, lane: MemoryLane) -> Duration:
        """Measure an instruction, and let what is under way go on meanwhile."""
        if (kind := find_kind(one, self.evidence)) in {"collective", "wait"}:
            return self._move(one, lane, self._measure_exposed(one, is_end=kind == "wait"))
        if kind is None:
            return self._move(one, lane, NO_TIME) if one.opcode in _BESIDE else NO_TIME
        if kind == "conditional":
            branches = list(map(self.of_run, list_branches(one)))
            taken = max(branches, key=lambda each: each.total, default=NO_TIME)
            # Memory may be as busy as in any of them.
            taken = replace(taken, moving=max((each.moving for each in branches), default=0.0))
        elif kind in {"loop", "call"}:
            rounds = self.evidence.costs.trips.get(one, 1)
            taken = Duration(is_known=rounds is not None)
            for called in one.called_computations():
                taken = taken.plus(self.of_run(called), 1 if rounds is None else rounds)
        else:
            taken = self._work(self.evidence.costs.of(one))
        lane.give(taken.idle)
        return taken

    def _work(self, cost: Cost) -> Duration:
        """Let work take the longer of its flops and its bytes."""
        chip = self.evidence.pricing.chip
        compute = weigh_cost(cost, chip) / chip.flops_per_second
        moved = cost.padded_bytes if self._is_padded else cost.traffic_bytes
        memory = moved / chip.hbm_bytes_per_second
        is_known = not (cost.is_total_lower_bound or cost.is_traffic_lower_bound)
        if compute > memory:
            return Duration(compute=compute, is_known=is_known, moving=memory)
        return Duration(memory=memory, is_known=is_known, moving=memory)

    def _move(self, one: Instruction, lane: MemoryLane, exposed: Duration) -> Duration:
        """Begin what runs beside the work, or wait for it; `exposed` is the wait for a link.

        A fusion that carries a collective on may compute for longer than it moves bytes: then it
        is work.
        """
        costs = self.evidence.costs
        own = self._work(costs.of(one))
        is_known = own.is_known and exposed.is_known and not _is_over_host_link(one)
        if own.compute and one.opcode == "fusion":
            lane.give(own.idle)
            return exposed.plus(replace(own, is_known=is_known))
        if (done := _find_done(one)) is not None:
            rest = self._work(costs.of(done))
            lane.begin(done, own.memory + rest.memory)
            return replace(exposed, is_known=is_known, moving=own.moving + rest.moving)
        is_begun = one.opcode in opcodes.ASYNC_DONES and lane.has(one)
        left = lane.end(one) if is_begun else own.memory
        # While the work waits for the link, memory moves what is left.
        waited = max(left - exposed.exposed, 0.0)
        lane.give(exposed.exposed - left)
        return Duration(
            memory=waited,
            exposed=exposed.exposed,
            is_known=is_known,
            moving=0.0 if is_begun else own.moving,
        )

    def _measure_exposed(self, one: Instruction, *, is_end: bool) -> Duration:
        """Return how long a collective stops the work for its link, where it ends."""
        evidence = self.evidence
        row = (evidence.ends if is_end else evidence.begins)[one.full_name]
        if not is_end and row.name in evidence.waited:
            return NO_TIME
        seconds = evidence.pricing.links.estimate(
            row.sent_bytes, row.interconnect, row.span, row.group_size
        )
        if seconds is None or row.exposed_share is None:
            return Duration(is_known=False)
        return Duration(exposed=float(seconds) * row.exposed_share)


def _find_done(start: Instruction) -> Instruction | None:
    """Return what waits for an asynchronous step in its computation; None where nothing does."""
    if start.opcode == "async-start":
        *_, last = (start, *list_later_steps(start))
        return last if last.opcode in opcodes.ASYNC_DONES else None
    if start.opcode not in _BESIDE - opcodes.ASYNC_DONES:
        return None
    return next((user for user in start.users if user.opcode in opcodes.ASYNC_DONES), None)


def _is_over_host_link(one: Instruction) -> bool:
    """Whether a step of a copy or transfer goes between the device and its host."""
    if one.opcode in {"send", "recv"} and is_with_host(one):
        return True
    shapes = (one.shape, *(operand.shape for operand in one.operands))
    return any(leaf.memory_space == _HOST_SPACE for each in shapes for leaf in each.leaves())


class StepTime(Struct, frozen=True, dict=True):
    """The estimated time of one step on a chip, which is the user's where `is_timed`.

    Of a reference chip only ratios of times are to be shown. `assumed_bf16` are the types of
    products for which nobody states a peak of the chip, `links` the links whose speed the user
    states. `is_upper_bound`: what may not happen is counted. `clock` has the time of each
    instruction.
    """

    chip: str
    is_timed: bool
    duration: Duration
    is_upper_bound: bool = False
    assumed_bf16: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    clock: Clock | None = None

    @cached_property
    def padded(self) -> Duration:
        """The same, if tiles cross memory with their padding."""
        told = self.clock and self.clock.evidence
        return Clock(told, is_padded=True).of_run(told.module.entry) if told else self.duration


def estimate_step_time(evidence: OutlineEvidence) -> StepTime | None:
    """Return what the clock of an outline shows when the entry has run.

    Products are priced by the type they compute in, other arithmetic at the bfloat16 peak. Nothing
    is said of launches and caches. None where no chip stands for the backend, and where the text is
    no schedule, as it is not what runs.
    """
    pricing, entry = evidence.pricing, evidence.module.entry
    if not evidence.module.header.is_scheduled or not pricing.is_rated:
        return None
    links = (pricing.links.inside, pricing.links.between)
    return StepTime(
        pricing.chip.name,
        pricing.is_timed,
        evidence.clock.of_run(entry),
        evidence.costs.of_computation(entry).is_upper_bound
        or any(row.is_upper_bound or row.is_conditional for row in evidence.collectives),
        list_unstated(evidence.costs.of_computation(entry).products, pricing.chip),
        tuple(str(link) for link in links if link is not None and link.is_as_given),
        evidence.clock,
    )
