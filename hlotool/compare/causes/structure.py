"""Causes in what the program is: layers, loops, unrolling, operations.

A family are the scopes that differ in one number: `layer_0` … `layer_11`. Layers are new or gone
where both sides have the family and one of them members that the other has not. A loop over layers
was unrolled where one side alone has the loop and the other alone numbered copies of its body.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

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
from hlotool.compare.match.loops import LoopChange, LoopKind
from hlotool.hlo.opcodes import CONTROL_FLOW, ELEMENTWISE, MATRIX_PRODUCTS, TRANSCENDENTAL
from hlotool.program.program import Program
from hlotool.table.sums import group_by
from hlotool.table.words import ANY, fold_numbers, list_some

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


_LOOP_CAUSES: Final[Mapping[LoopKind, CauseId]] = {
    "trips": "trip-count-changed",
    "unrolled": "loop-unrolled",
    "rolled": "loop-rolled",
    "partly-unrolled": "loop-partly-unrolled",
    "partly-rolled": "loop-partly-rolled",
    "new": "loop-new",
    "gone": "loop-gone",
    "added": "loop-added",
    "removed": "loop-removed",
    "split": "loop-split",
    "joined": "loop-joined",
}


def find_loops(evidence: Evidence) -> Iterator[Cause]:
    """Yield what became of loops, those of the forward and the backward pass together.

    `old` and `new` are rounds, or copies of the body in place of the loop, whose family is `scope`.
    `delta_bytes` is what all rounds move in memory per step more or less, where the trip count is
    another.
    """
    plan = evidence.reasoner.loops
    for (kind, _), alike in group_by(plan.changes, _find_alike).items():
        loops = [one.new_loop or one.old_loop for one in alike]
        if kind in {"unrolled", "removed", "gone"}:
            loops = [one.old_loop or one.new_loop for one in alike]
        names = sorted(loop.full_name for loop in loops if loop)
        old, new = ([getattr(one, side) for one in alike] for side in ("old", "new"))
        rounds = [None if None in side else str(max(side)) for side in (old, new)]
        is_copied = kind in {"unrolled", "rolled"}
        costs = [_measure_rounds(evidence, one) for one in alike] if kind == "trips" else []
        yield Cause(
            id=_LOOP_CAUSES[kind],
            count=max(new if kind == "unrolled" else old) if is_copied else len(alike),
            subject=list_some(names),
            scope=_find_family(evidence) if is_copied else None,
            old=rounds[0],
            new=rounds[1],
            measure="traffic" if costs else None,
            delta_bytes=sum(each[0] for each in costs) if costs else None,
            delta_flops=sum(each[1] for each in costs) if costs else None,
        )


def _find_alike(one: LoopChange) -> tuple[LoopKind, Hashable]:
    """Return what became of a loop, and how often it ran: of copies one pass may have one less."""
    rounds = {"unrolled": one.old, "rolled": one.new}.get(one.kind, (one.old, one.new))
    return one.kind, rounds


def _find_family(evidence: Evidence) -> str | None:
    """Return the numbered scope in which most copies of a body stand: `layer_*`."""
    scopes = (find_inner_scope(one) for one in evidence.reasoner.copies)
    outer = Counter(fold_numbers(scope).partition("/")[0] for scope in scopes if scope)
    families = [name for name, _ in outer.most_common() if ANY in name]
    return families[0] if families else None


def _measure_rounds(evidence: Evidence, change: LoopChange) -> tuple[int, int]:
    """Return by how much all rounds of a loop move more bytes in memory, and compute more."""
    old, new = (
        program.costs.of_computation(body).times(program.executions.lower_bound(body))
        for program, loop in ((evidence.old, change.old_loop), (evidence.new, change.new_loop))
        for body in (loop.callees("body")[0] if loop else program.expect_module().entry,)
    )
    return new.traffic_bytes - old.traffic_bytes, new.flops - old.flops


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
