"""The plan to reduce memory: which parts of a program must go so that it fits, and what each saves.

`plan_relief` divides space 0 into parts one would do something about (`divide_memory`), measures
how far what the space reserves falls without some of them (`Reserved`), and chooses the smallest
sets that suffice. `add_savings` and `measure_donation` measure donation in the same way. The
what-if of `--without` (`take_away`) is about peaks of all spaces.

A part is made of tenures (`memory_map.Tenure`): values that share bytes go together or not at all.
All savings are of the schedule as it is, and exact for that. A compiler that has less to place
orders anew, so a real change mostly saves less (`SAVES_CAVEAT`); tests/accuracy/advice.py holds
them against programs that were really changed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, groupby, islice, starmap
from operator import itemgetter, neg
from typing import Annotated, Final, Literal, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.memory.donation import DonationRow, list_missed_outputs
from hlotool.analysis.memory.figures import Fit
from hlotool.analysis.memory.intervals import Curve, add_curves
from hlotool.analysis.memory.memory_map import MemoryMap, Saving, SpacePeak, Tenure, Tenures
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, all_rows, rows_at
from hlotool.analysis.origin import find_parameter_tree
from hlotool.errors import InputError
from hlotool.hlo import Module, ShapeIndex
from hlotool.hlo.buffers import Allocation
from hlotool.table import BYTES, COUNT, NUMBER, Block, RowList, column, figure
from hlotool.table.words import ANY, fold_numbers

# The easiest first. A donation costs nothing; what follows costs some time of each step, and a few
# lines; then what changes what a program gets, gives and learns, or needs more devices.
PartKind: TypeAlias = Literal[
    "missed-donation",
    "saved-activations",
    "logits",
    "parameter-copy",
    "optimizer-state",
    "outputs",
    "temporaries",
    "inputs",
    "parameters",
    "constants",
]
EASIEST_FIRST: Final[tuple[PartKind, ...]] = get_args(PartKind)

# What a part is called, `{}` being the scope or the part of the arguments' tree; the usual remedy.
PARTS: Final[Mapping[PartKind, tuple[str, str]]] = {
    "missed-donation": ("outputs beside {}", "donate"),
    "saved-activations": ("saved activations of {}", "checkpoint, or offload"),
    "logits": ("logits in {}", "compute the loss in chunks"),
    "parameter-copy": ("copies of {}", "keep one layout and precision"),
    "optimizer-state": ("optimizer state {}", "offload, shard, lower precision"),
    "outputs": ("outputs of {}", "return less, or shard"),
    "temporaries": ("temporaries of {}", "smaller batches, or shard"),
    "inputs": ("input {}", "shard"),
    "parameters": ("parameters {}", "shard, or lower precision"),
    "constants": ("constants", "pass as arguments, and shard"),
}

PART_MEANINGS: Final[Mapping[PartKind, str]] = {
    kind: f"{title.format('…')}; the usual remedy: {how}" for kind, (title, how) in PARTS.items()
}

# Names of optimizers' states in trees of arguments: optax's, and what hand-written ones use.
_OPTIMIZER: Final = re.compile(
    r"(?<![A-Za-z])(?:opt|opt_state|optimizer|optimizer_state|mu|nu|m|v|momentum|velocity|trace|ema)"
    r"(?![A-Za-z0-9])"
)
# What the last component of a scope is called where logits are made and compared.
_LOGITS: Final = re.compile(
    r"(?i)(?:.*_)?(?:logits?|head|unembed(?:ding)?|loss(?:_fn)?|cross_entropy(?:_loss)?)"
)
# A parameter's name without the path to its part.
_ARGUMENT: Final = re.compile(r"[^.\[{]+")
_FORWARD: Final = "jvp("
_BACKWARD: Final = "transpose("


class ReliefRow(Struct, frozen=True):
    """A part of a set without which the program fits; or, where none does, nearly fits."""

    option: Annotated[int, column("number of the option; all its parts must go", NUMBER)]
    what: Annotated[str, column("what would not be there")]
    kind: Annotated[PartKind, figure("what kind of memory that is", word_meanings=PART_MEANINGS)]
    origin: Annotated[str, figure("its scope, or the part of the arguments' tree")]
    saves_bytes: Annotated[
        int, column("how far the allocated size falls without this part alone", BYTES)
    ]
    option_saves_bytes: Annotated[
        int, figure("how far it falls without all of the option", BYTES, is_summed=False)
    ]
    free_bytes: Annotated[
        int,
        column(
            "what is then left; negative where it still does not fit",
            BYTES,
            is_signed=True,
            is_summed=False,
        ),
    ]
    how: Annotated[str, column("what one usually does about it")]


RELIEF: Final = RowList(
    "relief",
    ReliefRow,
    "the smallest sets of parts without which the program fits, the easiest to do without first",
    key="what",
    has_total=False,
    option="--hbm SIZE",
    title="Ways to fit",
)


SAVES_CAVEAT: Final = (
    "What they save is of this schedule and does not add up; what is compiled again mostly saves "
    "less."
)

MOST_TOGETHER: Final = 3  # parts of a set, beside what donation frees
MOST_PARTS: Final = 10  # that sets are made of: those that save most
MOST_SETS: Final = 5
_LEAST_DONATED: Final = 0.01  # of what is missing: less is not worth a row


# -- the plan


def plan_relief(report: MemoryReport, module: Module | None, fit: Fit) -> list[ReliefRow]:
    """Return the smallest sets of parts without which the program fits, the easiest remedy first.

    What donation frees is in every set, as it costs nothing; where it is enough, it is the first
    set, and the others show what else is. These are of one size, three at most. Where none
    suffices, the one that goes furthest, found by taking what saves most, one by one. Empty where
    it fits, or nothing says when values live.
    """
    if fit.allocated_bytes is None or fit.fits is not False:
        return []
    everything = divide_memory(report, module)
    reserved = Reserved(report, everything)
    excess = fit.allocated_bytes - fit.limit_bytes
    least = excess * _LEAST_DONATED
    donated = tuple(
        part
        for part in everything
        if part.kind == "missed-donation" and reserved.saving([part]) > least
    )
    others = [part for part in everything if part.kind != "missed-donation"]
    # Of those that save nothing alone, the largest may still save beside others.
    peaks = {one: add_curves([tenure.curve() for tenure in one.tenures]).peak() for one in others}
    others.sort(key=lambda one: (reserved.saving([one]), peaks[one][0]), reverse=True)
    others = others[:MOST_PARTS]  # of which there are 175 sets of up to three
    saving = reserved.saving(donated)
    sets = [(saving, donated)] if saving >= excess else []
    beside = () if sets else donated
    sets += _choose_sets(others, reserved, excess, beside)[: MOST_SETS - len(sets)]
    return [
        ReliefRow(
            option=number,
            what=part.title,
            kind=part.kind,
            origin=part.of,
            saves_bytes=reserved.saving([part]),
            option_saves_bytes=saving,
            free_bytes=saving - excess,
            how=PARTS[part.kind][1],
        )
        for number, (saving, chosen) in enumerate(
            sets or [_go_furthest(others, reserved, beside)], 1
        )
        for part in chosen
    ]


def _choose_sets(
    parts: Sequence[Part], reserved: Reserved, excess: int, beside: tuple[Part, ...]
) -> list[tuple[int, tuple[Part, ...]]]:
    """Return the sets of fewest parts that save as much as there is too much.

    `beside` are in each of them, and do not count. The hardest remedy of each set decides on its
    place, then the next hardest. A set that cannot suffice is not measured.
    """
    for size in range(1, MOST_TOGETHER + 1):
        hopeful: list[tuple[list[int], int, tuple[Part, ...]]] = []
        for chosen in combinations(parts, size):
            one = _sort_parts((*beside, *chosen))
            most = reserved.bound_gain(one)
            if most >= excess:
                effort = [EASIEST_FIRST.index(part.kind) for part in reversed(one)]
                hopeful.append((effort, most, one))
        # Measured one by one in this order, until there are enough: most sets never are.
        hopeful.sort(key=lambda one: one[:2])
        savings = ((effort, reserved.saving(one), one) for effort, _, one in hopeful)
        found = list(islice((one for one in savings if one[1] >= excess), MOST_SETS))
        if found:
            return [one[1:] for one in sorted(found, key=lambda one: one[:2])]
    return []


def _go_furthest(
    parts: Sequence[Part], reserved: Reserved, beside: tuple[Part, ...]
) -> tuple[int, tuple[Part, ...]]:
    """Take what saves most beside what is taken, until nothing saves any more.

    Not the best of all sets: none suffices, so that what is shown is a direction only.
    """
    chosen, best = beside, reserved.saving(beside)
    while len(chosen) < MOST_TOGETHER + len(beside):
        left = [part for part in parts if part not in chosen]
        savings = [reserved.saving((*chosen, part)) for part in left]
        if not savings or max(savings) <= best:
            break
        best = max(savings)
        chosen = (*chosen, left[savings.index(best)])
    return best, _sort_parts(chosen)


def _sort_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: EASIEST_FIRST.index(part.kind)))


# -- the parts


class Part(Struct, frozen=True, eq=False, dict=True):
    """Tenures one would do the same about; `of` is a scope, or a part of the arguments' tree."""

    kind: PartKind
    of: str
    tenures: list[Tenure] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What it is called."""
        return PARTS[self.kind][0].format(self.of)

    @cached_property
    def temp_curve(self) -> Curve:
        """What it holds among the temporaries; asked when all its tenures are known."""
        return add_curves([tenure.curve() for tenure in self.tenures if tenure.is_temp])


def divide_memory(report: MemoryReport, module: Module | None) -> list[Part]:
    """Return the parts of space 0; none where nothing says when values live.

    Every tenure is in one part: by the type of its allocation, and by what its value that lives
    longest belongs to, of those with a scope of their own. A saved activation is made by the
    forward pass and needed when the backward pass runs, or a copy of one. Scopes are cut behind
    their first numbered component, so that layers are one part.
    """
    rows_of: dict[Tenure, dict[str, BufferRow]] = {}
    for row in all_rows(report, module, 0):
        if row.held and row.held.part:
            rows_of.setdefault(row.held.part, {})[row.value] = row
    missed = list_missed_outputs(module, report.flow) if module else {}
    turn = _find_turn(report, module) if module else None
    parts: dict[tuple[PartKind, str], Part] = {}
    kind: PartKind
    for tenure, row in chain.from_iterable(starmap(_split, rows_of.items())):
        donors = (missed[value.key] for value in tenure.values if value.key in missed)
        donor = next(donors, None) if tenure.is_owner and row.allocation_type == "output" else None
        if donor is not None:
            argument = _ARGUMENT.match(donor.parameter_name or "")
            kind = "missed-donation"
            of = argument[0] if argument else f"parameter {donor.parameter_number}"
        else:
            kind, of = _name_part(row, tenure, turn)
        parts.setdefault((kind, of), Part(kind, of)).tenures.append(tenure)
    return list(parts.values())


def _split(tenure: Tenure, rows: Mapping[str, BufferRow]) -> Iterator[tuple[Tenure, BufferRow]]:
    """Divide a tenure where the backward pass writes over what the forward pass made.

    Both need the bytes, each in its time. Yields each with the value that tells what it is. Values
    of one size at one place take turns, each until the next begins; where a tenure's values have
    different sizes, or the allocation is there for one of them, it stays whole.
    """
    held = sorted(zip(tenure.values, tenure.blocks, strict=True), key=lambda one: one[1].start)
    sides = _fill_gaps([rows[value.name].producer_op_name for value, _ in held])
    is_uniform = len({(block.low, block.high) for block in tenure.blocks}) == 1
    if tenure.is_owner or not is_uniform or len(set(sides)) == 1:
        yield tenure, max(rows.values(), key=_rank)
        return
    parts = [
        [one for _, one in part]
        for _, part in groupby(zip(sides, held, strict=True), itemgetter(0))
    ]
    ends = [part[0][1].start - 1 for part in parts[1:]]
    for part, end in zip(parts, [*ends, tenure.end], strict=True):
        kept = [(one, replace(block, end=min(block.end, end))) for one, block in part]
        kept = [(one, block) for one, block in kept if block.start <= block.end]
        if kept:
            values, blocks = zip(*kept, strict=True)
            best = max((rows[value.name] for value in values), key=_rank)
            yield Tenure(tenure.allocation, list(values), list(blocks)), best


def _fill_gaps(producers: Sequence[str | None]) -> list[bool | None]:
    """Say of each value whether the forward pass made it, by the op_name of its producer.

    One without is as what comes behind it; at the end, as what came before: forward, none,
    backward, none become forward and three times backward.
    """
    sides = [None if one is None else _is_forward(one) for one in producers]
    # Backwards, each from the one behind; then forwards, what is still open from the one before.
    for places in (range(len(sides) - 2, -1, -1), range(1, len(sides))):
        for place in places:
            if sides[place] is None:
                sides[place] = sides[place - places.step]
    return sides


def _rank(row: BufferRow) -> tuple[bool, int]:
    """Rank who tells of a tenure: who has a scope of its own or its producer, the longest-lived."""
    return row.producer_op_name is not None, row.live_positions or 0


def _name_part(row: BufferRow, tenure: Tenure, turn: int | None) -> tuple[PartKind, str]:
    """Say what kind of part a tenure is in, and of what; `turn`: where the backward pass begins."""
    if tenure.is_owner:
        if row.allocation_type == "constant":
            return "constants", ""
        if row.allocation_type == "output":
            return "outputs", _cut_scope(row.scope)
        tree = row.parameter_tree or row.parameter or "?"
        if _OPTIMIZER.search(tree):
            return "optimizer-state", tree
        return "parameters" if row.is_donated else "inputs", tree
    if row.moved_parameter is not None and row.scope_from not in {"own", "producer"}:
        return "parameter-copy", find_parameter_tree(row.moved_parameter) or row.moved_parameter
    if row.scope and _LOGITS.fullmatch(row.scope.rpartition("/")[2]):
        return "logits", fold_numbers(row.scope)
    is_saved = _is_forward(row.producer_op_name or "") and turn is not None and tenure.end >= turn
    return "saved-activations" if is_saved else "temporaries", _cut_scope(row.scope)


def _cut_scope(scope: str | None) -> str:
    """Cut a scope behind its first numbered component; one without any, behind its first."""
    if scope is None:
        return "no scope"
    components = fold_numbers(scope).split("/")
    numbered = (place for place, one in enumerate(components) if one.endswith(ANY))
    return "/".join(components[: next(numbered, 0) + 1])


def _is_forward(op_name: str) -> bool:
    return _FORWARD in op_name and _BACKWARD not in op_name


def _find_turn(report: MemoryReport, module: Module) -> int | None:
    """Return where the backward pass begins; None where nothing was differentiated.

    That is its first instruction behind a quarter of the forward pass: schedules put some that
    depend on nothing, such as zeros to add to, before all others.
    """
    if report.map.live_ranges is None:
        return None
    names = {one.name: one.metadata().op_name for one in module.instructions()}
    names |= {one.full_name: one.metadata().op_name for one in module.instructions()}
    sequence = [names.get(name, "") for name in report.map.live_ranges.sequence]
    forward = [place for place, name in enumerate(sequence) if _is_forward(name)]
    backward = [place for place, name in enumerate(sequence) if _BACKWARD in name]
    quarter = forward[len(forward) // 4] if forward else 0
    return next((place for place in backward if place > quarter), None)


# -- what is reserved without some parts

MOST_SAMPLES: Final = 500  # positions at which sets are looked at first


class Reserved:
    """What space 0 reserves, and what it would without some of its parts."""

    def __init__(self, report: MemoryReport, parts: Iterable[Part]) -> None:
        curve = report.map.curve(0, "temp") or Curve()
        self.temp = SpacePeak(curve)
        self.tenures = _list_allocated(parts)
        # For `bound_gain`: the highest position of each of some stretches of time, with what is in
        # use there. The nearer the new peak is to one of them, the fewer sets are measured in vain.
        points = list(zip(curve.positions, curve.levels, strict=True))
        step = len(points) // MOST_SAMPLES + 1
        stretches = (points[start : start + step] for start in range(0, len(points), step))
        self.samples = [max(stretch, key=itemgetter(1)) for stretch in stretches]
        self._bounds: dict[Part, tuple[int, list[int]]] = {}

    def saving(self, parts: Iterable[Part]) -> int:
        """Return how far the allocated size falls.

        The allocation of a parameter, an output or a constant goes with it; what else lies in it
        moves to the temporaries. The gaps between those stay as they are.

        An output has an allocation of 8 MiB, in which a temporary value of 3 MiB lies before the
        output is made. Without the output 8 MiB go, and 3 MiB come to the temporaries while that
        value lives. Where these are at their peak then, it saves 5 MiB; where they hold 3 MiB
        less than at their peak, it is 8 MiB.
        """
        parts = tuple(parts)
        freed, change = 0, [part.temp_curve for part in parts]
        for allocation, gone in _list_allocated(parts).items():
            kept = self.tenures[allocation] - gone
            if not any(tenure.is_owner for tenure in kept):
                freed += allocation.size_bytes
                moved = [tenure.curve() for tenure in kept]
                change += [Curve(one.positions, tuple(map(neg, one.levels))) for one in moved]
        return freed + self.temp.peak_bytes - self.temp.peak_without(add_curves(change))

    def bound_gain(self, parts: Iterable[Part]) -> int:
        """Return what it saves at most, from a few positions alone: it is quick.

        The peak that is left is no lower than at these positions, and what moves to the temporaries
        only adds to it; that is left out here.
        """
        bounds = [self._bound_part(part) for part in parts]
        levels = [level for _, level in self.samples]
        for _, removed in bounds:
            levels = [level - one for level, one in zip(levels, removed, strict=True)]
        left = max(levels, default=0)
        return sum(freed for freed, _ in bounds) + self.temp.peak_bytes - left

    def _bound_part(self, part: Part) -> tuple[int, list[int]]:
        """Return what a part frees at most, and what it holds at the samples."""
        if part not in self._bounds:
            freed = sum(
                allocation.size_bytes
                for allocation, gone in _list_allocated([part]).items()
                if any(one.is_owner for one in gone)
                or not any(one.is_owner for one in self.tenures[allocation])
            )
            held = [part.temp_curve.at(position) for position, _ in self.samples]
            self._bounds[part] = freed, held
        return self._bounds[part]


def _list_allocated(parts: Iterable[Part]) -> dict[Allocation, set[Tenure]]:
    """Return the tenures of parts that do not lie among the temporaries, by allocation."""
    found: dict[Allocation, set[Tenure]] = defaultdict(set)
    for part in parts:
        for tenure in part.tenures:
            if not tenure.is_temp:
                found[tenure.allocation].add(tenure)
    return found


# -- donation


def measure_donation(report: MemoryReport, module: Module) -> int | None:
    """Return what space 0 would reserve less, as `plan_relief` has it; None where nobody knows.

    An output takes its allocation with it, and the temporaries that lay there need room among
    the others: so it is less than the outputs' sizes. Only their allocations are looked at.
    """
    parts, reserved = _divide_outputs(report, module)
    return reserved.saving(parts.values()) if reserved else None


def add_savings(
    rows: Sequence[DonationRow], report: MemoryReport, module: Module
) -> tuple[DonationRow, ...]:
    """Return donations with what each saves alone, in the same way; unknown where nobody knows."""
    parts, reserved = _divide_outputs(report, module)
    if reserved is None:
        return tuple(rows)
    found = []
    for row in rows:
        part = parts.get(row.output_index or ()) if row.is_missed else None
        saving = Saving.of(reserved.saving, part)
        found.append(replace(row, saves_bytes=saving.together((saving,)), donatable=saving))
    return tuple(found)


def _divide_outputs(
    report: MemoryReport, module: Module
) -> tuple[dict[ShapeIndex, Part], Reserved | None]:
    """Return the outputs that could lie in parameters, by index, with what space 0 reserves.

    None of the latter where nobody knows.
    """
    if report.map.live_ranges is None or find_problem(module):
        return {}, None
    rows = list_missed_outputs(module, report.flow)
    missed = {key: row.output_index or () for key, row in rows.items()}
    parts = {index: Part("missed-donation", "") for index in missed.values()}
    rest = Part("temporaries", "")
    outputs = [
        one
        for one in report.map.assignment.allocations
        if one.allocation_type == "output"
        and not one.color
        and any(value.key in missed for value in one.values)
    ]
    tenures = Tenures(report.map, {value for one in outputs for value in one.values})
    for allocation in outputs:
        for tenure in set(tenures.of(allocation).values()):
            of = {missed[value.key] for value in tenure.values if value.key in missed}
            for part in [parts[index] for index in of] if tenure.is_owner and of else [rest]:
                part.tenures.append(tenure)
    return parts, Reserved(report, (*parts.values(), rest))


# -- the program without some values


class Without(Struct, frozen=True):
    """The peak of a space without certain values and what shares their bytes."""

    space: Annotated[int, figure("number of the memory space", NUMBER)]
    value_count: Annotated[int, figure("values taken away, in all spaces", COUNT)]
    removed_bytes: Annotated[int, figure("what they hold at the peak of the whole program", BYTES)]
    saves_bytes: Annotated[int, figure("how far the peak falls", BYTES)]
    peak_bytes: Annotated[int, figure("the most in use at once without them", BYTES)]
    position: Annotated[int, figure("where that is in the schedule", NUMBER)]
    instruction: Annotated[str | None, figure("the instruction that runs there")]


WITHOUT: Final = Block(
    "without", Without, "the peak without the values of --without", is_optional=True
)


def take_away(
    report: MemoryReport, module: Module | None, holds: Callable[[BufferRow], bool], color: int
) -> tuple[MemoryReport, Without]:
    """Return the memory without the tenures in which a condition holds for a value, of all spaces.

    What a value holds is known of those at the peak of their space. `figures` stay those of the
    whole program; the peak of one space is compared with what it was. Raises InputError where
    nothing says when values live.
    """
    live_ranges, assignment = report.map.live_ranges, report.map.assignment
    if live_ranges is None:
        raise InputError(
            "--without needs live ranges: give the live ranges (--live-range) or the module text "
            "(--module-text)."
        )
    at_peak = {
        (row.value, row.space): row
        for each in report.map.colors()
        for row in rows_at(report, module, report.peak_of(each).position or 0, each)
    }
    tenures = {
        row.held.part
        for row in all_rows(report, module, None)
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
