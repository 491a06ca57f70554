"""Causes in what the program is: layers, loops, unrolling, operations.

A family are the scopes that differ in one number: `layer_0` … `layer_11`. Layers are new or gone
where both sides have the family and one of them members that the other has not. A loop over layers
was unrolled where one side alone has the loop and the other alone numbered copies of its body.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.origin import find_scope
from hlotool.compare.causes.cause import (
    Cause,
    CauseId,
    Claim,
    Evidence,
    find_inner_scope,
    find_main_scope,
    is_within,
    list_executed,
    list_families,
    list_scopes,
)
from hlotool.compare.match.loops import LoopChange, LoopKind
from hlotool.hlo import Instruction
from hlotool.hlo.opcodes import CONTROL_FLOW, FREE, MOVES, SLICES
from hlotool.program.program import Program
from hlotool.table.sums import group_by
from hlotool.table.words import ANY, fold_numbers, list_some

_NO_STEP: Final = FREE | MOVES | SLICES | {"broadcast", "iota"}
_LEAST: Final = 2  # members that make a family
_NUMBER: Final = re.compile(r"\d+")


def find_layers(evidence: Evidence) -> Iterator[Claim]:
    """Yield the new and the gone members of each family, the outermost ones.

    Bytes are by how much more the whole family holds at one peak than at the other: its values,
    and parameters that only this side has and whose names differ from others in numbers. Flops
    are those of what runs in the members, bytes sent those of their collectives, per step.
    """
    old, new = (list_families(list_scopes(names)) for names in evidence.op_names)
    told: list[str] = []
    for family in sorted(old.keys() & new.keys()):
        here, there = old[family], new[family]
        is_inside = any(is_within(family, outer) for outer in told)
        if is_inside or max(len(here), len(there)) < _LEAST or here == there:
            continue
        told.append(family)
        given = evidence.given.programs
        if there - here:
            cause = _describe("layers-added", family, there - here, evidence.new, evidence.old)
            yield Claim(cause, _list_members(given[1], there - here))
        if here - there:
            cause = _describe("layers-removed", family, here - there, evidence.old, evidence.new)
            yield Claim(cause, _list_members(given[0], here - there))


def _list_members(program: Program, members: frozenset[str]) -> list[Instruction]:
    """List what stands in some layers, and the parameters of their numbers."""
    numbers = {(_NUMBER.findall(one) or [""])[-1] for one in members}
    return [
        one
        for one in program.expect_module().instructions()
        if (op_name := one.metadata().op_name)
        and (
            _is_of(find_scope(op_name), members)
            or (one.opcode == "parameter" and not numbers.isdisjoint(_NUMBER.findall(op_name)))
        )
    ]


def _describe(
    kind: CauseId, family: str, members: frozenset[str], own: Program, other: Program
) -> Cause:
    sign = 1 if kind == "layers-added" else -1
    held = _add_up_held(own, other, family) - _add_up_held(other, own, family)
    flops = sum(
        own.costs.of(one).flops * runs
        for one, runs in list_executed(own)
        if one.opcode not in CONTROL_FLOW and _is_of(find_inner_scope(one), members)
    )
    collectives = [row for row in own.collectives.rows if _is_of(row.scope, members)]
    return Cause(
        id=kind,
        count=len(members),
        subject=list_some(sorted(members, key=lambda name: (len(name), name))),  # 9 before 10
        scope=family,
        measure="peak of all layers",
        delta_bytes=sign * held,
        delta_flops=sign * flops,
        delta_sent_bytes=sign * sum(row.known_sent_bytes_per_step for row in collectives),
    )


def _add_up_held(own: Program, other: Program, family: str) -> int:
    """Add up what a family holds at a side's peak, its own numbered parameters included."""
    names, others = (
        {one.metadata().op_name for one in side.expect_module().entry.parameters}
        for side in (own, other)
    )
    parameters = {name for name in names - others if fold_numbers(name) != name}
    return sum(
        row.live_bytes or 0
        for row in own.peak_rows
        if is_within(fold_numbers(row.scope or ""), family) or row.parameter_name in parameters
    )


def _is_of(scope: str | None, members: frozenset[str]) -> bool:
    return scope is not None and any(is_within(scope, member) for member in members)


