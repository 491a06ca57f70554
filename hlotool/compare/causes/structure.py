"""Which of many numbered layers are new, or gone?

A family are the scopes that differ in one number: `layer_0` … `layer_11`. Both sides have it,
and one of them has members that the other has not.

Which loops run more or less often?

Which loop over layers became numbered copies of its body, or the reverse?

What does the user's program compute now that it did not, and the reverse?

Which dimension of the inputs has another size: a batch twice as large, a wider layer?
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.analysis.graph.executions import Loop
from hlotool.analysis.origin import find_scope
from hlotool.compare.causes.cause import (
    Cause,
    CauseKind,
    Evidence,
    find_families,
    find_inner_scope,
    is_within,
    list_executed,
    list_members,
    list_scopes,
)
from hlotool.hlo import ArrayShape, Instruction, Module
from hlotool.hlo.opcodes import CONTROL_FLOW, ELEMENTWISE, FREE, MATRIX_PRODUCTS, TRANSCENDENTAL
from hlotool.program.program import Program
from hlotool.table.names import fold_numbers
from hlotool.table.words import list_some

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
        subject=list_some(list_members(members)),
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


def find_loops(evidence: Evidence) -> Iterator[Cause]:
    """Yield loops with another trip count, if both know theirs; flops and bytes go by one body.

    `delta_bytes` is what the runs more or less move in memory in one run of the entry.
    """
    there = {loop.instruction: loop for loop in evidence.right.executions.loops}
    for loop in evidence.left.executions.loops:
        partner = evidence.pairs.get(loop.instruction)
        other = there.get(partner) if partner else None
        if other is None or loop.trip_count is None or other.trip_count is None:
            continue
        if loop.trip_count == other.trip_count:
            continue
        bytes_, flops = (
            _of_body(evidence.right, other, index) - _of_body(evidence.left, loop, index)
            for index in range(2)
        )
        yield Cause(
            kind="trip count",
            count=1,
            subject=other.instruction.full_name,
            left=str(loop.trip_count),
            right=str(other.trip_count),
            measure="traffic",
            delta_bytes=bytes_,
            delta_flops=flops,
        )


def _of_body(program: Program, loop: Loop, index: int) -> int:
    """Return the memory bytes, or the flops, of all runs of a body in one run of the entry."""
    cost = program.costs.of_computation(loop.body)
    runs = program.executions.lower_bound(loop.body)
    return (cost.memory_bytes, cost.flops)[index] * runs


_SHARE: Final = 0.5  # of the scopes in a copy, so that it is one of a body


def find_unrolling(evidence: Evidence) -> Iterator[Cause]:
    """Yield the loops that one side alone has, where the other alone has copies of their body.

    Copies are the members of a numbered family, `layer_0` … `layer_11`. They are copies of a body
    if at least half of the scopes in them are scopes in it: `layer_3/mlp` of `mlp`, or of
    `model/mlp`. `left` and `right` are rounds and copies; `count` are the copies, `scope` is their
    family, `subject` names the loops: that of the forward and that of the backward pass.
    """
    programs = evidence.left, evidence.right
    scopes = [list_scopes(names) for names in evidence.op_names]
    families = [find_families(each) for each in scopes]
    for rolled, copied in ((0, 1), (1, 0)):
        loops = [
            loop
            for loop in programs[rolled].executions.loops
            if not evidence.has_same_opcode(loop.instruction)
        ]
        told: list[str] = []
        for family in sorted(families[copied].keys() - families[rolled].keys()):
            members = families[copied][family]
            inner = _list_inside(scopes[copied], family)
            found = [loop for loop in loops if _is_copied(loop, inner)]
            is_inside = any(is_within(family, outer) for outer in told)
            if found and len(members) >= _LEAST and not is_inside:
                told.append(family)
                yield _describe_unrolling(family, members, found, is_unrolled=rolled == 0)


def _list_inside(scopes: Collection[str], family: str) -> set[str]:
    """Return the scopes inside the members of a family, as paths below these."""
    depth = family.count("/") + 1
    folded = {scope: fold_numbers(scope) for scope in scopes}
    return {
        "/".join(scope.split("/")[depth:])
        for scope, path in folded.items()
        if is_within(path, family) and path != family
    }


def _is_copied(loop: Loop, inner: Collection[str]) -> bool:
    """Say whether most scopes in a copy are scopes in a loop's body, or end those."""
    found = {find_inner_scope(one) for one in loop.body.instructions}
    body = {f"/{scope}" for scope in found if scope}
    shared = sum(any(scope.endswith(f"/{path}") for scope in body) for path in inner)
    return bool(inner) and shared >= _SHARE * len(inner)


def _describe_unrolling(
    family: str, members: Collection[str], loops: Collection[Loop], *, is_unrolled: bool
) -> Cause:
    trips = {loop.trip_count for loop in loops}
    rounds = trips.pop() if len(trips) == 1 else None
    sides = [None if rounds is None else str(rounds), str(len(members))]
    left, right = sides if is_unrolled else sides[::-1]
    return Cause(
        kind="loop unrolled" if is_unrolled else "loop rolled",
        count=len(members),
        subject=list_some(sorted(loop.instruction.full_name for loop in loops)),
        scope=family,
        left=left,
        right=right,
    )


