"""What is worth a look in a module: `FINDERS`, each of which looks for one thing.

A finder writes what it finds as sentences, one for all things of one cause. From which size on
something is worth one stands in `finding`; what nobody knows (a trip count, the flops of a custom
call) is worth one of any size, as every total depends on it. Finders that ask about collectives
stand in `collectives`, `gathers` and `loops`, the one about products in `replicated`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost.arithmetic import APPLYING
from hlotool.analysis.findings import collectives, gathers, loops, memory, replicated, widths, work
from hlotool.analysis.findings.finding import (
    ADVICE,
    LEAST_BYTES,
    LEAST_SECONDS,
    TRAFFIC,
    Evidence,
    Finding,
    FindingCode,
    name_all,
    percent,
)
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.analysis.graph.calls import reach
from hlotool.analysis.memory.figures import SpaceRow
from hlotool.analysis.origin import write_source
from hlotool.hlo import ArrayShape, Computation, Instruction
from hlotool.hlo.opcodes import MOVES
from hlotool.table.words import count_noun, list_some, plural

_MOST_NAMED = 3


def find_missed_fusions(evidence: Evidence) -> Iterator[Finding]:
    """Find elementwise operations outside fusions that take 1 % of all bytes, and 1 MiB.

    Not those that have nothing beside them to fuse with, such as the zeros a loop begins with.
    """
    for row in evidence.missed:
        if row.opcode not in MOVES and not row.is_alone:
            size = row.known_traffic_bytes_per_step
            verb = plural(row.count, "runs", "run")
            yield Finding(
                size,
                "warning",
                "missed-fusion",
                f"{name_all(row.members)} ({row.opcode}) {verb} outside any fusion, for "
                f"{evidence.share(size)} of all memory traffic.",
                row.name,
                write_source(row.source_file, row.source_line),
                count=len(row.members),
            )


def find_unknown_trip_counts(evidence: Evidence) -> Iterator[Finding]:
    """Find loops whose trip count neither stands in the dump nor follows from it: one for all."""
    loops = [one.instruction for one in evidence.executions.loops if one.trips.count is None]
    if loops:
        names = name_all([one.full_name for one in loops])
        counts = plural(len(loops), "it counts", "each counts")
        message = f"The trip count of {names} is unknown: {counts} once in every total."
        yield _note("unknown-trip-count", message, loops)


def find_contradicted_trip_counts(evidence: Evidence) -> Iterator[Finding]:
    """Find loops whose printed trip count is another than condition, step and init come to."""
    for loop in evidence.executions.loops:
        if loop.trips.contradicting is not None:
            yield _note(
                "contradicted-trip-count",
                f"{loop.instruction.full_name} has a printed trip count of "
                f"{loop.trips.count:,}, but its counter gives {loop.trips.contradicting:,}. "
                "Totals use the printed one, as XLA does.",
                [loop.instruction],
            )


def find_unknown_costs(evidence: Evidence) -> Iterator[Finding]:
    """Find what costs nobody knows how much, as it is malformed: one finding for all."""
    unknown = evidence.costs.unknown
    if unknown and evidence.cost.is_lower_bound:
        listed = list_some([f"{one.full_name} ({one.opcode})" for one in unknown], 1)
        reason = next(iter(unknown.values()))
        message = f"The cost of {listed} is unknown, so totals are lower bounds: {reason}."
        yield _note("unknown-cost", message, list(unknown))


def find_unknown_custom_calls(evidence: Evidence) -> Iterator[Finding]:
    """Find custom calls that may compute anything, in fusions too: one finding for all."""
    if not evidence.cost.unknown_custom_call_count:
        return
    costs = evidence.costs

    def list_inside(computation: Computation) -> list[Computation]:
        """Return the fusion bodies and reducers that a computation applies."""
        applied = (one.callee() for one in computation.instructions if one.opcode in APPLYING)
        return [body for body in applied if body]

    unknown = [
        instruction
        for computation in reach(evidence.executions.executed, list_inside)
        for instruction in computation.instructions
        if instruction.opcode == "custom-call" and costs.read_call(instruction).flops is None
    ]
    if unknown:
        targets = Counter(one.custom_call_target for one in unknown)
        listed = list_some([target for target, _ in targets.most_common()], _MOST_NAMED)
        calls = count_noun(str(len(unknown)), "custom call")
        message = f"{calls} ({listed}) may compute anything: flops are a lower bound."
        yield _note("unknown-custom-call", message, unknown)


def _note(code: FindingCode, message: str, about: Sequence[Instruction]) -> Finding:
    """Make the finding that something is unknown of some instructions; it has no size."""
    first, location = about[0], about[0].source_location()
    source = write_source(location.file, location.line) if location else None
    return Finding(None, "info", code, message, first.full_name, source, count=len(about))


LEAST_PADDING_SHARE: Final = 0.1
LEAST_FRAGMENTATION_SHARE: Final = 0.05
_LEAST_REPLICATED: Final = 0.1  # of what a device holds at its peak
_LEAST_HELD: Final = 0.1  # of the gaps; on TPU it is tables of tuples that hold less


def find_replicated_parameters(evidence: Evidence) -> Iterator[Finding]:
    """Find large parameters that lie whole on every device: one finding for all of them.

    Its bytes are those of parameters alone: the peak falls less where gathered copies hold it.
    """
    count = evidence.module.header.num_partitions
    whole = [row for row in evidence.parameters if row.copies == count]
    rows = [row for row in whole if (row.local_bytes or 0) >= LEAST_BYTES]
    rows.sort(key=lambda row: -(row.local_bytes or 0))
    saved = sum(row.saves_bytes or 0 for row in rows)
    peak = evidence.memory.figures.totals.peak_bytes if evidence.memory else None
    if not rows or saved < (peak or 0) * _LEAST_REPLICATED:
        return
    first = rows[0]
    named = first.name or f"parameter {first.number}"
    others = f" and {len(rows) - 1:,} more are" if len(rows) > 1 else " is"
    yield Finding(
        saved,
        "warning",
        "replicated-large-parameter",
        f"{named} {first.global_shape}{others} replicated on all {first.copies} devices. "
        "Sharding removes the copies, but each gather takes memory again.",
        count=len(rows),
        parameter=named,
    )


def find_padding(evidence: Evidence) -> Iterator[Finding]:
    """Find spaces of which more than 10 % at the peak, and 1 MiB, is tile padding.

    A warning for space 0, which is what runs out.
    """
    for space in _spaces(evidence):
        padding, peak = space.padding_bytes or 0, space.peak_bytes or 0
        if padding > LEAST_BYTES and padding > LEAST_PADDING_SHARE * peak:
            yield Finding(
                padding,
                "info" if space.space else "warning",
                "padding",
                f"{percent(padding, peak)} of the peak of {_space_name(space)} is tile "
                f"padding.{_say_padded(evidence, space.space)}",
                space.peak_instruction,
            )


_LEAST_PADDED: Final = 3  # padding of a third of an array


def _say_padded(evidence: Evidence, space: int) -> str:
    """Say in which array of a space most of the padding is, and which of its axes it is for."""
    worst: tuple[int, str, ArrayShape] | None = None
    for computation in evidence.executions.executed:
        for one in computation.instructions:
            shape = one.shape
            if not isinstance(shape, ArrayShape) or shape.memory_space != space:
                continue
            size = shape.size_bytes or 0
            padding = size - (shape.unpadded_bytes or size)
            is_worse = worst is None or padding > worst[0]
            if padding >= LEAST_BYTES and padding * _LEAST_PADDED > size and is_worse:
                worst = padding, one.full_name, shape
    layout = worst[2].layout if worst else None
    if worst is None or layout is None or not layout.tiles:
        return ""
    tile, order = layout.tiles[0], layout.minor_to_major
    # The last number of a tile is for the minor dimension.
    axes = [
        (-(-worst[2].dims[axis] // length) * length, axis)
        for axis, length in zip(order, reversed(tile), strict=False)
        if length > 0 and worst[2].dims[axis]
    ]
    taken, axis = max(axes, key=lambda one: one[0] / worst[2].dims[one[1]])
    return (
        f" The largest padded array is {worst[1]} {worst[2].without_layout()}: its axis "
        f"{axis} has length {worst[2].dims[axis]} and takes room for {taken}."
    )


def find_fragmentation(evidence: Evidence) -> Iterator[Finding]:
    """Find spaces of which more than 5 %, and 1 MiB, is never in use at once.

    Not on TPU where temporaries hold a tenth of it at most: each table of a tuple, of some
    hundred bytes, lies 16 KiB behind the one before, and no other order helps.
    """
    is_tpu = evidence.memory is not None and evidence.memory.figures.backend == "tpu"
    for space in _spaces(evidence):
        gaps, allocated = space.fragmentation_bytes or 0, space.allocated_bytes or 0
        if is_tpu and (space.temp_peak_bytes or 0) <= _LEAST_HELD * gaps:
            continue
        if gaps > LEAST_BYTES and gaps > LEAST_FRAGMENTATION_SHARE * allocated:
            yield Finding(
                gaps,
                "info",
                "fragmentation",
                f"{percent(gaps, allocated)} of {_space_name(space)} is reserved for "
                "temporaries but never all in use at once.",
            )


def _spaces(evidence: Evidence) -> tuple[SpaceRow, ...]:
    return evidence.memory.figures.spaces if evidence.memory else ()


def _space_name(space: SpaceRow) -> str:
    return f"space {space.space}" + (f" ({space.name})" if space.name else "")


_TIMES: Final = 3  # what is so many times the estimate is worth a look
_LEAST_SHARE: Final = 0.01  # of a step


def find_slow_fusions(evidence: Evidence) -> Iterator[Finding]:
    """Find fusions that took three times what the chip needs for their bytes and flops.

    With a profile and a chip. Those count that lose a hundredth of a step, and 10 µs. The estimate
    is at the chip's peaks, and leaves out launches: small fusions are below it anyway.
    """
    times = [
        (row, row.known_traffic_bytes_per_step, row.measured_seconds, row.estimated_seconds)
        for row in evidence.fusions
    ]
    yield from _find_slow(evidence, times, "slow-fusion", "at the chip's peaks")


def find_slow_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives that took three times what the link needs for their bytes.

    With a profile and a chip, as `find_slow_fusions`.
    """
    times = [
        (row, row.known_sent_bytes_per_step, row.measured_seconds, row.transfer_seconds)
        for row in (evidence.collectives.rows if evidence.collectives and evidence.chip else ())
    ]
    yield from _find_slow(evidence, times, "slow-collective", "at the speed of the link")


