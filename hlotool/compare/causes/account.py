"""The account: each figure's difference, cut into shares that add up to it, and whose each is.

A share is one instruction, or value, with its counterpart: what it comes to on the new side less
what it came to on the old one. Everything that runs is in one share, and so is everything that is
held at a peak. How it differs is told apart, so that effects that cancel are both seen:

    new, gone         it has no counterpart
    runs              as often as before, it would be the same
    size              it is more or less in each run
    the peak moved    a value that both sides have is held at one of the peaks alone
    reserved          what is set aside beyond what is in use at the peak

Seconds are those of the clock of `outline`, instruction by instruction. A share belongs to the
cause that changed the instruction; if it is none's, to the one that changed what its op_name names
in the input program, or what it stands on. What none answers for is unexplained. Where only one
thing was changed, by the same compiler under the same flags, all of the difference is its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Struct

from hlotool.compare.causes.cause import Claim, Evidence, list_executed
from hlotool.compare.changes.collectives import pair_collectives
from hlotool.compare.changes.figures import PEAKS
from hlotool.compare.match.signature import strip_loops
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import CONTROL_FLOW
from hlotool.program.program import Program
from hlotool.table import MEASURE, Unit, column

Figure: TypeAlias = Literal["memory", "time", "flops", "traffic", "sent", "exposed"]
How: TypeAlias = Literal["new", "gone", "runs", "size", "the peak moved", "reserved", "rest"]
# What each figure is called among the metrics: the first that both sides know.
_METRICS: Final[Mapping[Figure, Sequence[str]]] = {
    "memory": ("buffers.reserved_peak_bytes", *PEAKS),
    "flops": ("cost.total_flops_per_step",),
    "traffic": ("cost.traffic_bytes_per_step",),
    "sent": ("collectives.sent_bytes_per_step",),
    "exposed": ("collectives.exposed_bytes_per_step",),
}
_UNITS: Final = {"time": Unit.SECONDS, "flops": Unit.FLOPS}
_ROUNDING: Final = 1e-9  # of a time, whose parts are summed in another order


class Share(Struct, frozen=True):
    """By how much one instruction, or value, makes a figure differ."""

    figure: Figure
    how: How
    delta: float
    old: Instruction | None = None
    new: Instruction | None = None


class AccountRow(Struct, frozen=True):
    """What one cause makes of one figure, in one way; the rows of a figure add up."""

    figure: Annotated[
        Figure,
        column(
            "the figure: reserved peak of memory, modelled time of a step; flops, memory traffic, "
            "bytes sent and bytes exposed per step"
        ),
    ]
    reason: Annotated[str, column("the reason's kind, or unexplained")]
    subject: Annotated[str | None, column("its subject", null_text="")]
    how: Annotated[
        How,
        column(
            "new, gone: without counterpart; runs: another number of executions; size: "
            "larger or smaller; the peak moved: held at only one peak; reserved: "
            "reserved but unused; rest: no instruction is known"
        ),
    ]
    count: Annotated[int, column("instructions, or values")]
    delta: Annotated[
        int | float | None,
        column(
            "new minus old; of times with --chip", MEASURE, heading="difference", is_signed=True
        ),
    ]
    share: Annotated[float | None, column("part of the figure's difference", is_signed=True)]
    unit: Unit = Unit.BYTES


def list_shares(evidence: Evidence) -> Iterator[Share]:
    """Yield all shares of all figures that both sides know; what is the same has none."""
    totals: Counter[Figure] = Counter()
    for each in (_list_held, _list_work, _list_sent):
        for share in each(evidence):
            if share.delta:
                totals[share.figure] += share.delta  # type: ignore[assignment]
                yield share
    for figure, paths in _METRICS.items():
        deltas = (row.delta for path in paths if (row := evidence.metrics.get(path)))
        delta = next((each for each in deltas if each is not None), None)
        if delta is not None and delta != totals[figure]:
            rest = delta - totals[figure]
            yield Share(figure, "reserved" if figure == "memory" else "rest", rest)


def _list_held(evidence: Evidence) -> Iterator[Share]:
    """Yield the values at the peaks; what is reserved beyond them is left."""
    hows: dict[str, How] = {"new": "new", "gone": "gone", "size": "size"}
    for pair in evidence.values:
        old, new = (
            names.get(row.instruction) if row else None
            for row, names in zip((pair.old, pair.new), evidence.named, strict=True)
        )
        how = hows.get(pair.reason, "the peak moved")
        yield Share("memory", how, pair.delta_bytes, old, new)


def _list_work(evidence: Evidence) -> Iterator[Share]:
    """Yield what runs on its own, with its flops, its memory traffic and its time."""
    sides = [_weigh(program) for program in (evidence.old, evidence.new)]
    groups: dict[Instruction, tuple[list[Instruction], list[Instruction]]] = {}
    reasoner = evidence.reasoner
    for place, side in enumerate(sides):
        for one in side:  # with its counterpart, and with its copies
            key = reasoner.copies.get(one, one)
            groups.setdefault(reasoner.back.get(key, key), ([], []))[place].append(one)
    chips = {one.step_time and one.step_time.chip for one in (evidence.old, evidence.new)}
    told = _WORK if len(chips) == 1 else _WORK[:-1]  # seconds of two chips have no difference
    for old, new in groups.values():
        for index, figure in enumerate(told):
            here, there = (
                [(side[one][0], side[one][1][index]) for one in some]
                for side, some in zip(sides, (old, new), strict=True)
            )
            for how, delta in _cut(here, there):
                yield Share(figure, how, delta, old[0] if old else None, new[0] if new else None)


_WORK: Final[Sequence[Figure]] = ("flops", "traffic", "time")


def _weigh(program: Program) -> Mapping[Instruction, tuple[int, tuple[float, ...]]]:
    """Return how often each instruction runs, and what it comes to in a run.

    Control flow comes to what is left of it without what it calls: of a conditional, of which the
    most expensive branch counts, less than nothing.
    """
    clock = program.step_time.clock if program.step_time else None
    costs = program.costs
    trips = {loop.instruction: loop.trips.count for loop in program.executions.loops}
    found = {}
    for one, runs in list_executed(program):
        cost = costs.of_all_rounds(one)
        seconds = clock.of(one).total if clock else 0.0
        amounts = [cost.total_flops, cost.traffic_bytes, seconds]
        for called in one.called_computations() if one.opcode in CONTROL_FLOW else ():
            inner, rounds = costs.of_computation_all_rounds(called), trips.get(one) or 1
            amounts[0] -= rounds * inner.total_flops
            amounts[1] -= rounds * inner.traffic_bytes
            amounts[2] -= rounds * clock.of_run(called).total if clock else 0.0
        if runs and any(amounts):
            found[one] = runs, tuple(amounts)
    return found


def _cut(
    old: Sequence[tuple[int, float]], new: Sequence[tuple[int, float]]
) -> Iterator[tuple[How, float]]:
    """Yield what differs between counterparts: how often they run, and what a run comes to."""
    before, after = (sum(runs * amount for runs, amount in side) for side in (old, new))
    if not old or not new:
        yield ("new" if new else "gone"), after - before
        return
    rounds = sum(runs for runs, _ in new) - sum(runs for runs, _ in old)
    of_runs = old[0][1] * rounds
    yield "runs", of_runs
    yield "size", after - before - of_runs


def _list_sent(evidence: Evidence) -> Iterator[Share]:
    """Yield the collectives, with what they send and what of that nothing hides."""
    for pair in pair_collectives(evidence.old.collectives.rows, evidence.new.collectives.rows):
        rows = pair.old, pair.new
        old, new = (
            names.get(row.name) if row else None
            for row, names in zip(rows, evidence.named, strict=True)
        )
        for figure, field in (("sent", "sent_bytes"), ("exposed", "exposed_bytes")):
            here, there = (
                [(row.known_executions, total / max(row.known_executions, 1))] if row else []
                for row in rows
                for total in (getattr(row, f"known_{field}_per_step") if row else 0,)
            )
            for how, delta in _cut(here, there):
                yield Share(figure, how, round(delta), old, new)  # type: ignore[arg-type]


_UNEXPLAINED: Final = "unexplained"
_MOSTLY: Final = 0.5  # of all that was changed
_FARTHEST: Final = 8  # steps to an instruction that somebody changed
_MOST_NEAR: Final = 64  # instructions asked in a step


def settle(evidence: Evidence, claims: Sequence[Claim]) -> tuple[AccountRow, ...]:
    """Return the account of all figures that differ, the largest shares of each first."""
    judge = _Judge(claims)
    is_timed = all(one.step_time and one.step_time.is_timed for one in (evidence.old, evidence.new))
    found: defaultdict[tuple[Figure, int | None, How], list[float]] = defaultdict(list)
    all_deltas: defaultdict[Figure, list[float]] = defaultdict(list)
    for share in list_shares(evidence):
        found[share.figure, judge.find(share), share.how].append(share.delta)
        all_deltas[share.figure].append(share.delta)
    totals = {figure: _add_exactly(deltas) for figure, deltas in all_deltas.items()}
    rows = []
    for (figure, place, how), deltas in found.items():
        cause = None if place is None else claims[place].cause
        total, delta = totals[figure], sum(deltas)
        whose = (cause.id, cause.subject or cause.scope) if cause else (_UNEXPLAINED, None)
        told = delta if is_timed or figure != "time" else None
        part, unit = delta / total if total else None, _UNITS.get(figure, Unit.BYTES)
        rows.append(AccountRow(figure, *whose, how, len(deltas), told, part, unit))
    order = get_args(Figure)
    rows.sort(key=lambda row: (order.index(row.figure), -abs(row.share or 0), row.reason, row.how))
    return tuple(rows)


def _add_exactly(deltas: Sequence[float]) -> float:
    """Add up what may cancel: seconds that come to nothing but for rounding are none."""
    total = sum(deltas)
    return total if abs(total) > _ROUNDING * sum(map(abs, deltas)) else 0


def measure_unexplained(rows: Sequence[AccountRow]) -> Mapping[Figure, float]:
    """Return which part of each figure's difference no reason answers for."""
    found = dict.fromkeys((row.figure for row in rows), 0.0)
    for row in rows:
        found[row.figure] += (row.share or 0.0) if row.reason == _UNEXPLAINED else 0.0
    return {figure: abs(share) for figure, share in found.items()}


