"""Which of the transfers under way does a stretch of work hide?

Transfers on one network share its links, so that each second of work hides at most one of them:
the one that started first, until all of it is hidden, then the next.

Which work hides the transfers of one network, in schedule order?

What is computed while the collectives of a module are under way, and what of it hides which?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.logical import FusedCollective, LogicalCollective
from hlotool.analysis.collectives.overlap_work import FLOW, NO_WORK, OverlapWork, WorkMeter
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.module import list_later_steps


class Claim:
    """A transfer under way: how many seconds of work hide all of it, and how many do hide it.

    `need_seconds` is None where nobody knows. `is_sure` tells whether `hidden_seconds` are all
    that hide it, and not the least; either way it is hidden where they reach the need.
    """

    def __init__(self, need_seconds: Fraction | None) -> None:
        self.need_seconds = need_seconds
        self.hidden_seconds = Fraction()
        self.is_sure = True
        self.is_closed = False

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
    """The transfers of one network that are under way and not hidden yet, in order of start.

    Where the time of work, or what a transfer needs, is unknown, the transfers behind may be
    hidden by more than they are given: they are no longer sure. As transfers join at the end,
    those that are not sure stand in front.
    """

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._open: dict[Claim, None] = {}

    def open(self, claim: Claim) -> None:
        """Let a transfer begin, unless nothing is left to hide; one that has ended is unsure."""
        if claim.is_closed:
            claim.is_sure = False
        elif not claim.is_hidden:
            self._open[claim] = None

    def close(self, claim: Claim) -> None:
        """Let a transfer end."""
        claim.is_closed = True
        self._open.pop(claim, None)

    def give(self, work: OverlapWork, carried: Iterable[Claim] = ()) -> Fraction:
        """Let work hide what it carries itself, then the others, and return the seconds taken."""
        carried = tuple(carried)
        if not (carried or self._open):
            return Fraction()
        left = spare = work.spare_seconds(self._chip)
        for claim in carried:
            left -= self._hide(claim, left)
        while left and self._open:
            claim = next(iter(self._open))
            left -= self._hide(claim, left)
            if claim.is_hidden:
                del self._open[claim]
        if work.unknown_count:
            for claim in carried:
                claim.is_sure = False
            self._doubt()
        return spare - left

    def _hide(self, claim: Claim, seconds: Fraction) -> Fraction:
        taken = claim.take(seconds)
        if taken and (not claim.is_sure or claim.need_seconds is None):
            self._doubt()
        return taken

    def _doubt(self) -> None:
        """Take none of those that are open for sure any longer."""
        for claim in reversed(self._open):
            if not claim.is_sure:
                break
            claim.is_sure = False


class Window(Struct, frozen=True, eq=False):
    """Where work stands beside a transfer: between two instructions, or in the steps of a chain.

    `claim` takes what hides it, None where nothing does.
    """

    ends: tuple[Instruction, Instruction] | None
    steps: tuple[FusedCollective, ...]
    claim: Claim | None


class HidingWalk:
    """Walks the computations with windows, callees first, and gives their work to the claims.

    The compute inside a step hides the transfer that the step carries on, then others. What
    stands in a computation that is called, or in the body of a loop, hides the transfers there;
    what is left hides those beside the call, for a loop that of all rounds. What stands beside
    no transfer is not measured: nobody asks for it.
    """

    def __init__(
        self, windows: Sequence[Window], executions: Executions, meter: WorkMeter, chip: Chip
    ) -> None:
        self._meter = meter
        self._chip = chip
        self._opened: dict[Instruction, list[Claim]] = {}
        self._closed: dict[Instruction, list[Claim]] = {}
        self._depths: Counter[Instruction] = Counter()
        self._steps: dict[Instruction, FusedCollective] = {}
        self._carried: dict[Instruction, list[Claim]] = {}
        self._inside: dict[Computation, OverlapWork] = {}
        self._sums: dict[Instruction, OverlapWork] = {}
        for window in windows:
            self._note(window)
        beside = self._find_beside(executions)
        for computation in reversed(executions.executed):
            if computation in beside:
                self._inside[computation] = self._walk(beside[computation])

    def find_work(self, window: Window) -> OverlapWork:
        """Return the work in a window."""
        if window.ends is None:
            return reduce(OverlapWork.plus, map(self._meter.measure_step, window.steps), NO_WORK)
        opening, done = window.ends
        return self._sums[done].without(self._sums[opening])

    def _note(self, window: Window) -> None:
        """Note where a claim opens and closes, and which steps carry it on."""
        claims = [] if window.claim is None else [window.claim]
        if window.ends is not None:
            opening, done = window.ends
            self._opened.setdefault(opening, []).extend(claims)
            self._closed.setdefault(done, []).extend(claims)
            self._depths[opening] += 1
            self._depths[done] -= 1
        for step in window.steps:
            self._steps.setdefault(step.fusion, step)
            self._carried.setdefault(step.fusion, []).extend(claims)

    def _find_beside(self, executions: Executions) -> Mapping[Computation, list[Instruction]]:
        """List what stands beside transfers, and all of what that calls, callers first."""
        noted = {one.computation for one in (*self._depths, *self._steps)}
        whole: set[Computation] = set()
        beside: dict[Computation, list[Instruction]] = {}
        for computation in executions.executed:
            if computation not in noted and computation not in whole:
                continue
            found = list(self._list_beside(computation, is_whole=computation in whole))
            beside[computation] = found
            for one in found:
                if one.opcode in FLOW:
                    whole.update(one.called_computations())
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
        transfers = OpenTransfers(self._chip)
        total = stretch = NO_WORK
        for one in instructions:
            if one in self._depths:
                total = total.plus(_give(transfers, stretch))
                stretch = NO_WORK
                self._sums[one] = total
                for claim in self._closed.get(one, ()):
                    transfers.close(claim)
                for claim in self._opened.get(one, ()):
                    transfers.open(claim)
            elif one in self._steps:
                total = total.plus(_give(transfers, stretch))
                stretch = NO_WORK
                work = self._meter.measure_step(self._steps[one])
                total = total.plus(_give(transfers, work, self._carried[one]))
            else:
                stretch = stretch.plus(self._meter.measure(one, self._inside))
        return total.plus(_give(transfers, stretch))


def _give(
    transfers: OpenTransfers, work: OverlapWork, carried: Sequence[Claim] = ()
) -> OverlapWork:
    """Give work to what is open, and return it with the seconds that are taken."""
    taken = transfers.give(work, carried)
    return replace(work, taken_seconds=work.taken_seconds + taken)


class Hiding(Struct, frozen=True):
    """What hides one execution of a collective.

    `hidden_seconds` of the `need_seconds` that it takes are hidden, at least that where not
    `is_sure`; None where nobody knows. `has_work` says whether anything is computed beside it.
    """

    need_seconds: Fraction | None
    hidden_seconds: Fraction
    is_sure: bool
    has_work: bool


class Overlap(Struct, frozen=True):
    """Work between the start and the done of a collective, and what of it hides it.

    `work` is None where there is no such place, or where it is not known; `hiding` is None
    only where it is not known.
    """

    work: OverlapWork | None
    hiding: Hiding | None


class Asked(Struct, frozen=True):
    """A collective, how long work must take to hide it, and what shares its links."""

    collective: LogicalCollective
    need_seconds: Fraction | None
    network: Hashable


def measure_overlaps(
    asked: Sequence[Asked], executions: Executions, costs: CostModel, chip: Chip
) -> list[Overlap]:
    """Measure the work that hides each collective, in schedule order.

    What is work, and what it costs a chip, says `work_meter`; which transfer it hides,
    `open_transfers`. Only what stands behind the step that takes the last operand is beside a
    transfer: before, it cannot have begun, and what makes the operand cannot hide it.

    None hides a synchronous one, nor a pair that GPU marks `is_sync`. Unknown where the order of
    the text is no schedule, or where the end stands in another computation; such a transfer takes
    no work from others.
    """
    carriers = {one.collective.begin for one in asked}
    carriers.update(one.collective.done for one in asked if one.collective.done is not None)
    meter = WorkMeter(executions, costs, carriers, chip)
    windows = [_find_window(one) for one in asked]
    walks: dict[Hashable, HidingWalk] = {}
    for network in dict.fromkeys(one.network for one in asked):
        beside = [
            window
            for one, window in zip(asked, windows, strict=True)
            if window is not None and one.network == network
        ]
        walks[network] = HidingWalk(beside, executions, meter, chip)
    return [
        _measure(one, window, walks[one.network].find_work)
        for one, window in zip(asked, windows, strict=True)
    ]


def _find_window(asked: Asked) -> Window | None:
    """Return where work stands beside a collective, None where it does nowhere or nobody knows."""
    one = asked.collective
    claim = None if is_marked_sync(one) else Claim(asked.need_seconds)
    if one.is_async and one.is_fused:
        return Window(None, one.steps, claim)
    is_scheduled = one.begin.computation.module.header.is_scheduled
    if not one.is_async or not is_scheduled or one.done is None:
        return None
    if one.done.computation is not one.begin.computation:
        return None
    return Window((find_opening(one.begin), one.done), (), claim)


def _measure(
    asked: Asked, window: Window | None, find_work: Callable[[Window], OverlapWork]
) -> Overlap:
    """Return the work in the window of a collective, and what of it hides it."""
    need = asked.need_seconds
    never = Hiding(need, Fraction(), is_sure=True, has_work=False)
    if window is None:
        one = asked.collective
        is_scheduled = one.begin.computation.module.header.is_scheduled
        is_known = is_marked_sync(one) or (is_scheduled and not one.is_async)
        return Overlap(None, never if is_known else None)
    work, claim = find_work(window), window.claim
    if claim is None or not work.instruction_count:
        return Overlap(work, never)
    return Overlap(work, Hiding(need, claim.hidden_seconds, claim.is_sure, has_work=True))


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
