"""What work hides of each collective: a part of its time, in schedule order.

Transfers on one interconnect share its links, so that each second of work hides at most one of
them: the one that started first, until all of it is hidden, then the next. An instruction takes the
longer of its flops and its bytes at the peaks of a chip (`WorkMeter`). All is estimated, in exact
seconds; what nobody knows is None.

    all-gather-start.1 needs 5 s       3 s of work hide .1
    all-reduce-start.2 needs 4 s       3 s of work hide .1 for 2 s, then .2 for 1 s
    all-gather-done.1                  1 s of work hides .2
    all-reduce-done.2                  0 of .1 is exposed, 1/2 of .2
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from hlotool.analysis.collectives.logical import FusedCollective, LogicalCollective
from hlotool.analysis.collectives.machine import Pricing
from hlotool.analysis.collectives.mesh import Extent, Interconnect
from hlotool.analysis.collectives.transfers import Transfer
from hlotool.analysis.cost.arithmetic import WORKING, count_work
from hlotool.analysis.cost.chips import Chip, weigh_cost
from hlotool.analysis.cost.cost import Cost
from hlotool.analysis.cost.custom_calls import NO_WORK_TARGETS
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.cost.traffic import MAIN_SPACE
from hlotool.analysis.graph.calls import list_branches
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import Computation, Instruction, Shape, TupleShape, opcodes
from hlotool.hlo.module import list_later_steps

N = TypeVar("N", int, float)
# A figure of one step, None if it is unknown; and what is known of it, the unknown counted once.
PerStep: TypeAlias = tuple[N | None, N]


class OverlapWork(Struct, frozen=True):
    """Instructions that work: how many, their flops and bytes, of how many a part is unknown.

    `limiting_flops` adds up the flops of those that the arithmetic of the meter's chip limits,
    weighed (`weigh_cost`), `limiting_bytes` the bytes of those that its memory limits.
    `taken_seconds` are those in which the work hides transfers inside, such as those of a loop's
    body: they hide no other.
    """

    instruction_count: int = 0
    flops: int = 0
    traffic_bytes: int = 0
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


class Exposure(Struct, frozen=True):
    """What of one collective is exposed: a part of it, of its bytes, and of its time.

    `work` stands between start and done, None where there is no such place, or where it is not
    known. The times are all unknown without a machine.
    """

    work: OverlapWork | None
    share: Fraction | None
    sent: PerStep[int]
    transfer: PerStep[float]
    overlapped: PerStep[float]
    exposed: PerStep[float]


def measure_exposures(
    placed: Sequence[tuple[Transfer, Extent]], pricing: Pricing, costs: CostModel
) -> list[Exposure]:
    """Measure the work that hides each transfer, in schedule order, and what it does not hide.

    Work must take as long as the transfer on its link to hide it: by the chip of the user, else
    by the reference chip, but for links whose speed the user states. What sends nothing needs
    none. Only what stands behind the step that takes the last operand is beside a transfer:
    before, it cannot have begun, and what makes the operand cannot hide it.

    None hides a synchronous one, nor a pair that GPU marks `is_sync`. Unknown where the order of
    the text is no schedule, or where the end stands in another computation; such a transfer takes
    no work from others.
    """
    collectives = [one.collective for one, _ in placed]
    carriers = {one.begin for one in collectives}
    carriers.update(one.done for one in collectives if one.done is not None)
    meter = WorkMeter(costs, carriers, pricing.chip)
    windows: list[Window | None] = []
    beside: defaultdict[Interconnect | None, list[Window]] = defaultdict(list)
    for one, extent in placed:
        way = one.interconnect, extent.span
        sent = one.sent.once
        need = (
            Fraction() if sent == 0 else pricing.links.estimate(sent, *way, one.groups.group_size)
        )
        window = _find_window(one.collective, need)
        windows.append(window)
        if window is not None:
            beside[pricing.links.name_interconnect(*way)].append(window)
    works: dict[Window, OverlapWork] = {}
    for sharing in beside.values():
        walk = HidingWalk(sharing, costs.executions, meter)
        works |= {window: walk.sum_work(window) for window in sharing}
    found: list[Exposure] = []
    for (one, extent), window in zip(placed, windows, strict=True):
        work = works[window] if window else None
        share = _find_exposed_share(one.collective, window, work)
        seconds = pricing.shown.estimate(
            one.sent.once, one.interconnect, extent.span, one.groups.group_size
        )
        found.append(_expose(one, work, share, seconds))
    return found


def _find_window(one: LogicalCollective, need_seconds: Fraction | None) -> Window | None:
    """Return where work stands beside a collective, None where it does nowhere or nobody knows."""
    is_sync = is_marked_sync(one)
    if one.is_async and one.is_fused:
        return Window(None, one.steps, need_seconds, is_sync)
    is_scheduled = one.begin.computation.module.header.is_scheduled
    if not one.is_async or not is_scheduled or one.done is None:
        return None
    if one.done.computation is not one.begin.computation:
        return None
    # TPU hands collectives to its SparseCores by `async-start()`; an `async-update` has the
    # operands. The transfer can begin at the last step that takes one.
    opening = one.begin
    if opening.opcode == "async-start":
        taking = [step for step in list_later_steps(opening) if len(step.operands) > 1]
        opening = taking[-1] if taking else opening
    return Window((opening, one.done), (), need_seconds, is_sync)


def is_marked_sync(collective: LogicalCollective) -> bool:
    """Whether GPU runs a start and its done back to back (`collective_backend_config`)."""
    path = "collective_backend_config", "is_sync"
    return any(one.find_config(*path) is True for one in (collective.begin, collective.operation))


def _find_exposed_share(
    one: LogicalCollective, window: Window | None, work: OverlapWork | None
) -> Fraction | None:
    """Return the part of a transfer that work does not hide, between 0 and 1.

    None where the work or the need is unknown, unless there is none, or what is known is enough.
    """
    if window is None or work is None:
        is_scheduled = one.begin.computation.module.header.is_scheduled
        is_known = is_marked_sync(one) or (is_scheduled and not one.is_async)
        return Fraction(1) if is_known else None
    if window.is_sync or not work.instruction_count:
        return Fraction(1)
    if window.need_seconds is None:
        return None
    if window.is_hidden:
        return Fraction()
    return 1 - window.hidden_seconds / window.need_seconds if window.is_sure else None


def _expose(
    transfer: Transfer, work: OverlapWork | None, share: Fraction | None, seconds: Fraction | None
) -> Exposure:
    """Return the exposed part of the bytes, rounded up, and of the time; `seconds` is of one."""
    sent: PerStep[int] = (None, 0)
    if share is not None:
        known = ceil(transfer.sent.known_per_step * share)
        sent = (None if transfer.sent.per_step is None and share else known, known)
    if seconds is None:
        times: tuple[Fraction | None, ...] = (None, None, None)
    elif share is None:
        times = (seconds, None, None if seconds else Fraction())
    else:
        times = (seconds, seconds - seconds * share, seconds * share)
    return Exposure(work, share, sent, *(_multiply(one, transfer.collective) for one in times))


def _multiply(once: Fraction | None, one: LogicalCollective) -> PerStep[float]:
    """Multiply the time of one execution; nothing stays nothing, however often it runs."""
    if once is None:
        return None, 0.0
    known = float(once) * one.runs.known
    return (known if one.runs.is_exact or not once else None), known


class Window(Struct, eq=False):
    """Where work stands beside a transfer, and how much of it hides the transfer.

    It stands between the two instructions of `ends`, or in the steps of a chain. All of the
    transfer is hidden by `need_seconds` of work, None where nobody knows; by none where it
    `is_sync`. `is_sure` tells whether `hidden_seconds` are all that hide it, and not the least;
    either way it is hidden where they reach the need.
    """

    ends: tuple[Instruction, Instruction] | None
    steps: tuple[FusedCollective, ...]
    need_seconds: Fraction | None
    is_sync: bool
    hidden_seconds: Fraction | int = 0
    is_sure: bool = True
    is_closed: bool = False

    @property
    def is_hidden(self) -> bool:
        """Whether work hides all of it."""
        return self.need_seconds is not None and self.hidden_seconds >= self.need_seconds

    def take(self, seconds: Fraction) -> Fraction:
        """Take what is needed of some seconds of work, and return how much that is."""
        part = seconds
        if self.need_seconds is not None:
            part = min(seconds, self.need_seconds - self.hidden_seconds)
        self.hidden_seconds += part
        return part


class OpenTransfers:
    """The transfers of one interconnect that are under way and not hidden yet, in order of start.

    Where the time of work, or what a transfer needs, is unknown, the transfers behind may be
    hidden by more than they are given: they are no longer sure. As transfers join at the end,
    those that are not sure stand in front.
    """

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._open: dict[Window, None] = {}

    def open(self, window: Window) -> None:
        """Let a transfer begin, unless nothing is left to hide; one that has ended is unsure."""
        if window.is_closed:
            window.is_sure = False
        elif not window.is_hidden:
            self._open[window] = None

    def close(self, window: Window) -> None:
        """Let a transfer end."""
        window.is_closed = True
        self._open.pop(window, None)

    def give(self, work: OverlapWork, carried: Sequence[Window] = ()) -> OverlapWork:
        """Let work hide what it carries itself, then the others; return it with what is taken."""
        if not (carried or self._open):
            return work
        left = spare = work.spare_seconds(self._chip)
        for window in carried:
            left -= self._hide(window, left)
        while left and self._open:
            window = next(iter(self._open))
            left -= self._hide(window, left)
            if window.is_hidden:
                del self._open[window]
        if work.unknown_count:
            for window in carried:
                window.is_sure = False
            self._doubt()
        return replace(work, taken_seconds=work.taken_seconds + spare - left)

    def _hide(self, window: Window, seconds: Fraction) -> Fraction:
        taken = window.take(seconds)
        if taken and (not window.is_sure or window.need_seconds is None):
            self._doubt()
        return taken

    def _doubt(self) -> None:
        """Take none of those that are open for sure any longer."""
        for window in reversed(self._open):
            if not window.is_sure:
                break
            window.is_sure = False


class HidingWalk:
    """Walks the computations with windows, callees first, and gives their work to the transfers.

    The compute inside a step hides the transfer that the step carries on, then others. What
    stands in a computation that is called, or in the body of a loop, hides the transfers there;
    what is left hides those beside the call, for a loop that of all rounds. What stands beside
    no transfer is not measured: nobody asks for it.
    """

    def __init__(self, windows: Sequence[Window], executions: Executions, meter: WorkMeter) -> None:
        self._meter = meter
        self._opened: defaultdict[Instruction, list[Window]] = defaultdict(list)
        self._closed: defaultdict[Instruction, list[Window]] = defaultdict(list)
        self._depths: Counter[Instruction] = Counter()
        self._steps: dict[Instruction, FusedCollective] = {}
        self._carried: defaultdict[Instruction, list[Window]] = defaultdict(list)
        self._inside: dict[Computation, OverlapWork] = {}
        self._sums: dict[Instruction, OverlapWork] = {}
        for window in windows:
            self._note(window)
        beside = self._find_beside(executions)
        for computation in reversed(executions.executed):
            if computation in beside:
                self._inside[computation] = self._walk(beside[computation])

    def sum_work(self, window: Window) -> OverlapWork:
        """Return the work in a window."""
        if window.ends is None:
            return reduce(OverlapWork.plus, map(self._meter.measure_step, window.steps), NO_WORK)
        opening, done = window.ends
        return self._sums[done].plus(self._sums[opening], -1)

    def _note(self, window: Window) -> None:
        """Note where a transfer opens and closes, and which steps carry it on."""
        hidden = [] if window.is_sync else [window]
        if window.ends is not None:
            opening, done = window.ends
            self._opened[opening] += hidden
            self._closed[done] += hidden
            self._depths[opening] += 1
            self._depths[done] -= 1
        for step in window.steps:
            self._steps.setdefault(step.fusion, step)
            self._carried[step.fusion] += hidden

    def _find_beside(self, executions: Executions) -> Mapping[Computation, list[Instruction]]:
        """List what stands beside transfers, and all of what that calls, callers first."""
        noted = {one.computation for one in (*self._depths, *self._steps)}
        whole: set[Computation] = set()
        beside: dict[Computation, list[Instruction]] = {}
        for computation in executions.executed:
            is_whole = computation in whole
            if is_whole or computation in noted:
                beside[computation] = list(self._list_beside(computation, is_whole=is_whole))
                flow = (one for one in beside[computation] if one.opcode in FLOW)
                whole.update(callee for one in flow for callee in one.called_computations())
        return beside

    def _list_beside(self, computation: Computation, *, is_whole: bool) -> Iterator[Instruction]:
        depth = 0
        for instruction in computation.instructions:
            if instruction in self._depths:
                depth += self._depths[instruction]
                yield instruction
            elif instruction in self._steps or (
                (is_whole or depth > 0) and self._meter.is_work(instruction)
            ):
                yield instruction

    def _walk(self, instructions: Iterable[Instruction]) -> OverlapWork:
        """Give the work of a computation to what is open, and return it all, with what is taken.

        Between an opening or a done and the next, the work is added up before it is given.
        """
        transfers = OpenTransfers(self._meter.chip)
        total = stretch = NO_WORK
        for one in instructions:
            if one not in self._depths and one not in self._steps:
                stretch = stretch.plus(self._meter.measure(one, self._inside))
                continue
            total, stretch = total.plus(transfers.give(stretch)), NO_WORK
            if one in self._depths:
                self._sums[one] = total
                for window in self._closed[one]:
                    transfers.close(window)
                for window in self._opened[one]:
                    transfers.open(window)
            else:
                step = self._meter.measure_step(self._steps[one])
                total = total.plus(transfers.give(step, self._carried[one]))
        return total.plus(transfers.give(stretch))


_RUNS_OTHERS: Final = opcodes.CONTROL_FLOW - opcodes.LATER_STEPS
# These run computations in their place.
FLOW: Final = frozenset(("call", "conditional", "while"))
# Nothing is computed by these: they name, pass on, wait, or move between memory spaces.
_IDLE: Final = (
    (opcodes.PASSES_ON - _RUNS_OTHERS)
    | opcodes.COLLECTIVES
    | opcodes.ASYNC_DONES
    | opcodes.DEVICE_NUMBERS
    | {"constant"}
)
# What an async-start may wrap without computing anything.
_ONLY_MOVES: Final = opcodes.SLICES | {"async-start", "copy"}


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

    def __init__(self, costs: CostModel, carriers: Collection[Instruction], chip: Chip) -> None:
        self._costs = costs
        self._carriers = carriers
        self.chip = chip
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
        return self._make(cost, 0, cost.traffic_bytes)

    def measure_step(self, step: FusedCollective) -> OverlapWork:
        """Measure the compute in a fusion that carries a collective on."""
        if not any(map(self.is_work, step.operation.computation.instructions)):
            return NO_WORK
        cost = self._costs.of(step.fusion)
        # What the cost model counts for the collective itself is no compute.
        operation = step.operation
        own = count_work(operation).flops if operation.opcode in WORKING else 0
        return self._make(cost, own, _compute_bytes(step, self._costs))

    def _make(self, cost: Cost, without_flops: int, size_bytes: int) -> OverlapWork:
        chip = self.chip
        weighed = weigh_cost(cost, chip, without_flops)
        is_computing = weighed * chip.hbm_bytes_per_second > size_bytes * chip.flops_per_second
        return OverlapWork(
            1,
            cost.total_flops - without_flops,
            size_bytes,
            int(cost.is_total_lower_bound or cost.is_traffic_lower_bound),
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
                key=lambda one: (one.spare_seconds(self.chip), one.unknown_count),
                default=NO_WORK,
            )
            return replace(least, instruction_count=1)
        called = [inside.get(one, NO_WORK) for one in instruction.called_computations()]
        rounds = self._costs.trips.get(instruction, 1)
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
        return costs.of(step.fusion).traffic_bytes
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
        and made.opcode not in opcodes.PASSES_ON
        and (len(shapes) != len(traffic.results) or _is_in_memory(shapes[place]))
    )
    return reads + sum(size for _, size in traffic.constants) + writes


def _is_in_memory(shape: Shape) -> bool:
    """Whether an array lies in the main memory, and in no space of the chip's own."""
    return any(leaf.memory_space == MAIN_SPACE for leaf in shape.leaves())
