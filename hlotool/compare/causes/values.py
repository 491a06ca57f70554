"""What is held at the peak for no other reason that was found?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.compare.blocks.memory_pairs import ValuePair
from hlotool.compare.blocks.shared_scope import share_scope
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence


def find_values(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if the peak differs: the values that change it as it changed.

    These are held at only one of the peaks, or hold more or less. `count` are all of them; name
    and bytes are those of the largest.
    """
    values = [pair for pair in evidence.values if pair.left_bytes != pair.right_bytes]
    delta = sum(map(_delta, values))
    alike = sorted(
        (pair for pair in values if (_delta(pair) > 0) == (delta > 0)),
        key=lambda pair: (-abs(_delta(pair)), pair.shown.value),
    )
    if delta and alike:
        yield _describe(alike)


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
