"""The plan to reduce memory: what to change so that a program fits, and what each change saves.

`list_remedies` says what one can do about the parts of space 0 (`parts.divide_memory`), `Reserved`
simulates what the space reserves with some of it done, and `plan_relief` chooses the smallest sets
that suffice; `donated` knows what donation does. The what-if of `--without` (`take_away`) is about
peaks of all spaces.

A simulation is exact for the schedule as it is. A compiler that has less to place orders anew, so
programs of many kinds were compiled with and without each remedy: `BANDS` is how far what was saved
differed from what was simulated (tests/accuracy/advice.py holds the table to these programs). A set
is said to fit only where it does at the lower end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.donated import Donations, find_donations
from hlotool.analysis.memory.donation import MissedOutput, list_donations
from hlotool.analysis.memory.figures import Fit
from hlotool.analysis.memory.intervals import Curve, add_curves
from hlotool.analysis.memory.memory_map import MemoryMap, SpacePeak, Tenures
from hlotool.analysis.memory.parts import (
    Part,
    PartKind,
    divide_memory,
    find_donated_copies,
    split_passes,
)
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, all_rows, describe_values, rows_at
from hlotool.errors import InputError
from hlotool.hlo import Module
from hlotool.table import NUMBER, Block, RowList, column, figure
from hlotool.table.sums import group_by
from hlotool.table.words import list_some

# The easiest first. A donation costs nothing; what follows costs some time of each step, and a few
# lines; then what changes what a program gets, gives and learns.
RemedyKind: TypeAlias = Literal[
    "donate", "undonate", "checkpoint", "chunk-loss", "one-layout", "smaller-batch", "shard"
]
CHUNKS: Final = 8  # into which the loss is cut
# What is called how, what to do, about which parts, and what is left of these.
REMEDIES: Final[Mapping[RemedyKind, tuple[str, str, tuple[PartKind, ...], float]]] = {
    "donate": ("outputs beside {}", "donate", ("missed-donation",), 0),
    "undonate": ("copies of {}", "do not donate it: it is read later", ("donated-copy",), 0),
    "checkpoint": ("saved activations of {}", "checkpoint each layer", ("saved-activations",), 1),
    "chunk-loss": (
        "logits in {}", f"compute the loss in {CHUNKS} chunks", ("logits",), 1 / CHUNKS,
    ),
    "one-layout": (
        "copies of {}", "use one order of dimensions throughout", ("parameter-layout",), 0,
    ),
    "smaller-batch": (
        "activations", "halve the batch",
        ("saved-activations", "layer-inputs", "logits", "temporaries"), 1 / 2,
    ),
    "shard": ("arguments and activations", "shard over more devices", (), 1),
}  # fmt: skip
REMEDY_MEANINGS: Final[Mapping[RemedyKind, str]] = {
    kind: f"{title.format('…')}: {how}" for kind, (title, how, _, _) in REMEDIES.items()
}
# What was saved by what was simulated: its least and most, in programs compiled with the remedy.
# Without one it was tried too rarely, or differed by more than half: no number is told.
Band: TypeAlias = tuple[float, float]
BANDS: Final[Mapping[RemedyKind, Mapping[Backend, Band]]] = {
    "donate": {"cpu": (0.6, 1.3), "gpu": (0.65, 1.35), "tpu": (0.85, 1.15)},
    "undonate": {"cpu": (0.85, 1.15)},
    "checkpoint": {"cpu": (0.7, 1.3), "gpu": (0.7, 1.5), "tpu": (0.75, 1.5)},
    "chunk-loss": {"cpu": (0.7, 1.3), "gpu": (0.65, 1.5)},
    "smaller-batch": {"cpu": (0.5, 1.5), "gpu": (0.7, 1.5)},
}


Verdict: TypeAlias = Literal["fits", "may fit", "does not fit", "unsure"]


class ReliefRow(Struct, frozen=True):
    """A change of a set with which the program fits, or may; or, where none does, nearly fits."""

    option: Annotated[int, column("number of the option; apply all its changes", NUMBER)]
    what: Annotated[str, column("the memory that it reduces")]
    kind: Annotated[RemedyKind, figure("what to do", word_meanings=REMEDY_MEANINGS)]
    origin: Annotated[str, figure("its scope, or its part of the argument tree")]
    saves_bytes: Annotated[
        int | None, column("simulated fall of the allocated size with this change alone")
    ]
    saves_least_bytes: Annotated[
        int | None, column("least savings, judged by programs compiled with it", heading="at least")
    ]
    saves_most_bytes: Annotated[
        int | None, column("most savings, judged by programs compiled with it", heading="at most")
    ]
    option_saves_bytes: Annotated[
        int | None, figure("savings of all changes of the option together", is_summed=False)
    ]
    option_least_bytes: Annotated[
        int | None, figure("least savings of the option, judged the same way", is_summed=False)
    ]
    free_bytes: Annotated[
        int | None,
        column(
            "free memory after that; negative if it still does not fit",
            is_signed=True,
            is_summed=False,
        ),
    ]
    verdict: Annotated[
        Verdict,
        column(
            "fits: even with the least savings; may fit: with the most; "
            "unsure: too few or too different trials for a number",
            is_verdict=True,
        ),
    ]
    how: Annotated[str, column("what to do", heading="how", is_below=True)]


RELIEF: Final = RowList(
    "relief",
    ReliefRow,
    "the smallest sets of changes that make the program fit, by savings",
    key="what",
    has_total=False,
    option="--hbm SIZE",
    title="Ways to fit",
)
SAVES_CAVEAT: Final = (
    "Savings are simulated for this schedule and may be smaller after recompiling."
)
MOST_TOGETHER: Final = 3  # remedies of a set, beside donation
MOST_REMEDIES: Final = 8  # that sets are made of: those that save most
MOST_SETS: Final = 5
_LEAST_SHARE: Final = 0.01  # of what is missing: less is not worth a row


# -- the plan


class Plan(Struct, frozen=True):
    """Ways to fit. `curves` are what space 0 reserves over time as it is, then with each option.

    All but the temporaries are reserved all the time. Options without a number have no curve.
    `is_checkpoint_undone`: activations are saved for which XLA would undo a checkpoint.
    """

    rows: tuple[ReliefRow, ...] = ()
    curves: tuple[Curve, ...] = ()
    is_checkpoint_undone: bool = False


def plan_relief(report: MemoryReport, module: Module | None, fit: Fit) -> Plan:
    """Return the smallest sets of changes with which the program fits, what saves most first.

    What donation frees is in every set, as it costs nothing; where it is enough, it is a set, too.
    These are of one size, three at most. Where none suffices, the one that goes furthest, found by
    taking what saves most, one by one. Empty where it fits, or nothing says when values live.
    """
    if fit.allocated_bytes is None or fit.fits is not False:
        return Plan()
    reserved, remedies = simulate_remedies(report, module)
    if not reserved.part_of:
        return Plan()
    excess = fit.allocated_bytes - fit.limit_bytes
    least = excess * _LEAST_SHARE
    remedies = [one for one in remedies if one.kind == "shard" or reserved.saving([one]) > least]
    told = [one for one in remedies if one.band]
    free = [one for one in told if one.kind == "donate"]
    others = [one for one in told if one.kind != "donate"]
    others.sort(key=lambda one: -reserved.saving([one]))
    sets = _choose_sets(others[:MOST_REMEDIES], reserved, excess, tuple(free))
    sets = sets or _go_furthest(told, reserved, tuple(free))
    rows = [
        row
        for number, chosen in enumerate(sets, 1)
        for row in _write_option(number, chosen, reserved, excess)
    ]
    unsure = (one for one in remedies if one.band is None)
    for number, one in enumerate(unsure, len(sets) + 1):
        how = REMEDIES[one.kind][1]
        unknown = (None,) * 6
        rows.append(ReliefRow(number, one.title, one.kind, one.of, *unknown, "unsure", how))
    curves = (reserved.curve(chosen, fit.allocated_bytes) for chosen in ((), *sets))
    is_cpu = module is not None and find_backend(module) == "cpu"  # as in `Checkpoint`
    kinds = {one.kind for one in reserved.part_of.values()}
    is_saved = "saved-activations" in kinds and "layer-inputs" not in kinds  # else it is on
    is_offered = any(one.kind == "checkpoint" for one in remedies)
    return Plan(tuple(rows), tuple(curves), is_cpu and is_saved and not is_offered)


def simulate_remedies(report: MemoryReport, module: Module | None) -> tuple[Reserved, list[Remedy]]:
    """Return what space 0 reserves with some remedies done, and the remedies."""
    donations = find_donations(report)
    parts = divide_memory(report, module, donations)
    remedies = list_remedies(report, module, parts, donations)
    return Reserved(report, parts, donations), remedies


def _write_option(
    number: int, chosen: Sequence[Remedy], reserved: Reserved, excess: int
) -> Iterator[ReliefRow]:
    """Yield the rows of an option; none saves more than there is, no donation more than outputs."""
    saved, sure = reserved.saving(chosen), reserved.least_saving(chosen)
    verdict: Verdict = "fits" if sure >= excess else "may fit"
    if reserved.most_saving(chosen) < excess:
        verdict = "does not fit"
    for one in chosen:
        saves, (least, most) = reserved.saving([one]), one.band or (0, 0)
        owners = {each.allocation for part in one.parts for each in part.tenures if each.is_owner}
        outputs = sum(each.size_bytes for each in owners)
        there = outputs if one.kind == "donate" else max(reserved.removable_bytes, saves)
        yield ReliefRow(
            option=number,
            what=one.title,
            kind=one.kind,
            origin=one.of,
            saves_bytes=saves,
            saves_least_bytes=round(saves * least),
            saves_most_bytes=min(round(saves * most), there),
            option_saves_bytes=saved,
            option_least_bytes=sure,
            free_bytes=saved - excess,
            verdict=verdict,
            how=REMEDIES[one.kind][1],
        )


def _choose_sets(
    others: Sequence[Remedy], reserved: Reserved, excess: int, free: tuple[Remedy, ...]
) -> list[tuple[Remedy, ...]]:
    """Return the sets of fewest remedies, each with donation, that save what is missing.

    Those that leave the batch as it is come first, then those that save most.
    """
    for size in range(MOST_TOGETHER + 1):
        chosen = [(*free, *more) for more in combinations(others, size)]
        enough = [one for one in chosen if one and reserved.saving(one) >= excess]
        if enough:
            enough.sort(key=reserved.rank)
            return enough[:MOST_SETS]
    return []


def _go_furthest(
    remedies: Sequence[Remedy], reserved: Reserved, best: tuple[Remedy, ...]
) -> list[tuple[Remedy, ...]]:
    """Take what saves most beside what is taken, until nothing saves any more."""
    most = MOST_TOGETHER + len(best)
    while len(best) < most:
        left = [(*best, one) for one in remedies if one not in best]
        further = max(left, key=reserved.saving, default=best)
        if reserved.saving(further) <= reserved.saving(best):
            break
        best = further
    return [best] if best else []


# -- the remedies


class Remedy(Struct, frozen=True, eq=False):
    """One thing to do, about some parts.

    Without a `band` no number is told. `outputs` then lie in their parameters' memory; `undonated`
    are parameters whose outputs then need memory of their own.
    """

    kind: RemedyKind
    of: str
    parts: tuple[Part, ...]
    band: Band | None
    outputs: frozenset[MissedOutput] = frozenset()
    undonated: frozenset[int | None] = frozenset()

    @property
    def title(self) -> str:
        """The memory that it is about."""
        return REMEDIES[self.kind][0].format(self.of)

    @property
    def left(self) -> float:
        """What is left of a part."""
        return REMEDIES[self.kind][3]


_TOGETHER: Final = frozenset(("checkpoint", "chunk-loss", "smaller-batch"))  # one for all parts


def list_remedies(
    report: MemoryReport,
    module: Module | None,
    parts: Sequence[Part],
    donations: Donations | None,
) -> list[Remedy]:
    """Return what can be done about parts, where it was tried on the backend."""
    backend = find_backend(module) if module else report.figures.backend
    trained = any(part.kind in {"saved-activations", "layer-inputs"} for part in parts)
    found = []
    for kind, (_, _, kinds, _) in REMEDIES.items():
        band = BANDS.get(kind, {}).get(backend) if backend else None
        about = [part for part in parts if part.kind in kinds]
        if kind == "checkpoint":
            about = [part for part in about if part.again]
        if kind == "smaller-batch" and not trained:
            about = [part for part in parts if part.has_batch]
        if kind == "shard":
            found.append(Remedy(kind, "", (), None))
        if not about:
            continue
        groups = [about]
        if kind not in _TOGETHER:
            groups = list(group_by(about, lambda part: part.of).values())
        if kind == "donate" and (rest := groups[MOST_REMEDIES:]):
            # Arguments without names are many, and each takes a simulation of its own.
            groups[MOST_REMEDIES:] = [list(chain(*rest))]
        for group in groups:
            of = list_some(list(dict.fromkeys(part.of for part in group)), 2, " and {} more")
            undonated = frozenset(
                row.parameter_number
                for row in (list_donations(module) if module and kind == "undonate" else ())
                if row.argument == of
            )
            arguments = {part.of for part in group if kind == "donate"}
            missed = donations.missed.values() if donations else ()
            outputs = frozenset(one for one in missed if one.donor.argument in arguments)
            found.append(Remedy(kind, of, tuple(group), band, outputs, undonated))
    return found


# -- what is reserved with some remedies


class Reserved:
    """What space 0 reserves, and what it would with some things done."""

    def __init__(
        self, report: MemoryReport, parts: Iterable[Part], donations: Donations | None
    ) -> None:
        self.donations = donations
        self.temp = SpacePeak(report.map.curve(0, "temp") or Curve())
        self.part_of = {tenure: part for part in parts for tenure in part.tenures}
        placed = (tenure for tenure in self.part_of if not tenure.is_temp)
        self.lying_in = group_by(placed, lambda tenure: tenure.allocation)
        placed_bytes = dict.fromkeys(("temp", "output"), 0)
        for one in report.map.placed(0):
            if one.allocation_type in placed_bytes:
                placed_bytes[one.allocation_type] += one.size_bytes
        if report.map.assignment.is_estimate:  # its temporaries lie apart
            placed_bytes["temp"] = self.temp.peak_bytes
        self.removable_bytes = sum(placed_bytes.values())  # gaps between temporaries too
        self._known: dict[frozenset[Remedy], int] = {}

    def saving(self, remedies: Iterable[Remedy]) -> int:
        """Return how far the allocated size falls.

        What the memory is assigned to anew with donations, the other remedies take away from. The
        gaps between temporaries stay as they are.
        """
        chosen = frozenset(remedies)
        if chosen not in self._known:
            freed, temp, change = self._measure(chosen)
            self._known[chosen] = freed + temp.peak_bytes - temp.peak_without(change)
        return self._known[chosen]

    def curve(self, remedies: Iterable[Remedy], allocated_bytes: int) -> Curve:
        """Return what is reserved over time; the most is what is allocated without the saving."""
        freed, temp, change = self._measure(frozenset(remedies))
        always = allocated_bytes - temp.peak_bytes - freed
        return add_curves([temp.curve, *_take(change, 1), Curve((0,), (always,))])

    def least_saving(self, remedies: Sequence[Remedy]) -> int:
        """Return the least that it falls by in programs compiled so."""
        return self._scale(remedies, lambda band: band[0])

    def most_saving(self, remedies: Sequence[Remedy]) -> int:
        """Return the most: what is simulated, or more, up to all but arguments and constants."""
        there = max(self.removable_bytes, self.saving(remedies))
        return min(self._scale(remedies, lambda band: band[1]), there)

    def rank(self, remedies: Sequence[Remedy]) -> tuple[bool, int]:
        """Rank what leaves the batch as it is before all else, then what most likely saves most."""
        likely = self._scale(remedies, lambda band: sum(band) / 2)
        return any(one.kind == "smaller-batch" for one in remedies), -likely

    def _scale(self, remedies: Sequence[Remedy], choose: Callable[[Band], float]) -> int:
        """Return what a set saves by its band: each remedy has its share in that."""
        shares = [(max(0, self.saving([one])), choose(one.band or (0, 0))) for one in remedies]
        whole = sum(size for size, _ in shares)
        mean = sum(size * share for size, share in shares) / whole if whole else 0
        return round(self.saving(remedies) * mean)

    def _measure(self, remedies: frozenset[Remedy]) -> tuple[int, SpacePeak, Curve]:
        """Return what is freed, the temporaries that are left, and what of these goes over time."""
        freed, temp = 0, self.temp
        outputs = frozenset(chain.from_iterable(one.outputs for one in remedies))
        if self.donations and outputs:
            freed, temp = self.donations.saving(outputs), self.donations.assign(outputs).temp
        given = {part for one in remedies if one.outputs for part in one.parts}
        left: dict[Part, float] = {}
        for one in remedies:
            for part in () if one.outputs else one.parts:
                left[part] = left.get(part, 1) * one.left
        again = {part for one in remedies if one.kind == "checkpoint" for part in one.parts}
        change = []
        for part, share in left.items():
            change.append(part.temp_curve)
            change += _take(part.again_curve if part in again else part.temp_curve, share)
        undonated = {number for one in remedies for number in one.undonated}
        for allocation, tenures in self.lying_in.items():
            is_split = allocation.is_donated and allocation.parameter in undonated
            owners = [self.part_of[one] for one in tenures if one.is_owner]
            share = max((left.get(one, 1) for one in owners), default=1)
            if not is_split:
                is_given = not given.isdisjoint(owners)
                freed += 0 if is_given else round(allocation.size_bytes * (1 - share))
                continue
            freed -= allocation.size_bytes
            # What else lies in it needs room among the temporaries, if it is not gone itself.
            for tenure in tenures:
                is_moved = not tenure.is_owner and self.part_of[tenure] not in left
                change += _take(tenure.curve(), is_moved)
        return freed, temp, add_curves(change)


def _take(curve: Curve, share: float) -> list[Curve]:
    """Return what takes a share of a curve from what is taken away."""
    levels = tuple(-round(level * share) for level in curve.levels)
    return [Curve(curve.positions, levels)] if share else []


def measure_undonation(report: MemoryReport, module: Module) -> dict[str, int]:
    """Return what space 0 would reserve less without the donation of arguments that are copied."""
    copies = find_donated_copies(module)
    parameters = {row.parameter_number for row in list_donations(module) if row.spare_copies}
    # Only what lies in these arguments' memory and what holds the copies: to name every part of a
    # program would take a third of its summary.
    wanted = {
        value
        for one in report.map.assignment.allocations
        for value in one.values
        if value.instruction in copies or (one.is_donated and one.parameter in parameters)
    }
    tenures = Tenures(report.map, wanted)
    parts: dict[str, Part] = {}
    for allocation in report.map.assignment.allocations:
        held = {} if allocation.color else tenures.of(allocation)
        for tenure in dict.fromkeys(held.values()):
            pieces = [tenure]
            if not tenure.is_owner and any(one.instruction in copies for one in tenure.values):
                rows = describe_values(report, tenure.values)
                named = {row.value: row for row in rows}
                pieces = [piece for piece, _ in split_passes(tenure, named)]
            for piece in pieces:
                told = () if piece.is_owner else piece.values
                of = next(
                    (copies[one.instruction] for one in told if one.instruction in copies), ""
                )
                part = parts.setdefault(of, Part("donated-copy" if of else "given", of))
                part.tenures.append(piece)
    reserved = Reserved(report, parts.values(), None)
    remedies = list_remedies(report, module, list(parts.values()), None)
    found = [one for one in remedies if one.kind == "undonate"]
    return {one.of: reserved.saving([one]) for one in found}


# -- the program without some values


class Without(Struct, frozen=True):
    """The peak of a space without certain values and what shares their bytes."""

    space: Annotated[int, figure("number of the memory space")]
    value_count: Annotated[int, figure("values removed, in all spaces")]
    removed_bytes: Annotated[int, figure("their bytes at the peak of the whole program")]
    saves_bytes: Annotated[int, figure("fall of the peak")]
    peak_bytes: Annotated[int, figure("most bytes in use at once without them")]
    position: Annotated[int, figure("its position in the schedule")]
    instruction: Annotated[str | None, figure("the instruction that runs there")]


WITHOUT: Final = Block(
    "without", Without, "the peak without the values of --without", is_optional=True
)


def take_away(
    report: MemoryReport, holds: Callable[[BufferRow], bool], color: int
) -> tuple[MemoryReport, Without]:
    """Return the memory without the tenures in which a condition holds for a value, of all spaces.

    What a value holds is known of those at the peak of their space. `figures` stay those of the
    whole program; the peak of one space is compared with what it was. Raises InputError where
    nothing says when values live.
    """
    live_ranges, assignment = report.map.live_ranges, report.map.assignment
    if live_ranges is None:
        raise InputError("--without needs live ranges: give --live-range or --module-text.")
    at_peak = {
        (row.value, row.space): row
        for each in report.map.colors()
        for row in rows_at(report, report.peak_of(each).position or 0, each)
    }
    tenures = {
        row.held.part
        for row in all_rows(report, None)
        if row.held and row.held.part and holds(at_peak.get((row.value, row.space), row))
    }
    taken = {value for tenure in tenures for value in tenure.values}
    left = tuple(
        replace(one, values=[value for value in one.values if value not in taken])
        for one in assignment.allocations
    )
    rest = MemoryMap(replace(assignment, allocations=left), live_ranges)
    before, after = report.map.curve(color) or Curve(), rest.curve(color) or Curve()
    (whole_peak, was_at), (peak, position) = before.peak(), after.peak()
    without = Without(
        space=color,
        value_count=len(taken),
        removed_bytes=whole_peak - after.at(was_at),
        saves_bytes=whole_peak - peak,
        peak_bytes=peak,
        position=position,
        instruction=live_ranges.instruction_at(position),
    )
    return replace(report, map=rest), without