class _Judge:
    """Says whose a share is: by instruction, by what it is called, by what is near."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        counts = [len(claim.touched) for claim in claims]
        self._is_alone = len(claims) == 1
        # What else is there is small beside it, or no instruction: all that nobody answers for is
        # its own.
        is_mostly = bool(counts) and max(counts) >= _MOSTLY * sum(counts) > 0
        self._main = counts.index(max(counts)) if is_mostly else None
        self._own: dict[Instruction, int] = {}
        self._named: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self._asked = cache(self._ask)
        for place, claim in enumerate(claims):
            for one in claim.touched:
                self._own.setdefault(one, place)
                name = strip_loops(one.metadata().op_name)
                if name:
                    self._named[name][place] += 1

    def find(self, share: Share) -> int | None:
        """Return the claim's place, None where nobody answers."""
        if self._is_alone:
            return 0
        near = [one for one in (share.new, share.old) if one is not None]
        for _ in range(_FARTHEST):
            votes = Counter(place for one in near if (place := self._asked(one)) is not None)
            if votes:
                return votes.most_common(1)[0][0]
            near = [each for one in near for each in (*one.operands, *one.users)][:_MOST_NEAR]
        return self._main

    def _ask(self, one: Instruction) -> int | None:
        """Return who changed an instruction, or most of what stands in a fusion."""
        body = one.callee() if one.opcode == "fusion" else None
        inside = (one, *(body.instructions if body else ()))
        votes = Counter(self._own[each] for each in inside if each in self._own)
        if not votes:
            for each in inside:
                votes.update(self._named.get(strip_loops(each.metadata().op_name), ()))
        return votes.most_common(1)[0][0] if votes else None
