"""Which part of the program is no longer made again for the backward pass, or is now?

Read off JAX's op_names: what is made again has `rematted_computation` in its name. Numbers of
layers do not count, and a part that a side does not have at all is neither lost nor gained. Where
what is made again has no scope, the part is the whole program, and no values are counted.

Which parameters no longer give their memory to an output, or do now?

What is held at the peak for no other reason that was found?

Which results have a wider or a narrower element type?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from hlotool.analysis.memory.donation import DonationRow
from hlotool.compare.causes.cause import (
    Cause,
    CauseKind,
    Evidence,
    find_inner_scope,
    is_within,
    list_outermost,
    list_scopes,
)
from hlotool.compare.changes.instructions import share_scope
from hlotool.compare.changes.memory import ValuePair, find_likeness
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.opcodes import CONTROL_FLOW, FREE
from hlotool.program.program import Program
from hlotool.table.names import ANY, fold_numbers
from hlotool.table.words import list_some

_MADE_AGAIN: Final = "rematted_computation"


def find_rematerialization(evidence: Evidence) -> Iterator[Cause]:
    """Yield what was lost and what was gained, each as one cause.

    `count` are the values that live from the forward to the backward pass at the peak of the
    side without rematerialization and not at the other's; their bytes are held at the peak.
    """
    left, right = (_list_made_again(names) for names in evidence.op_names)
    if left == right:
        if not left:
            yield from _find_without_scopes(evidence)
        return
    everything = [_folded(list_scopes(names)) for names in evidence.op_names]
    lost, gained = (left - right) & everything[1], (right - left) & everything[0]
    if lost:
        yield _describe("rematerialization lost", lost, evidence.values)
    if gained:
        yield _describe("rematerialization gained", gained, evidence.values)


def _find_without_scopes(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause, of no values, if one side alone makes some again."""
    was, is_now = (any(_MADE_AGAIN in name for name in names) for names in evidence.op_names)
    if was != is_now:
        kind: CauseKind = "rematerialization gained" if is_now else "rematerialization lost"
        yield Cause(kind=kind, count=0)


def _describe(kind: str, scopes: frozenset[str], values: Iterable[ValuePair]) -> Cause:
    is_lost = kind == "rematerialization lost"
    outer = list_outermost(scopes)
    kept = [
        pair
        for pair in values
        if (pair.left is None if is_lost else pair.right is None) and _is_kept(pair, outer)
    ]
    return Cause(
        kind="rematerialization lost" if is_lost else "rematerialization gained",
        count=len(kept),
        subject=", ".join(outer),
        measure="peak",
        delta_bytes=sum(pair.right_bytes - pair.left_bytes for pair in kept),
    )


def _is_kept(pair: ValuePair, outer: list[str]) -> bool:
    """Say whether a value is of the forward pass, in one of some scopes."""
    row = pair.shown
    name, scope = row.op_name or "", fold_numbers(row.scope or "")
    is_forward = "transpose(" not in name  # a copy that XLA made has none
    return row.class_ == "temp" and is_forward and any(is_within(scope, one) for one in outer)


def _list_made_again(op_names: Iterable[str]) -> frozenset[str]:
    return _folded(list_scopes(name for name in op_names if _MADE_AGAIN in name))


def _folded(scopes: Iterable[str]) -> frozenset[str]:
    return frozenset(map(fold_numbers, scopes))


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
        yield _describe_donation("donation lost", lost, -1)
    if gained:
        yield _describe_donation("donation gained", gained, 1)


def _describe_donation(kind: CauseKind, rows: Sequence[DonationRow], sign: int) -> Cause:
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
        subject=list_some(ordered),
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


