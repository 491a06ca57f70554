"""Which loop over layers became numbered copies of its body, or the reverse?"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from hlotool.analysis.graph.executions import Loop
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence, find_inner_scope
from hlotool.compare.causes.families import find_families
from hlotool.compare.causes.names import list_names
from hlotool.compare.causes.op_names import is_within, list_scopes
from hlotool.fields.paths import fold_numbers

_LEAST: Final = 2  # copies that make a family
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
                yield _describe(family, members, found, is_unrolled=rolled == 0)


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


def _describe(
    family: str, members: Collection[str], loops: Collection[Loop], *, is_unrolled: bool
) -> Cause:
    trips = {loop.trip_count for loop in loops}
    rounds = trips.pop() if len(trips) == 1 else None
    sides = [None if rounds is None else str(rounds), str(len(members))]
    left, right = sides if is_unrolled else sides[::-1]
    return Cause(
        kind="loop unrolled" if is_unrolled else "loop rolled",
        count=len(members),
        subject=list_names(sorted(loop.instruction.full_name for loop in loops)),
        scope=family,
        left=left,
        right=right,
    )
