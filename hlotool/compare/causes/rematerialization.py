"""Which part of the program is no longer made again for the backward pass, or is now?

Read off JAX's op_names: what is made again has `rematted_computation` in its name. Numbers of
layers do not count, and a part that a side does not have at all is neither lost nor gained. Where
what is made again has no scope, the part is the whole program, and no values are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from hlotool.compare.blocks.memory_pairs import ValuePair
from hlotool.compare.causes.cause import Cause, CauseKind
from hlotool.compare.causes.evidence import Evidence
from hlotool.compare.causes.op_names import is_within, list_outermost, list_scopes
from hlotool.fields.paths import fold_numbers

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