def find_values(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if the peak differs: the values that came to it, and those that went from it.

    Values of one class, shape and scope are counted against each other, numbered layers around a
    scope aside, which a loop does not print: at the peak of another layer its values take the
    place of others. `count` are those that are left and change the peak as it changed, `left`
    those that went, `right` those that came; name, scope and bytes are those of the largest group
    of them, as the list of memory has groups, without twins among those that went.
    """
    changed = [pair for pair in evidence.values if pair.left_bytes != pair.right_bytes]
    is_more = sum(map(_delta, changed)) > 0
    twins: dict[Hashable, list[ValuePair]] = {}
    for pair in changed:
        shown = pair.shown
        key = shown.class_, shown.shape, _leave_out_layers(shown.scope or "")
        twins.setdefault(key, []).append(pair)
    rest = [pair for group in twins.values() for pair in _leave_out_twins(group)]
    alike: dict[Hashable, list[ValuePair]] = {}
    for pair in rest:
        if (_delta(pair) > 0) == is_more:
            alike.setdefault(find_likeness(pair), []).append(pair)
    if alike:
        yield _describe_values(
            list(alike.values()),
            went=sum(pair.right is None for pair in rest),
            came=sum(pair.left is None for pair in rest),
        )


def _leave_out_layers(scope: str) -> str:
    return "/".join(part for part in fold_numbers(scope).split("/") if ANY not in part)


def _leave_out_twins(group: Sequence[ValuePair]) -> list[ValuePair]:
    """List the values of a group without as many that came as went; those of both sides stay."""
    came = [pair for pair in group if pair.left is None]
    went = [pair for pair in group if pair.right is None]
    both = [pair for pair in group if pair.left and pair.right]
    return [*came[len(went) :], *went[len(came) :], *both]


def _describe_values(groups: Sequence[Sequence[ValuePair]], *, went: int, came: int) -> Cause:
    largest = min(groups, key=lambda group: (-abs(sum(map(_delta, group))), group[0].shown.value))
    first = max(largest, key=lambda pair: abs(_delta(pair)))
    times = f"×{len(largest)} " if len(largest) > 1 else ""
    return Cause(
        kind="values at the peak",
        count=sum(map(len, groups)),
        subject=f"{times}{first.shown.value} {first.shown.shape}",
        scope=share_scope(pair.shown.scope for pair in largest),
        left=str(went),
        right=str(came),
        measure="peak",
        delta_bytes=sum(map(_delta, largest)),
    )


def _delta(pair: ValuePair) -> int:
    return pair.right_bytes - pair.left_bytes


_MAKE_NOTHING: Final = FREE | CONTROL_FLOW  # what runs in them makes it


def find_dtypes(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of the element type of arrays that partners make, fused ones aside.

    `count` are arrays in the text, of equal dimensions; bytes those of all their runs. Left out
    are partners in doubt: whose operands are none, that stand in different scopes, or that read
    a loop's values where it hands on more or fewer.
    """
    counts: Counter[tuple[str, str]] = Counter()
    deltas: Counter[tuple[str, str]] = Counter()
    for left, right, runs in _list_changed(evidence):
        counts[left.dtype, right.dtype] += 1
        deltas[left.dtype, right.dtype] += ((right.size_bytes or 0) - (left.size_bytes or 0)) * runs
    wire: Counter[str] = Counter()
    for row in evidence.collectives:
        for detail in row.details:
            wire[detail] += row.delta_bytes
    for (old, new), count in counts.items():
        delta = deltas[old, new]
        if delta:
            yield Cause(
                kind="dtype widened" if delta > 0 else "dtype narrowed",
                count=count,
                left=old,
                right=new,
                measure="results",
                delta_bytes=delta,
                delta_wire_bytes=wire[f"dtype {old} → {new}"],
            )


def _list_changed(evidence: Evidence) -> Iterator[tuple[ArrayShape, ArrayShape, int]]:
    """Yield arrays of partners that differ in their element type, and how often they are made."""
    executions = evidence.right.executions
    for one, other in evidence.pairs.items():
        runs = executions.lower_bound(other.computation)
        if not runs or other.opcode in _MAKE_NOTHING or other.opcode.endswith("-done"):
            continue
        here, there = list(one.shape.leaves()), list(other.shape.leaves())
        if [each.dims for each in here] != [each.dims for each in there]:
            continue  # of what carries other arrays, no index says which are the same
        changed = [
            (left, right)
            for left, right in zip(here, there, strict=True)
            if left.dtype != right.dtype and None not in (left.size_bytes, right.size_bytes)
        ]
        if changed and _are_sure(evidence, one, other):
            yield from ((left, right, runs) for left, right in changed)


def _are_sure(evidence: Evidence, left: Instruction, right: Instruction) -> bool:
    scopes = {scope for scope in (find_inner_scope(left), find_inner_scope(right)) if scope}
    if len(scopes) > 1 or not evidence.have_same_operands(left, right):
        return False
    return not any(map(_are_of_other_tuples, left.operands, right.operands))


def _are_of_other_tuples(left: Instruction, right: Instruction) -> bool:
    """Say whether two elements of another type are of tuples that hold more or fewer.

    A loop that hands on more values may have put another one there.
    """
    if left.opcode != "get-tuple-element" or right.opcode != left.opcode:
        return False
    if str(left.shape) == str(right.shape):
        return False
    sizes = [sum(1 for _ in one.operands[0].shape.leaves()) for one in (left, right)]
    return sizes[0] != sizes[1]
