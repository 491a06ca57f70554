"""Findings about memory: what most of it is, copies and why they are there, and donation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from hlotool.analysis.dataflow.copies import Copy, CopyCause, CopyReader
from hlotool.analysis.findings.finding import LEAST_BYTES, Evidence, Finding, name_all, percent
from hlotool.analysis.fusions.rows import is_copy_only
from hlotool.analysis.memory.donated import measure_donation
from hlotool.analysis.memory.donation import DonationRow, is_update
from hlotool.analysis.memory.memory_map import list_holdings
from hlotool.analysis.memory.reduction_plan import SAVES_CAVEAT
from hlotool.analysis.memory.rows import rows_at
from hlotool.analysis.origin import read_origin, write_source
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import MOVES
from hlotool.table.sums import group_by
from hlotool.table.words import plural

_LEAST_DOMINANT: Final = 0.75  # of what space 0 holds at its peak
# What was tried against it; of loops and layouts where a parameter is copied.
COPY_ADVICE: Final[Mapping[CopyCause, str]] = {
    "returned": "do not return it",
    "loop-carry": "donate it, if the caller is done with it",
    "layout": "keep its dimensions in the order in which they are used",
}


class _Copies(NamedTuple):
    """Copies of one cause: names, opcode, bytes per step, source line."""

    names: list[str]
    opcode: str
    size: int
    source: str | None
    why: Copy


def find_large_copies(evidence: Evidence) -> Iterator[Finding]:
    """Find copies and layout changes that take 1 % of all memory traffic, fused or not.

    A copy that makes a donation worthless is left to `find_missed_donations`.
    """
    reader = CopyReader(evidence.module, evidence.flow)
    for one in (*_list_copies(evidence, reader), *_list_copy_fusions(evidence, reader)):
        if one.size >= evidence.least_traffic_bytes:
            moves = plural(len(one.names), "moves", "move")
            cause = one.why.cause if reader.find_given(one.why.source) is not None else None
            yield Finding(
                one.size,
                "warning",
                "large-copy",
                f"{name_all(one.names)} ({one.opcode}) only {moves} data, "
                f"{evidence.share(one.size)} of all memory traffic{one.why.because}.",
                one.names[0],
                one.source,
                COPY_ADVICE.get(cause, "") if cause else "",
                count=len(one.names),
            )


def _list_copies(evidence: Evidence, reader: CopyReader) -> Iterator[_Copies]:
    """Yield copies outside of fusions, those of one cause together."""
    instructions = evidence.module.instructions() if evidence.missed else ()
    named = {one.full_name: one for one in instructions}
    for row in evidence.missed:
        names = row.members if row.opcode in MOVES else ()
        read = [(one, reader.read(named[one])) for one in names if one not in evidence.named_copies]
        for members in group_by(read, lambda each: each[1].cause).values():
            # All members move equally much.
            size = row.known_traffic_bytes_per_step // len(row.members) * len(members)
            source = write_source(row.source_file, row.source_line)
            yield _Copies([one for one, _ in members], row.opcode, size, source, members[0][1])


def _list_copy_fusions(evidence: Evidence, reader: CopyReader) -> Iterator[_Copies]:
    """Yield fusions that only copy, in a scheduled program; of one line and cause together."""
    found: defaultdict[object, list[tuple[int, Instruction, str | None]]] = defaultdict(list)
    is_scheduled = evidence.module.header.is_scheduled
    for computation in evidence.executions.executed if is_scheduled else ():
        runs = evidence.executions.lower_bound(computation)
        for fusion in computation.instructions:
            body = fusion.callee() if fusion.opcode == "fusion" else None
            if body is None or not is_copy_only(body) or fusion.full_name in evidence.named_copies:
                continue
            origin = read_origin(fusion, reversed(body.instructions))
            source = write_source(origin.source_file, origin.source_line)
            size = evidence.costs.of(fusion).traffic_bytes * runs
            shape = "" if source else str(fusion.shape)
            found[shape, source, reader.read(fusion).cause].append((size, fusion, source))
    for members in found.values():
        members.sort(key=lambda one: -one[0])
        names = [one.full_name for _, one, _ in members]
        _, largest, source = members[0]
        size = sum(size for size, _, _ in members)
        yield _Copies(names, "fusion", size, source, reader.read(largest))


def find_dominant_arrays(evidence: Evidence) -> Iterator[Finding]:
    """Find the parameter that is three quarters of what space 0 holds at its peak."""
    report = evidence.memory
    peak = report.peak_of(0) if report else None
    if report is None or peak is None or peak.position is None:
        return
    held = list_holdings(report.map, peak.position, 0)
    whole, size = sum(one.live_bytes for one in held), held[0].live_bytes if held else 0
    is_given = bool(held) and held[0].allocation.allocation_type == "parameter"
    if not is_given or size < max(LEAST_BYTES, _LEAST_DOMINANT * whole):
        return
    for row in rows_at(report, peak.position, 0, most=1):
        yield Finding(
            size,
            "warning",
            "dominant-array",
            f"The parameter {row.parameter or row.value} {row.shape} is {percent(size, whole)} of "
            "what the program holds at its peak.",
            row.instruction,
            row.source,
            parameter=row.parameter,
        )


def find_missed_donations(evidence: Evidence) -> Iterator[Finding]:
    """Find parameters with a result of their shape in memory of its own, 1 MiB of them or more.

    One finding for all. A warning where the program donates other parameters, or a result is an
    update of its parameter, as of weights or a cache; else it may be meant so. Its bytes are what
    the program would reserve less, and where that is under 1 MiB there is none; where nobody knows,
    the sizes of the parameters.
    """
    rows = evidence.donations
    missed = [row for row in rows if row.is_missed]
    saving = measure_donation(evidence.memory) if missed and evidence.memory else None
    is_updated = any(is_update(evidence.module, row) for row in missed)
    if missed and (saving is None or saving >= LEAST_BYTES):
        yield Finding(
            sum(row.size_bytes for row in missed) if saving is None else saving,
            "warning" if any(row.is_donated for row in rows) or is_updated else "info",
            "donation-missed",
            _missed_message(missed, is_saving=saving is not None),
            count=len(missed),
            parameter=_name(missed[0]),
        )
    for row in rows:
        if names := [one for one in row.spare_copies if one in evidence.copied_first]:
            first = row.copy_instruction or names[0]
            yield Finding(
                row.size_bytes,
                "warning",
                "donation-copied",
                f"{_name(row)} is donated, but {first} copies it first.",
                first,
                advice="do not donate it" if evidence.memory else "",
            )


def _missed_message(missed: list[DonationRow], *, is_saving: bool) -> str:
    is_one = len(missed) == 1
    said = (
        f"{_name(missed[0])} is not donated, although a result has its shape"
        if is_one
        else f"{len(missed)} parameters, the largest {_name(missed[0])}, are not donated, although "
        "results have their shapes"
    )
    if is_saving:
        less = "donation reduces the allocated size by at most this"
        return f"{said}: {less}. {SAVES_CAVEAT}"
    them, whose = ("it", "its") if is_one else ("them", "their")
    return f"{said}: donating {them} saves at most {whose} size."


def _name(row: DonationRow) -> str:
    return row.parameter_name or f"parameter {row.parameter_number}"