# A row, its bytes, how long it took and how long it should have.
_Times: TypeAlias = tuple[FusionRow | CollectiveRow, int, float | None, float | None]


def _find_slow(
    evidence: Evidence, times: Iterable[_Times], code: FindingCode, speed: str
) -> Iterator[Finding]:
    """Write one finding about all rows that are slow, the one that loses most first."""
    run = evidence.measured.step_seconds if evidence.measured else None
    least = max(LEAST_SECONDS, _LEAST_SHARE * (run or 0))
    slow = [
        (measured - estimated, row, size, measured, estimated)
        for row, size, measured, estimated in times
        if measured is not None and estimated is not None
        if measured > _TIMES * estimated and measured - estimated > least
    ]
    if not slow:
        return
    slow.sort(key=lambda each: (-each[0], each[1].name))
    _, rows, sizes, all_measured, all_estimated = zip(*slow, strict=True)
    measured, estimated, first = sum(all_measured), sum(all_estimated), rows[0]
    share = f", {percent(measured, run)} of a step" if run else ""
    yield Finding(
        sum(sizes),
        "warning",
        code,
        f"{name_all([row.name for row in rows])} took {measured * 1000000.0:,.0f} µs per "
        f"step{share}; {estimated * 1000000.0:,.0f} µs are enough {speed}.",
        first.name,
        write_source(first.source_file, first.source_line),
        estimated_seconds=measured - estimated,
        weighted_bytes=round((measured - estimated) * evidence.pricing.chip.hbm_bytes_per_second),
        count=len(rows),
    )


