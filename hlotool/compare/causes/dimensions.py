"""Which dimension of the inputs has another size: a batch twice as large, a wider layer?"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, TypeAlias

from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.compare.causes.names import list_names
from hlotool.ir import ArrayShape, Instruction, Module
from hlotool.ir.opcodes import CONTROL_FLOW, FREE

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
    return f"{title} of {list_names(list(found))}"


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
