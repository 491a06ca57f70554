"""What is worth a look about what a module computes and moves, and what is unknown of it?

What took far longer in a profile than its bytes and flops say?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.cost.arithmetic import APPLYING
from hlotool.analysis.findings.finding import (
    LEAST_SECONDS,
    Evidence,
    Finding,
    FindingCode,
    name_all,
    percent,
    write_source,
)
from hlotool.analysis.fusions.missed import MissedRow
from hlotool.analysis.fusions.rows import is_copy_only
from hlotool.analysis.graph.calls import reach
from hlotool.analysis.origin import find_origin
from hlotool.hlo import Computation
from hlotool.hlo.opcodes import MOVES
from hlotool.table.words import count_noun, list_some, plural

_MOST_NAMED = 3


def find_missed_fusions(evidence: Evidence) -> Iterator[Finding]:
    """Find elementwise operations outside fusions that take 1 % of all bytes, and 1 MiB.

    Not those that have nothing beside them to fuse with, such as the zeros a loop begins with.
    """
    for row in evidence.missed:
        if row.opcode not in MOVES and not row.is_alone:
            size = row.known_memory_bytes_per_run
            names = name_all(row.members)
            verb = plural(row.count, "runs", "run")
            yield _finding_of(
                row,
                "missed-fusion",
                f"{names} ({row.opcode}) {verb} outside any fusion, for {evidence.share(size)} of "
                "all memory traffic.",
            )


def find_large_copies(evidence: Evidence) -> Iterator[Finding]:
    """Find copies and layout changes that take 1 % of all memory traffic, fused or not.

    A copy that makes a donation worthless is left to `find_missed_donations`.
    """
    for row in evidence.missed:
        left = _without_donations(row, evidence) if row.opcode in MOVES else None
        if left and left.known_memory_bytes_per_run >= evidence.least_traffic_bytes:
            size = left.known_memory_bytes_per_run
            message = _copy_message(evidence, left.members, left.opcode, size)
            yield _finding_of(left, "large-copy", message)
    yield from _find_copy_fusions(evidence)


def _without_donations(row: MissedRow, evidence: Evidence) -> MissedRow | None:
    """Leave out the copies that another finding names; all members move equally much."""
    members = tuple(one for one in row.members if one not in evidence.copied_first)
    if not members:
        return None
    size = row.known_memory_bytes_per_run // len(row.members) * len(members)
    return replace(row, name=members[0], members=members, known_memory_bytes_per_run=size)


def _copy_message(evidence: Evidence, names: Sequence[str], opcode: str, size_bytes: int) -> str:
    moves = plural(len(names), "moves", "move")
    share = evidence.share(size_bytes)
    return f"{name_all(names)} ({opcode}) only {moves} data, {share} of all memory traffic."


def _finding_of(row: MissedRow, code: FindingCode, message: str) -> Finding:
    return Finding(
        row.known_memory_bytes_per_run,
        "warning",
        code,
        message,
        row.name,
        write_source(row.source_file, row.source_line),
        count=len(row.members),
    )


def _find_copy_fusions(evidence: Evidence) -> Iterator[Finding]:
    """Find fusions that only copy; those of one source line share a finding."""
    found: dict[tuple[str, str | None], list[tuple[str, int]]] = {}
    if not evidence.module.header.is_scheduled:
        return
    for computation in evidence.executions.executed:
        runs = evidence.executions.lower_bound(computation)
        for fusion in computation.instructions:
            body = fusion.callee() if fusion.opcode == "fusion" else None
            if body is None or not is_copy_only(body):
                continue
            if fusion.full_name in evidence.copied_first:
                continue
            origin = find_origin(fusion, reversed(body.instructions))
            source = write_source(origin.source_file, origin.source_line)
            size = evidence.costs.of(fusion).memory_bytes * runs
            shape = "" if source else str(fusion.shape)
            found.setdefault((shape, source), []).append((fusion.full_name, size))
    for (_, source), members in found.items():
        members.sort(key=lambda one: -one[1])
        size = sum(one for _, one in members)
        if size >= evidence.least_traffic_bytes:
            names = [name for name, _ in members]
            message = _copy_message(evidence, names, "fusion", size)
            first, count = names[0], len(names)
            yield Finding(size, "warning", "large-copy", message, first, source, count=count)


def find_unknown_trip_counts(evidence: Evidence) -> Iterator[Finding]:
    """Find loops whose trip count neither stands in the dump nor follows from it: one for all."""
    loops = [one.instruction for one in evidence.executions.loops if one.trip_count is None]
    if not loops:
        return
    verb = plural(len(loops), "repeats its body", "repeat their bodies")
    counts = plural(len(loops), "it counts", "each counts")
    location = loops[0].source_location()
    yield Finding(
        None,
        "info",
        "unknown-trip-count",
        f"How often {name_all([one.full_name for one in loops])} {verb} is not known: {counts} "
        "once in every total.",
        loops[0].full_name,
        write_source(location.file, location.line) if location else None,
        count=len(loops),
    )


def find_contradicted_trip_counts(evidence: Evidence) -> Iterator[Finding]:
    """Find loops whose printed trip count is another than condition, step and init come to."""
    for loop in evidence.executions.loops:
        if loop.contradicting_trip_count is not None:
            name = loop.instruction.full_name
            location = loop.instruction.source_location()
            yield Finding(
                None,
                "info",
                "contradicted-trip-count",
                f"{name} is printed to repeat its body {loop.trip_count:,} times, but its own "
                f"counter comes to {loop.contradicting_trip_count:,}: the printed count is "
                "followed, as XLA does.",
                name,
                write_source(location.file, location.line) if location else None,
            )


def find_unknown_costs(evidence: Evidence) -> Iterator[Finding]:
    """Find what costs nobody knows how much, as it is malformed: one finding for all."""
    unknown = evidence.costs.unknown
    if not unknown or not evidence.cost.is_lower_bound:
        return
    first, reason = next(iter(unknown.items()))
    names = [f"{one.full_name} ({one.opcode})" for one in unknown]
    location = first.source_location()
    yield Finding(
        None,
        "info",
        "unknown-cost",
        f"The cost of {list_some(names, 1)} is not known, and totals are lower bounds: {reason}.",
        first.full_name,
        write_source(location.file, location.line) if location else None,
        count=len(unknown),
    )


def find_unknown_custom_calls(evidence: Evidence) -> Iterator[Finding]:
    """Find custom calls that may compute anything, in fusions too: one finding for all."""
    if not evidence.cost.unknown_custom_call_count:
        return
    unknown = [
        instruction
        for computation in reach(evidence.executions.executed, partial(_find_hiding, evidence))
        for instruction in computation.instructions
        if instruction.opcode == "custom-call"
        and evidence.costs.read_call(instruction).flops is None
    ]
    if not unknown:
        return
    targets = Counter(one.custom_call_target for one in unknown)
    listed = list_some([target for target, _ in targets.most_common()], _MOST_NAMED)
    location = unknown[0].source_location()
    calls = count_noun(str(len(unknown)), "custom call")
    yield Finding(
        None,
        "info",
        "unknown-custom-call",
        f"{calls} ({listed}) may compute anything: flops are a lower bound.",
        unknown[0].full_name,
        write_source(location.file, location.line) if location else None,
        count=len(unknown),
    )


def _find_hiding(evidence: Evidence, computation: Computation) -> list[Computation]:
    """Return the fusion bodies and reducers of a computation that hold an unknown custom call."""
    bodies = [one.callee() for one in computation.instructions if one.opcode in APPLYING]
    return [
        body
        for body in bodies
        if body and evidence.costs.of_computation(body).unknown_custom_call_count
    ]


_TIMES: Final = 3  # what is so many times the estimate is worth a look
_LEAST_SHARE: Final = 0.01  # of a run


class _Slow(Struct, frozen=True):
    """A row that took longer than it should have."""

    name: str
    source: str | None
    size_bytes: int
    measured: float
    estimated: float

    @property
    def lost(self) -> float:
        """What it took too long."""
        return self.measured - self.estimated


def find_slow_fusions(evidence: Evidence) -> Iterator[Finding]:
    """Find fusions that took three times what the chip needs for their bytes and flops.

    With a profile and a chip. Those count that lose a hundredth of a run, and 10 µs. The estimate
    is at the chip's peaks, and leaves out launches: small fusions are below it anyway.
    """
    found = [
        _Slow(
            row.name,
            write_source(row.source_file, row.source_line),
            row.known_memory_bytes_per_run,
            row.measured_seconds,
            row.estimated_seconds,
        )
        for row in evidence.fusions
        if row.measured_seconds is not None and row.estimated_seconds is not None
    ]
    yield from _write(evidence, found, "slow-fusion", "at the chip's peaks")


def find_slow_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives that took three times what the link needs for their bytes.

    With a profile and a chip, as `find_slow_fusions`.
    """
    rows = evidence.collectives.rows if evidence.collectives and evidence.chip else ()
    found = [
        _Slow(
            row.name,
            write_source(row.source_file, row.source_line),
            row.known_wire_bytes_per_run,
            row.measured_seconds,
            row.transfer_seconds,
        )
        for row in rows
        if row.measured_seconds is not None and row.transfer_seconds is not None
    ]
    yield from _write(evidence, found, "slow-collective", "at the speed of the link")


def _write(
    evidence: Evidence, found: Iterable[_Slow], code: FindingCode, speed: str
) -> Iterator[Finding]:
    """Write one finding about all rows that are slow, the one that loses most first."""
    run = evidence.measured.run_seconds if evidence.measured else None
    least = max(LEAST_SECONDS, _LEAST_SHARE * (run or 0))
    slow = [each for each in found if each.measured > _TIMES * each.estimated and each.lost > least]
    if not slow:
        return
    slow.sort(key=lambda each: (-each.lost, each.name))
    measured, estimated = (sum(each.measured for each in slow), sum(e.estimated for e in slow))
    lost = measured - estimated
    share = f", {percent(measured, run)} of a run" if run else ""
    yield Finding(
        sum(each.size_bytes for each in slow),
        "warning",
        code,
        f"{name_all([each.name for each in slow])} took {measured * 1e6:,.0f} µs in one run"
        f"{share}, where {estimated * 1e6:,.0f} µs are enough {speed}.",
        slow[0].name,
        slow[0].source,
        estimated_seconds=lost,
        weighted_bytes=round(lost * evidence.pricing.chip.hbm_bytes_per_second),
        count=len(slow),
    )