# The compiler itself writes these and takes them away.
_COMPILED: Final = frozenset(("convert", "bitcast-convert", "reduce-precision"))
_GIVEN: Final = (ELEMENTWISE | MATRIX_PRODUCTS) - _COMPILED
_OPTIMIZED: Final = TRANSCENDENTAL
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
    programs = inputs.programs if inputs.is_whole else (evidence.left, evidence.right)
    wanted = _GIVEN if inputs.is_whole else _OPTIMIZED
    left, right = (_count(program, wanted) for program in programs)
    functions = [_list_functions(names) for names in evidence.op_names]
    for scope in sorted(left.keys() & right.keys()):
        called = [each.get(scope, set()) for each in functions]
        gone = {each: left[scope][each] for each in left[scope] if each not in right[scope]}
        new = {each: right[scope][each] for each in right[scope] if each not in left[scope]}
        names = [sorted(called[0] - called[1]), sorted(called[1] - called[0])]
        if gone or new or any(names):
            yield Cause(
                kind="operations",
                count=sum(gone.values()) + sum(new.values()),
                scope=scope or None,
                left=", ".join([*names[0], *sorted(gone)]) or None,
                right=", ".join([*names[1], *sorted(new)]) or None,
            )


def _list_functions(op_names: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the functions that stand inside each scope, without the outermost."""
    found: dict[str, set[str]] = {}
    for name in op_names:
        scope = find_scope(name)
        calls = _FUNCTION.findall(name)
        if scope and calls:
            inner = calls[1:] if name.startswith(calls[0]) else calls
            found.setdefault(fold_numbers(scope), set()).update(inner)
    return found


def _count(program: Program, wanted: frozenset[str]) -> Mapping[str, dict[str, int]]:
    """Count opcodes by scope, '' where there is none; what reducers apply is no part of it."""
    found: dict[str, dict[str, int]] = {}
    for computation in program.expect_module().computations.values():
        for one in computation.instructions:
            name = one.metadata().op_name if one.opcode in wanted else ""
            if name:
                counts = found.setdefault(fold_numbers(find_scope(name) or ""), {})
                counts[one.opcode] = counts.get(one.opcode, 0) + 1
    return found


_Sizes: TypeAlias = tuple[int, int]  # of a dimension on the left, on the right

_MAKE_NOTHING: Final = FREE | CONTROL_FLOW  # what runs in them makes it


def find_dimensions(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of a dimension's size that parameters of the entry have.

    `count` are the arrays that partners make, fused ones aside, in which a dimension has grown by
    the same factor; bytes those of all their runs. `subject` names the parameters. Nothing is
    said where one side has more of them, as a model has whose layers are unrolled.
    """
    if len({_count_parameters(one) for one in evidence.modules}) > 1:
        return  # stacked on one side, apart on the other: those that are partners say nothing
    inputs: dict[_Sizes, dict[str, list[int]]] = {}
    for one in evidence.modules[0].entry.parameters:
        other = evidence.pairs.get(one)
        for left, right in _list_arrays(one, other) if other else ():
            for axis, sizes in _list_changed(left, right):
                name = one.metadata().op_name or one.name
                inputs.setdefault(sizes, {}).setdefault(name, []).append(axis)
    factors = [_factor(sizes) for sizes in inputs]
    results = list(_list_results(evidence)) if inputs else []
    for sizes, found in inputs.items():
        is_only = factors.count(_factor(sizes)) == 1
        followed = [
            delta
            for changed, delta in results
            if sizes in changed or (is_only and _factor(sizes) in map(_factor, changed))
        ]
        yield Cause(
            kind="dimension",
            count=len(followed),
            subject=_name(found),
            left=str(sizes[0]),
            right=str(sizes[1]),
            measure="results",
            delta_bytes=sum(followed),
        )


def _count_parameters(module: Module) -> int:
    return len(module.entry.parameters)


def _name(found: dict[str, list[int]]) -> str:
    """Write `dimension 0 of images, labels`, without the number where they differ in it."""
    axes = {axis for each in found.values() for axis in each}
    title = f"dimension {axes.pop()}" if len(axes) == 1 else "a dimension"
    return f"{title} of {list_some(list(found))}"


def _list_results(evidence: Evidence) -> Iterator[tuple[list[_Sizes], int]]:
    """Yield which dimensions changed of each array made, and its bytes in one run more or less."""
    executions = evidence.left.executions, evidence.right.executions
    for one, other in evidence.pairs.items():
        if other.opcode in _MAKE_NOTHING or other.opcode.endswith("-done"):
            continue
        before = executions[0].lower_bound(one.computation)
        now = executions[1].lower_bound(other.computation)
        if not before or not now:
            continue
        for left, right in _list_arrays(one, other):
            changed = [sizes for _, sizes in _list_changed(left, right)]
            if changed:
                yield changed, (right.size_bytes or 0) * now - (left.size_bytes or 0) * before


def _list_arrays(left: Instruction, right: Instruction) -> Iterator[tuple[ArrayShape, ArrayShape]]:
    """Yield the arrays of two shapes that hold equally many."""
    here, there = list(left.shape.leaves()), list(right.shape.leaves())
    if len(here) == len(there):
        yield from zip(here, there, strict=True)


def _list_changed(left: ArrayShape, right: ArrayShape) -> list[tuple[int, _Sizes]]:
    """List the dimensions of another size; none where there are more or fewer dimensions."""
    if len(left.dims) != len(right.dims):
        return []
    sizes = enumerate(zip(left.dims, right.dims, strict=True))
    return [(axis, (a, b)) for axis, (a, b) in sizes if a != b and a > 0 and b > 0]


def _factor(sizes: _Sizes) -> Fraction:
    return Fraction(sizes[1], sizes[0])
