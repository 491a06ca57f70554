"""What is there to know about the things that were named? All lists of one answer.

What `hlotool show` answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.report import COLLECTIVE_ROWS, choose_row_columns
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.finding import FINDINGS, Finding
from hlotool.analysis.origin import add_stacks
from hlotool.analysis.show.memory import SharingValue, ShownValue, list_values
from hlotool.analysis.show.names import Meant, find_meant
from hlotool.analysis.show.neighbours import BodyRow, NeighbourRow, find_neighbours, list_body
from hlotool.analysis.show.subjects import (
    ShowEvidence,
    SubjectRow,
    describe_computation,
    describe_instruction,
)
from hlotool.hlo import Computation, Instruction
from hlotool.hlo.module import find_async_start
from hlotool.table import Block, DocumentSpec, RowList


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


SUBJECTS: Final = RowList(
    "subjects",
    SubjectRow,
    "what the names mean, in the order asked for",
    size="memory_bytes_per_run",
    lower_if=("is_lower_bound",),
    upper_if=("is_upper_bound",),
    has_total=False,  # a loop and what is in it do not add up
)

SUBJECT: Final = Block("subject", SubjectRow, "one of them, for the lines above the tables")

MEMORY: Final = RowList(
    "memory",
    ShownValue,
    "the values that the subjects define, and where they lie",
    size="size_bytes",
    key="value",
    has_total=False,
    title="Memory",
)

SHARING: Final = RowList(
    "sharing",
    SharingValue,
    "values that lie in the same bytes at some time, by when they are live",
    sort="born",
    size="size_bytes",
    key="value",
    has_total=False,
    limit=8,
    title="In the same bytes at some time",
)

NEIGHBOURS: Final = RowList(
    "neighbours",
    NeighbourRow,
    "what gives to the subjects and takes from them, nearest first; with --hops, further away",
    size="size_bytes",
    key="name",
    has_total=False,
    title="Operands and users",
)

BODY: Final = RowList(
    "body",
    BodyRow,
    "what is inside, in the order of the text; figures of one execution",
    size="flops",
    key="name",
    has_total=False,
    title="Inside",
)

_TIMES: Final = {"transfer_seconds", "overlapped_seconds", "exposed_seconds", "measured_seconds"}
COLLECTIVES: Final = replace(
    COLLECTIVE_ROWS.showing(COLLECTIVE_ROWS.shown() - _TIMES),
    name="collectives",
    meaning="the collectives that subjects are, begin, end or hold",
    has_total=False,
    title="Collective",
)

FOUND: Final = replace(FINDINGS, meaning="findings about the subjects")

SHOW: Final = DocumentSpec(
    "show",
    "all there is about some instructions, computations, parameters or source lines",
    row_lists=(SUBJECTS, MEMORY, SHARING, NEIGHBOURS, BODY, COLLECTIVES, FOUND),
)


def choose_show_columns(collectives: Sequence[CollectiveRow]) -> DocumentSpec:
    """Return the declaration with the columns that `hlotool collectives` would show."""
    chosen = choose_row_columns(collectives)
    shown = COLLECTIVES.showing(chosen.shown())
    return replace(
        SHOW, row_lists=tuple(shown if each is COLLECTIVES else each for each in SHOW.row_lists)
    )


# The same where several things were named: each row says which it is about.
SHOW_SEVERAL: Final = replace(
    SHOW,
    row_lists=(
        SUBJECTS,
        *(each.showing(each.shown() | {"of"}) for each in (MEMORY, SHARING, NEIGHBOURS, BODY)),
        COLLECTIVES,
        FOUND,
    ),
)


def choose_several_columns(subjects: Sequence[SubjectRow]) -> DocumentSpec:
    """Return the declaration for several names, with measured times if a profile has any."""
    if all(row.measured_seconds is None for row in subjects):
        return SHOW_SEVERAL
    timed = SUBJECTS.showing(SUBJECTS.shown() | {"measured_seconds"})
    return replace(SHOW_SEVERAL, row_lists=(timed, *SHOW_SEVERAL.row_lists[1:]))
