"""What is there to know about the things that were named? All lists of one answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.origin.stack import add_stacks
from hlotool.analysis.show.body import BodyRow, list_body
from hlotool.analysis.show.evidence import ShowEvidence
from hlotool.analysis.show.memory import SharingValue, ShownValue, list_values
from hlotool.analysis.show.names import Meant, find_meant
from hlotool.analysis.show.neighbours import NeighbourRow, find_neighbours
from hlotool.analysis.show.subjects import SubjectRow, describe_computation, describe_instruction
from hlotool.ir.async_chain import find_async_start
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction


class ShowReport(Struct, frozen=True):
    """Subjects in the order asked for; of each, what stands around and inside it."""

    subjects: tuple[SubjectRow, ...]
    memory: tuple[ShownValue, ...]
    sharing: tuple[SharingValue, ...]
    neighbours: tuple[NeighbourRow, ...]
    body: tuple[BodyRow, ...]
    collectives: tuple[CollectiveRow, ...]
    findings: tuple[Finding, ...]


def show_names(names: Iterable[str], hops: int, evidence: ShowEvidence) -> ShowReport:
    """Return what there is to know about some names; each subject once.

    Raises UsageError where a name means nothing, or several things.
    """
    wanted = _find_subjects(names, evidence)
    subjects = [_describe(one, meant, evidence) for one, meant in wanted]
    instructions = [(one, meant) for one, meant in wanted if isinstance(one, Instruction)]
    memory, sharing = list_values([(one, meant.index) for one, meant in instructions], evidence)
    return ShowReport(
        add_stacks(subjects, evidence.module),
        memory,
        sharing,
        tuple(
            row
            for one, meant in instructions
            for row in find_neighbours(one, meant.index, hops, evidence.callers, evidence.costs)
        ),
        tuple(row for one, _ in wanted for row in _list_inside(one, evidence)),
        _find_collectives([one for one, _ in instructions], evidence.collectives),
        tuple(
            each
            for each in evidence.findings
            if each.instruction in {one.full_name for one, _ in instructions}
        ),
    )


def _find_subjects(
    names: Iterable[str], evidence: ShowEvidence
) -> list[tuple[Instruction | Computation, Meant]]:
    found: dict[Instruction | Computation, Meant] = {}
    for name in names:
        meant = find_meant(name, evidence.names)
        if meant.computation is not None:
            found.setdefault(meant.computation, meant)
        for one in meant.instructions:
            found.setdefault(one, meant)
    return list(found.items())


def _describe(one: Instruction | Computation, meant: Meant, evidence: ShowEvidence) -> SubjectRow:
    if isinstance(one, Instruction):
        return describe_instruction(one, meant, evidence)
    return describe_computation(one, meant, evidence)


def _list_inside(one: Instruction | Computation, evidence: ShowEvidence) -> Sequence[BodyRow]:
    if isinstance(one, Computation):
        return list_body(one.name, one, evidence.costs)
    called = dict.fromkeys(one.called_computations())
    return [row for each in called for row in list_body(one.full_name, each, evidence.costs)]


def _find_collectives(
    instructions: Iterable[Instruction], rows: Iterable[CollectiveRow]
) -> tuple[CollectiveRow, ...]:
    """Return the collectives that instructions are, begin, end, or hold."""
    named = set()
    for one in instructions:
        start = find_async_start(one)
        named |= {one.full_name, start.full_name if start else ""}
    return tuple(row for row in rows if row.name in named)