# Adding a finding is adding a function: its docstring says when it speaks.
FINDERS: Final[tuple[Callable[[Evidence], Iterable[Finding]], ...]] = (
    collectives.find_exposed_collectives,
    widths.find_wide_collectives,
    find_missed_fusions,
    memory.find_large_copies,
    memory.find_dominant_arrays,
    memory.find_missed_donations,
    find_replicated_parameters,
    replicated.find_replicated_compute,
    gathers.find_gathered_twice,
    gathers.find_sliced_gathers,
    loops.find_loop_invariant_collectives,
    loops.find_reductions_in_loops,
    work.find_one_hot_products,
    work.find_computed_twice,
    work.find_converted_products,
    work.find_update_copies,
    work.find_sorted_slices,
    work.find_baked_constants,
    work.find_nondeterminism,
    find_padding,
    find_fragmentation,
    find_slow_collectives,
    find_slow_fusions,
    find_unknown_trip_counts,
    find_contradicted_trip_counts,
    find_unknown_custom_calls,
    find_unknown_costs,
)


def collect_findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Ask every function of `FINDERS`; add advice and, for traffic, its weight and its time.

    Warnings come first, then what takes most time, by the chip or at the ratios of the one that
    stands for the backend, then what has most bytes. Traffic goes at the peak rate of the memory.
    """
    weighted = []
    for one in (finding for find in FINDERS for finding in find(evidence)):
        found = replace(one, advice=one.advice or ADVICE[one.id])
        if found.id in TRAFFIC and found.bytes is not None:
            chip = evidence.chip
            seconds = found.bytes / chip.hbm_bytes_per_second if chip else found.estimated_seconds
            found = replace(found, weighted_bytes=found.bytes, estimated_seconds=seconds)
        weighted.append(found)
    return tuple(sorted(weighted, key=_rank))


def _rank(one: Finding) -> tuple[bool, int, int, str, str]:
    is_note = one.severity != "warning"
    return is_note, -(one.weighted_bytes or -1), -(one.bytes or -1), one.id, one.message
