"""Causes in what is held and made: rematerialization, donation, the peak, element types.

What JAX makes again for the backward pass has `rematted_computation` in its op_name. Numbers of
layers do not count, and a part that a side does not have at all is neither lost nor gained. Where
what is made again has no scope, the part is the whole program, and no values are counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.memory.donation import DonationRow
from hlotool.compare.causes.cause import (
    Cause,
    CauseId,
    Claim,
    Evidence,
    InputPair,
    find_inner_scope,
    fold_scopes,
    is_within,
)
from hlotool.compare.changes.instructions import share_scope
from hlotool.compare.changes.memory import ValuePair, find_likeness
from hlotool.compare.changes.reasons import pair_arrays
from hlotool.hlo import ArrayShape, Instruction, Module
from hlotool.hlo.opcodes import CONTROL_FLOW, FREE
from hlotool.program.program import Program
from hlotool.table.sums import group_by
from hlotool.table.words import ANY, fold_numbers, list_some

_MADE_AGAIN: Final = "rematted_computation"
_PRODUCT_AGAIN: Final = re.compile(rf" (?:dot|convolution|custom-call)\(.*{_MADE_AGAIN}")


def find_rematerialization(evidence: Evidence) -> Iterator[Claim]:
    """Yield what was lost and what was gained, each as one cause.

    `count` are the values that live from the forward to the backward pass at the peak of the
    side without rematerialization and not at the other's; their bytes are held at the peak.
    Where scopes tell no difference, the number of operations that are made again does: a policy.
    """
    again = [{name for name in names if _MADE_AGAIN in name} for names in evidence.op_names]
    for cause in _compare_made(evidence, again):
        yield Claim(cause, _list_made(evidence.given.programs, again))


def _compare_made(evidence: Evidence, again: Sequence[set[str]]) -> Iterator[Cause]:
    """Yield the causes; `again` are the names of what each side makes again."""
    given = evidence.given
    old, new = map(fold_scopes, again)
    lost, gained = (old - new) & evidence.scopes[1], (new - old) & evidence.scopes[0]
    for scopes, is_lost in ((lost, True), (gained, False)):
        if scopes:
            yield _describe(scopes, evidence.values, is_lost=is_lost)
    if lost or gained:
        return
    if bool(again[0]) != bool(again[1]):
        yield _describe(frozenset(), (), is_lost=bool(again[0]))
    elif again[0] and given.is_input:
        made, first = (
            [_count_made(program, again=is_again) for program in given.programs]
            for is_again in (True, False)
        )
        as_often = {name for name, count in first[0].items() if count == first[1][name]}
        fewer, more = (
            Counter({name: count for name, count in some.items() if name in as_often})
            for some in (made[0] - made[1], made[1] - made[0])
        )
        if bool(fewer) != bool(more):
            what = fewer or more
            names = list_some([name for name, _ in what.most_common()])
            old_count, new_count = (str(each.total()) for each in made)
            values = what.total(), names, None, old_count, new_count
            yield Cause("rematerialization-policy", *values)


def find_undone(inputs: InputPair, compiled: Module) -> Cause | None:
    """Return how many matrix products the new input makes again, if XLA left none of them.

    None where the old input makes as many again. What XLA takes for the product of the forward
    pass, it makes once, and names by that.
    """
    texts = (*inputs.texts, compiled.source.text)
    old, new, left = (len(_PRODUCT_AGAIN.findall(text)) for text in texts)
    return Cause("rematerialization-undone", new) if new > old and not left else None


def _list_made(programs: Sequence[Program], again: Sequence[set[str]]) -> list[Instruction]:
    """List what is made again on one side alone, by the names."""
    return [
        one
        for program, other in zip(programs, reversed(again), strict=True)
        for one in program.expect_module().instructions()
        if _MADE_AGAIN in (name := one.metadata().op_name) and name not in other
    ]


def _count_made(program: Program, *, again: bool) -> Counter[str]:
    """Count by primitive what is made again, or for the first time; functions are none."""
    names = (one.metadata().op_name for one in program.expect_module().instructions())
    tails = (name.rpartition("/")[2] for name in names if (_MADE_AGAIN in name) == again)
    return Counter(name for name in tails if name.isidentifier() and name != "sharding_constraint")


def _describe(scopes: frozenset[str], values: Iterable[ValuePair], *, is_lost: bool) -> Cause:
    """Make the cause of scopes; without any, that of a whole program, of no values."""
    kind: CauseId = "rematerialization-lost" if is_lost else "rematerialization-gained"
    if not scopes:
        return Cause(id=kind, count=None)
    outer: list[str] = []
    for scope in sorted(scopes):
        if not any(is_within(scope, each) for each in outer):
            outer.append(scope)
    alone = [pair for pair in values if (pair.old is None if is_lost else pair.new is None)]
    kept = [pair for pair in alone if _is_kept(pair, outer)]
    cause = Cause(kind, len(kept) or None, ", ".join(outer))
    return replace(cause, measure="peak", delta_bytes=_add_up(kept)) if kept else cause


def _is_kept(pair: ValuePair, outer: list[str]) -> bool:
    """Say whether a value is of the forward pass, in one of some scopes."""
    row = pair.shown
    name, scope = row.op_name or "", fold_numbers(row.scope or "")
    is_forward = "transpose(" not in name  # a copy that XLA made has none
    return (
        row.allocation_type == "temp" and is_forward and any(is_within(scope, one) for one in outer)
    )


_TREE: Final = re.compile(r"\w+(?:\[[^\]]*\]|\.\w+)?")  # `state['mu']` of `state['mu']['w'][0]`


def find_donation(evidence: Evidence) -> Iterator[Cause]:
    """Yield donations that are gone, and new ones, of parameters that both sides have.

    Parameters are the same if their names are, without names if their numbers are. Bytes are
    those of the arrays.
    """
    programs = evidence.given.programs
    here, there = (program.expect_module().header for program in programs)
    if here.aliases == there.aliases and here.donors == there.donors:
        return
    (old, old_names), (new, new_names) = map(_by_name, programs)
    known = old_names & new_names
    # XLA was given whole arrays: bytes are those of a device.
    local = {**_by_name(evidence.new)[0], **_by_name(evidence.old)[0]}
    lost = [row for key, row in old.items() if key in known and key not in new]
    gained = [row for key, row in new.items() if key in known and key not in old]
    if not evidence.given.is_input and (lost or gained):
        # XLA itself drops a few that nothing of that size takes: what somebody wrote are trees.
        kept = sum(row.size_bytes for key, row in new.items() if key in old)
        if sum(row.size_bytes for row in (*lost, *gained)) < kept:
            return
    for kind, some, sign in (("donation-lost", lost, -1), ("donation-gained", gained, 1)):
        if some:
            rows = [local.get(row.parameter_name or "", row) for row in some]
            yield _describe_donation(kind, rows, sign)


def _by_name(program: Program) -> tuple[Mapping[str, DonationRow], set[str]]:
    """Return what is donated by name, and all names: of arrays that could be, and parameters."""
    rows = [(row.parameter_name or f"{row.parameter_number}", row) for row in program.donations]
    parameters = program.expect_module().entry.parameters
    names = {one.metadata().op_name or f"{one.parameter_number}" for one in parameters}
    return {name: row for name, row in rows if row.is_donated}, names | {name for name, _ in rows}


def _describe_donation(kind: CauseId, rows: Sequence[DonationRow], sign: int) -> Cause:
    trees: Counter[str] = Counter()
    for row in rows:
        found = _TREE.match(row.parameter_name or "")
        name = row.parameter_name or f"parameter {row.parameter_number}"
        trees[found[0] if found else name] += row.size_bytes
    subject, delta = list_some([tree for tree, _ in trees.most_common()]), sign * trees.total()
    return Cause(kind, len(rows), subject, measure="donated", delta_bytes=delta)


def find_values(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if the peak differs: the values that came to it, and those that went from it.

    Values of one allocation type, shape and scope are counted against each other, numbered layers
    around a scope aside, which a loop does not print: at the peak of another layer its values take
    the place of others. `count` are those that are left and change the peak as it changed, `old`
    those that went, `new` those that came; name, scope and bytes are those of the largest group
    of them, as the list of memory has groups, without twins among those that went.
    """
    changed = [pair for pair in evidence.values if pair.delta_bytes]
    is_more = _add_up(changed) > 0
    twins = group_by(changed, _find_twins)
    rest = [pair for group in twins.values() for pair in _leave_out_twins(group)]
    alike = group_by([one for one in rest if (one.delta_bytes > 0) == is_more], find_likeness)
    if not alike:
        return
    largest = min(alike.values(), key=lambda some: (-abs(_add_up(some)), some[0].shown.value))
    first = max(largest, key=lambda pair: abs(pair.delta_bytes)).shown
    times = f"×{len(largest)} " if len(largest) > 1 else ""
    yield Cause(
        "buffers-at-peak-changed",
        sum(map(len, alike.values())),
        f"{times}{first.value} {first.shape}",
        share_scope(pair.shown.scope for pair in largest),
        *(str(sum(pair.new is None for pair in rest)), str(sum(pair.old is None for pair in rest))),
        *("peak", _add_up(largest)),
        source=first.source,
    )


