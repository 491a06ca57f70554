"""What `hlotool show` answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.answer import COLLECTIVE_ROWS, choose_row_columns
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.finding import FINDINGS
from hlotool.analysis.show.body import BodyRow
from hlotool.analysis.show.memory import SharingValue, ShownValue
from hlotool.analysis.show.neighbours import NeighbourRow
from hlotool.analysis.show.subjects import SubjectRow
from hlotool.fields import Block, DocumentSpec, RowList

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
