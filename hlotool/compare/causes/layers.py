"""Which of many numbered layers are new, or gone?

A family are the scopes that differ in one number: `layer_0` … `layer_11`. Both sides have it,
and one of them has members that the other has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.compare.causes.cause import Cause, CauseKind
from hlotool.compare.causes.evidence import Evidence, find_inner_scope, list_executed
from hlotool.compare.causes.families import find_families, list_members
from hlotool.compare.causes.names import list_names
from hlotool.compare.causes.op_names import is_within, list_scopes
from hlotool.fields.paths import fold_numbers
from hlotool.ir.opcodes import CONTROL_FLOW
from hlotool.program.program import Program

_LEAST: Final = 2  # members that make a family


def find_layers(evidence: Evidence) -> Iterator[Cause]:
    """Yield the new and the gone members of each family, the outermost ones.

    Bytes are by how much more the whole family holds at one peak than at the other: its values,
    and parameters that only this side has and whose names differ from others in numbers. Flops
    are those of what runs in the members, wire bytes those of their collectives, in one run.
    """
    left, right = (find_families(list_scopes(names)) for names in evidence.op_names)
    told: list[str] = []
    for family in sorted(left.keys() & right.keys()):
        if any(is_within(family, outer) for outer in told):
            continue
        members = left[family], right[family]
        if max(map(len, members)) < _LEAST or members[0] == members[1]:
            continue
        told.append(family)
        new, gone = members[1] - members[0], members[0] - members[1]
        if new:
            yield _describe("layers added", family, new, evidence.right, evidence.left)
        if gone:
            yield _describe("layers removed", family, gone, evidence.left, evidence.right)


def _describe(
    kind: CauseKind, family: str, members: frozenset[str], own: Program, other: Program
) -> Cause:
    sign = 1 if kind == "layers added" else -1
    held = _add_up_held(own, other, family) - _add_up_held(other, own, family)
    flops = sum(
        own.costs.of(one).flops * runs
        for one, runs in list_executed(own)
        if one.opcode not in CONTROL_FLOW and _is_of(find_inner_scope(one), members)
    )
    collectives = [row for row in own.collectives.rows if _is_of(row.scope, members)]
    return Cause(
        kind=kind,
        count=len(members),
        subject=list_names(list_members(members)),
        scope=family,
        measure="peak of all layers",
        delta_bytes=sign * held,
        delta_flops=sign * flops,
        delta_wire_bytes=sign * sum(row.known_wire_bytes_per_run for row in collectives),
    )


def _add_up_held(own: Program, other: Program, family: str) -> int:
    """Add up what a family holds at a side's peak, its own parameters included."""
    parameters = _list_parameters(own) - _list_parameters(other)
    return sum(
        row.occupied_bytes or 0
        for row in own.peak_rows
        if is_within(fold_numbers(row.scope or ""), family) or row.parameter_name in parameters
    )


def _is_of(scope: str | None, members: frozenset[str]) -> bool:
    return scope is not None and any(is_within(scope, member) for member in members)


def _list_parameters(program: Program) -> set[str]:
    """Return the names of the entry's parameters that have a number in them."""
    parameters = program.expect_module().entry.parameters
    names = {one.metadata().op_name for one in parameters}
    return {name for name in names if name and fold_numbers(name) != name}
