"""What is held at the peak for no other reason that was found?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from hlotool.compare.blocks.memory import find_likeness
from hlotool.compare.blocks.memory_pairs import ValuePair
from hlotool.compare.blocks.shared_scope import share_scope
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.fields.paths import ANY, fold_numbers


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
        yield _describe(
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


def _describe(groups: Sequence[Sequence[ValuePair]], *, went: int, came: int) -> Cause:
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