def find_loops(evidence: Evidence) -> Iterator[Claim]:
    """Yield what became of loops, those of the forward and the backward pass together.

    `old` and `new` are rounds, or copies of the body in place of the loop, whose family is `scope`.
    `delta_bytes` is what all rounds move in memory per step more or less, where the trip count is
    another. What the program was given tells; compiled loops lend names and figures.
    """
    given = evidence.given
    compiled = group_by(evidence.reasoner.loops.changes, _find_alike)
    for key, alike in group_by(given.reasoner.loops.changes, _find_alike).items():
        kind = key[0]
        shown = compiled.get(key, alike)
        is_gone = kind in {"unrolled", "removed", "gone", "joined"}
        ends = [(one.old_loop, one.new_loop)[not is_gone] for one in shown]
        old, new = ([getattr(one, side) for one in alike] for side in ("old", "new"))
        before, after = (None if None in side else str(max(side)) for side in (old, new))
        is_copied = kind in {"unrolled", "rolled"}
        has_costs = kind == "trips" and key in compiled
        costs = [_measure_rounds(evidence, one) for one in compiled[key]] if has_costs else []
        bodies = [
            one
            for change in alike
            for loop in (change.old_loop, change.new_loop)
            if loop
            for body in loop.called_computations()
            for one in body.instructions
        ]
        cause = Cause(
            "trip-count-changed" if kind == "trips" else f"loop-{kind}",
            max(new if kind == "unrolled" else old) if is_copied else len(alike),
            list_some(sorted(one.full_name for one in ends if one)),
            _find_family(given.reasoner.copies) if is_copied else find_main_scope(bodies),
            *(before, after),
        )
        if costs:
            traffic, flops = map(sum, zip(*costs, strict=True))
            cause = replace(cause, measure="traffic", delta_bytes=traffic, delta_flops=flops)
        yield Claim(cause, [*bodies, *given.reasoner.copies])


def find_copies(evidence: Evidence) -> Iterator[Claim]:
    """Yield that each operation of one side stands as often on the other, as of steps unrolled.

    Operations are known by opcode and op_name; what only moves or makes constants does not count.
    """
    given = [program.expect_module() for program in evidence.given.programs]
    old, new = (
        Counter(
            (one.opcode, op_name)
            for one in module.instructions()
            if one.opcode not in _NO_STEP and "/" in (op_name := one.metadata().op_name)
        )
        for module in given
    )
    factors = {Fraction(new[key], count) for key, count in old.items()}
    factor = factors.pop() if len(factors) == 1 else Fraction(1)
    if factor not in {0, 1} and 1 in factor.as_integer_ratio():
        new_count, old_count = factor.as_integer_ratio()
        cause = Cause("repeated", None, old=str(old_count), new=str(new_count))
        yield Claim(cause, list(given[1].instructions()))


def find_metadata(pairs: Mapping[Instruction, Instruction]) -> Cause | None:
    """Return the op_names in which most counterparts differ, and how many differ in any."""
    names = [(one.metadata().op_name, two.metadata().op_name) for one, two in pairs.items()]
    others = Counter(each for each in names if each[0] != each[1])
    sides = others.most_common(1)
    return Cause("metadata", others.total(), None, None, *sides[0][0]) if sides else None


def _find_alike(one: LoopChange) -> tuple[LoopKind, Hashable]:
    """Return what became of a loop, and how often it ran: of copies one pass may have one less."""
    return one.kind, {"unrolled": one.old, "rolled": one.new}.get(one.kind, (one.old, one.new))


def _find_family(copies: Iterable[Instruction]) -> str | None:
    """Return the numbered scope in which most copies of a body stand: `layer_*`."""
    scopes = map(find_inner_scope, copies)
    outer = Counter(fold_numbers(scope).partition("/")[0] for scope in scopes if scope)
    return next((name for name, _ in outer.most_common() if ANY in name), None)


def _measure_rounds(evidence: Evidence, change: LoopChange) -> tuple[int, int]:
    """Return by how much all rounds of a loop move more bytes in memory, and compute more."""
    old, new = (
        program.costs.of_computation(body).times(program.executions.lower_bound(body))
        for program, loop in ((evidence.old, change.old_loop), (evidence.new, change.new_loop))
        for body in (loop.callees("body")[0] if loop else program.expect_module().entry,)
    )
    return new.traffic_bytes - old.traffic_bytes, new.flops - old.flops
