"""Causes in what the program is: layers, loops, unrolling, operations.

A family are the scopes that differ in one number: `layer_0` … `layer_11`. Layers are new or gone
where both sides have the family and one of them members that the other has not. A loop over layers
was unrolled where one side alone has the loop and the other alone numbered copies of its body.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from hlotool.analysis.graph.executions import Loop
from hlotool.analysis.origin import find_scope
from hlotool.compare.causes.cause import (
    Cause,
    CauseId,
    Evidence,
    find_inner_scope,
    is_within,
    list_executed,
    list_families,
    list_scopes,
)
from hlotool.hlo.opcodes import CONTROL_FLOW, ELEMENTWISE, MATRIX_PRODUCTS, TRANSCENDENTAL
from hlotool.program.program import Program
from hlotool.table.words import fold_numbers, list_some

_LEAST: Final = 2  # members that make a family


def find_layers(evidence: Evidence) -> Iterator[Cause]:
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
        if there - here:
            yield _describe("layers-added", family, there - here, evidence.new, evidence.old)
        if here - there:
            yield _describe("layers-removed", family, here - there, evidence.old, evidence.new)


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


def find_loops(evidence: Evidence) -> Iterator[Cause]:
    """Yield loops with another trip count, if both know theirs; flops and bytes go by one body.

    `delta_bytes` is what the runs more or less move in memory per step of the entry.
    """
    there = {loop.instruction: loop for loop in evidence.new.executions.loops}
    for loop in evidence.old.executions.loops:
        counterpart = evidence.reasoner.pairs.get(loop.instruction)
        other = there.get(counterpart) if counterpart else None
        if other is None or loop.trips.count is None or other.trips.count is None:
            continue
        if loop.trips.count != other.trips.count:
            here, now = _cost_of(evidence.old, loop), _cost_of(evidence.new, other)
            yield Cause(
                id="trip-count-changed",
                count=1,
                subject=other.instruction.full_name,
                old=str(loop.trips.count),
                new=str(other.trips.count),
                measure="traffic",
                delta_bytes=now[0] - here[0],
                delta_flops=now[1] - here[1],
            )


def _cost_of(program: Program, loop: Loop) -> tuple[int, int]:
    """Return memory bytes and flops of all runs of a body per step of the entry."""
    cost = program.costs.of_computation(loop.body)
    runs = program.executions.lower_bound(loop.body)
    return cost.traffic_bytes * runs, cost.flops * runs


_SHARE: Final = 0.5  # of the scopes in a copy, so that it is one of a body


def find_unrolling(evidence: Evidence) -> Iterator[Cause]:
    """Yield the loops that one side alone has, where the other alone has copies of their body.

    Copies are the members of a numbered family, `layer_0` … `layer_11`. They are copies of a body
    if at least half of the scopes in them are scopes in it: `layer_3/mlp` of `mlp`, or of
    `model/mlp`. `old` and `new` are rounds and copies; `count` are the copies, `scope` is their
    family, `subject` names the loops: that of the forward and that of the backward pass.
    """
    programs = evidence.old, evidence.new
    counterparts = evidence.reasoner.pairs, evidence.reasoner.back
    scopes = [list_scopes(names) for names in evidence.op_names]
    families = [list_families(each) for each in scopes]
    for rolled, copied in ((0, 1), (1, 0)):
        alone = []
        for loop in programs[rolled].executions.loops:
            counterpart = counterparts[rolled].get(loop.instruction)
            if counterpart is None or counterpart.opcode != loop.instruction.opcode:
                alone.append(loop)
        told: list[str] = []
        for family in sorted(families[copied].keys() - families[rolled].keys()):
            members = families[copied][family]
            inner = _list_inside(scopes[copied], family)
            loops = [loop for loop in alone if _is_copied(loop, inner)]
            # `layer_*/norm_*` is told with `layer_*`.
            is_inside = any(is_within(family, outer) for outer in told)
            if not loops or len(members) < _LEAST or is_inside:
                continue
            told.append(family)
            trips = {loop.trips.count for loop in loops}
            rounds = trips.pop() if len(trips) == 1 else None
            sides = [None if rounds is None else str(rounds), str(len(members))]
            yield Cause(
                id="loop-rolled" if rolled else "loop-unrolled",
                count=len(members),
                subject=list_some(sorted(loop.instruction.full_name for loop in loops)),
                scope=family,
                old=sides[rolled],
                new=sides[copied],
            )


def _list_inside(scopes: Collection[str], family: str) -> set[str]:
    """Return the scopes inside the members of a family, as paths below these."""
    depth = family.count("/") + 1
    inside = (scope for scope in scopes if fold_numbers(scope).startswith(f"{family}/"))
    return {"/".join(scope.split("/")[depth:]) for scope in inside}


def _is_copied(loop: Loop, inner: Collection[str]) -> bool:
    """Say whether most scopes in a copy are scopes in a loop's body, or end those."""
    found = {find_inner_scope(one) for one in loop.body.instructions}
    body = {f"/{scope}" for scope in found if scope}
    shared = sum(any(scope.endswith(f"/{path}") for scope in body) for path in inner)
    return bool(inner) and shared >= _SHARE * len(inner)


# The compiler itself writes these and takes them away.
_COMPILED: Final = frozenset(("convert", "bitcast-convert", "reduce-precision"))
_GIVEN: Final = (ELEMENTWISE | MATRIX_PRODUCTS) - _COMPILED
_FUNCTION: Final = re.compile(r"(?:^|/)(jit\(\w+\))")


def find_operations(evidence: Evidence) -> Iterator[Cause]:
    """Yield each scope of both sides in which functions or opcodes are new or gone.

    Functions are those that JAX names: `jit(silu)`. Of the texts before optimizations, if both
    are there and run different operations, all opcodes that compute are compared; else of the
    compiled ones transcendental opcodes alone, as XLA rewrites the rest. `count` are instructions
    in the text, numbered scopes together.
    """
    inputs = evidence.inputs
    if inputs.has_same_operations:
        return
    programs = inputs.programs if inputs.is_whole else (evidence.old, evidence.new)
    wanted = _GIVEN if inputs.is_whole else TRANSCENDENTAL
    old, new = (_count_opcodes(program, wanted) for program in programs)
    functions = [_list_functions(names) for names in evidence.op_names]
    for scope in sorted(old.keys() & new.keys()):
        here, there = (each.get(scope, set()) for each in functions)
        gone = sorted(old[scope].keys() - new[scope].keys())
        after = sorted(new[scope].keys() - old[scope].keys())
        old_names, new_names = [*sorted(here - there), *gone], [*sorted(there - here), *after]
        if old_names or new_names:
            count = sum(old[scope][each] for each in gone) + sum(new[scope][each] for each in after)
            yield Cause(
                id="operations",
                count=count,
                scope=scope or None,
                old=", ".join(old_names) or None,
                new=", ".join(new_names) or None,
            )


def _list_functions(op_names: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the functions that stand inside each scope, without the outermost."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in op_names:
        scope = find_scope(name)
        calls = _FUNCTION.findall(name)
        if scope and calls:
            found[fold_numbers(scope)].update(calls[1:] if name.startswith(calls[0]) else calls)
    return found


def _count_opcodes(program: Program, wanted: frozenset[str]) -> Mapping[str, Counter[str]]:
    """Count opcodes by scope, '' where there is none; what reducers apply is no part of it."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in program.expect_module().instructions():
        name = one.metadata().op_name if one.opcode in wanted else ""
        if name:
            found[fold_numbers(find_scope(name) or "")][one.opcode] += 1
    return found
