"""Which parameters no longer give their memory to an output, or do now?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hlotool.analysis.memory.donation import DonationRow
from hlotool.compare.causes.cause import Cause, CauseKind
from hlotool.compare.causes.evidence import Evidence
from hlotool.compare.causes.names import list_names
from hlotool.program.program import Program

_TREE: Final = re.compile(r"\w+(?:\[[^\]]*\]|\.\w+)?")  # `state['mu']` of `state['mu']['w'][0]`


def find_donation(evidence: Evidence) -> Iterator[Cause]:
    """Yield donations that are gone, and new ones, of parameters that both sides have.

    Parameters are the same if their names are, without names if their numbers are. Bytes are
    those of the arrays.
    """
    left, right = evidence.modules
    here, there = left.header, right.header
    if here.aliases == there.aliases and here.donors == there.donors:
        return
    sides = _by_name(evidence.left), _by_name(evidence.right)
    known = _names(evidence.left) & _names(evidence.right)
    lost = [row for key, row in sides[0].items() if key in known and key not in sides[1]]
    gained = [row for key, row in sides[1].items() if key in known and key not in sides[0]]
    if lost:
        yield _describe("donation lost", lost, -1)
    if gained:
        yield _describe("donation gained", gained, 1)


def _describe(kind: CauseKind, rows: Sequence[DonationRow], sign: int) -> Cause:
    trees: dict[str, int] = {}
    for row in rows:
        name = row.parameter_name or f"parameter {row.parameter_number}"
        found = _TREE.match(name)
        tree = found[0] if found and row.parameter_name else name
        trees[tree] = trees.get(tree, 0) + row.size_bytes
    ordered = sorted(trees, key=lambda tree: -trees[tree])
    return Cause(
        kind=kind,
        count=len(rows),
        subject=list_names(ordered),
        measure="donated",
        delta_bytes=sign * sum(row.size_bytes for row in rows),
    )


def _by_name(program: Program) -> Mapping[str, DonationRow]:
    return {_name(row): row for row in program.donations if row.status != "not-donated"}


def _name(row: DonationRow) -> str:
    return row.parameter_name or f"{row.parameter_number}"


def _names(program: Program) -> set[str]:
    """Name all entry parameters, and those of their arrays that were, or could be, donated."""
    rows = {_name(row) for row in program.donations}
    parameters = program.expect_module().entry.parameters
    return rows | {one.metadata().op_name or f"{one.parameter_number}" for one in parameters}
