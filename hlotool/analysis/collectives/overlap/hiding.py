"""Which work hides the transfers of one network, in schedule order?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.chains import FusedCollective
from hlotool.analysis.collectives.overlap.open_transfers import Claim, OpenTransfers
from hlotool.analysis.collectives.overlap.overlap_work import NO_WORK, OverlapWork
from hlotool.analysis.collectives.overlap.work_meter import FLOW, WorkMeter
from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.graph.executions import Executions
from hlotool.ir import Computation, Instruction


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