def _find_twins(pair: ValuePair) -> Hashable:
    parts = fold_numbers(pair.shown.scope or "").split("/")
    scope = "/".join(part for part in parts if ANY not in part)
    return pair.shown.allocation_type, pair.shown.shape, scope


def _leave_out_twins(group: Sequence[ValuePair]) -> list[ValuePair]:
    """List the values of a group without as many that came as went; those of both sides stay."""
    came = [pair for pair in group if pair.old is None]
    went = [pair for pair in group if pair.new is None]
    both = [pair for pair in group if pair.old and pair.new]
    return [*came[len(went) :], *went[len(came) :], *both]


def _add_up(pairs: Iterable[ValuePair]) -> int:
    return sum(pair.delta_bytes for pair in pairs)


MAKE_NOTHING: Final = FREE | CONTROL_FLOW  # what runs in them makes it


def find_dtypes(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of the element type of arrays that counterparts make, fused ones aside.

    `count` are arrays in the text, of equal dimensions; bytes those of all their runs. Left out
    are counterparts in doubt: whose operands are none, that stand in different scopes, or that read
    a loop's values where it hands on more or fewer.
    """
    deltas: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for old, new, runs in _list_changed(evidence):
        more = ((new.size_bytes or 0) - (old.size_bytes or 0)) * runs
        deltas[old.dtype, new.dtype].append(more)
    sent: Counter[str] = Counter()
    for row in evidence.collectives:
        sent.update(dict.fromkeys(row.details, row.delta_bytes))
    for (before, after), each in deltas.items():
        if delta := sum(each):
            kind = "dtype-widened" if delta > 0 else "dtype-narrowed"
            cause = Cause(kind, len(each), None, None, before, after, "results", delta)
            yield replace(cause, delta_sent_bytes=sent[f"dtype {before} → {after}"])


def _list_changed(evidence: Evidence) -> Iterator[tuple[ArrayShape, ArrayShape, int]]:
    """Yield arrays of counterparts that differ in element type, and how often they are made."""
    executions = evidence.new.executions
    for one, other in evidence.reasoner.changed:
        runs = executions.lower_bound(other.computation)
        if not runs or other.opcode in MAKE_NOTHING or other.opcode.endswith("-done"):
            continue
        arrays = pair_arrays(one.shape, other.shape)
        if any(old.dims != new.dims for old, new in arrays):
            continue  # of what carries other arrays, no index says which are the same
        changed = [
            (old, new, runs)
            for old, new in arrays
            if old.dtype != new.dtype and None not in (old.size_bytes, new.size_bytes)
        ]
        if changed and _are_sure(evidence, one, other):
            yield from changed


def _are_sure(evidence: Evidence, old: Instruction, new: Instruction) -> bool:
    scopes = {scope for scope in (find_inner_scope(old), find_inner_scope(new)) if scope}
    reasons = evidence.reasoner.reasons(old, new)
    if len(scopes) > 1 or any(one.kind == "operands" for one in reasons):
        return False
    return not any(map(_are_of_other_tuples, old.operands, new.operands))


def _are_of_other_tuples(old: Instruction, new: Instruction) -> bool:
    """Say whether two elements of another type are of tuples that hold more or fewer.

    A loop that hands on more values may have put another one there.
    """
    if not old.opcode == new.opcode == "get-tuple-element" or str(old.shape) == str(new.shape):
        return False
    sizes = [sum(1 for _ in one.operands[0].shape.leaves()) for one in (old, new)]
    return sizes[0] != sizes[1]
