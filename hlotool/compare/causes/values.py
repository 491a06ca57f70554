"""What is held at the peak for no other reason that was found?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import chain

from hlotool.compare.blocks.memory_pairs import ValuePair
from hlotool.compare.blocks.shared_scope import share_scope
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.fields.paths import fold_numbers


def find_values(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if the peak differs: the values that change it as it changed.

    Values of one class, shape and scope, numbers of layers aside, are counted against each other:
    at the peak of another layer its values take the place of others. `count` are those that are
    left; name and bytes are those of the largest.
    """
    groups: dict[Hashable, list[ValuePair]] = {}
    for pair in evidence.values:
        if pair.left_bytes != pair.right_bytes:
            shown = pair.shown
            key = shown.class_, shown.shape, fold_numbers(shown.scope or "")
            groups.setdefault(key, []).append(pair)
    is_more = sum(map(_delta, chain.from_iterable(groups.values()))) > 0
    alike = [pair for group in groups.values() for pair in _list_left(group, is_more=is_more)]
    alike.sort(key=lambda pair: (-abs(_delta(pair)), pair.shown.value))
    if alike:
        yield _describe(alike)


def _list_left(group: Sequence[ValuePair], *, is_more: bool) -> list[ValuePair]:
    """List the values that change a peak in one way, without as many as change it in the other."""
    alike = [pair for pair in group if (_delta(pair) > 0) == is_more]
    others = len(group) - len(alike)
    return alike[others:]


def _describe(pairs: Sequence[ValuePair]) -> Cause:
    largest = pairs[0].shown
    return Cause(
        kind="values at the peak",
        count=len(pairs),
        subject=f"{largest.value} {largest.shape}",
        scope=share_scope([largest.scope]),
        measure="peak",
        delta_bytes=_delta(pairs[0]),
    )


def _delta(pair: ValuePair) -> int:
    return pair.right_bytes - pair.left_bytes
