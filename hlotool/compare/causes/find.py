"""What differs that is no other cause?

All reasons for which two programs differ, those of most bytes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.compare.causes.cause import Cause, Evidence
from hlotool.compare.causes.communication import (
    find_communication,
    find_fusing,
    find_overlap,
    find_products,
    find_sharding,
)
from hlotool.compare.causes.memory import (
    find_donation,
    find_dtypes,
    find_rematerialization,
    find_values,
)
from hlotool.compare.causes.structure import (
    find_dimensions,
    find_layers,
    find_loops,
    find_operations,
    find_unrolling,
)
from hlotool.table.words import list_some

_DTYPE: Final = "dtype "


def find_rest(evidence: Evidence) -> Iterator[Cause]:
    """Yield what arithmetic inside fusions is done in, else what differs, of any kind."""
    yield from list(_find_dtypes(evidence)) or _find_kinds(evidence)


def _find_dtypes(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of the element type that operations inside fusions have.

    `count` are the operations in the text.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for row in evidence.instructions:
        for detail in row.details if row.is_fused else ():
            if detail.startswith(_DTYPE):
                left, _, right = detail.removeprefix(_DTYPE).partition(" → ")
                counts[left, right] += row.count
    for (left, right), count in counts.most_common():
        yield Cause(kind="dtype inside fusions", count=count, left=left, right=right)


def _find_kinds(evidence: Evidence) -> Iterator[Cause]:
    """Yield the kinds of differences of the instructions and of the header, as one cause.

    `count` are the instructions; `subject` names the kinds that most of them have.
    """
    kinds: Counter[str] = Counter()
    for row in evidence.instructions:
        for reason in row.reasons or (f"{row.change} {row.opcode}",):
            kinds[reason] += row.count
    for change in evidence.header:
        kinds[change.name] += 1
    if kinds:
        names = [f"{kind} ×{count}" if count > 1 else kind for kind, count in kinds.most_common()]
        yield Cause(
            kind="other",
            count=sum(row.count for row in evidence.instructions),
            subject=list_some(names, 4),
        )


_FINDERS: Final = (
    find_rematerialization,
    find_donation,
    find_layers,
    find_unrolling,
    find_loops,
    find_dimensions,
    find_operations,
    find_dtypes,
    find_products,
    find_overlap,
    find_communication,
    find_sharding,
    find_fusing,
)
_SHARE: Final = 0.5
_LEAST: Final = 0.001  # of a peak, so that it needs a reason
_PEAKS: Final = ("buffers.peak_bytes", "buffers.estimated.peak_bytes")
_LAYERS: Final = ("layers added", "layers removed")
_UNROLLING: Final = ("loop unrolled", "loop rolled")
_ABOUT_MEMORY: Final = frozenset(("peak", "peak of all layers", "donated", "results"))
# What somebody changed, or who computes it. Others may follow from these.
_FIRST: Final = frozenset(
    (
        *("rematerialization lost", "rematerialization gained"),
        *("donation lost", "donation gained", "layers added", "layers removed"),
        *("loop unrolled", "loop rolled", "trip count"),
        *("dimension", "operations", "axes", "sharding", "products moved"),
    )
)


def find_causes(evidence: Evidence) -> tuple[Cause, ...]:
    """Ask all finders: first what somebody changed in the program, then what may follow.

    In both, most bytes come first. What else is held at the peak is told where others account for
    less than half of its difference, what else differs where there is no other. Collectives more
    or fewer are no reason of their own where new layers bring them.
    """
    found = [cause for find in _FINDERS for cause in find(evidence)]
    if _is_peak_open(evidence, found):
        found += find_values(evidence)
    found = _without_those_of_layers(found)
    found.sort(key=lambda one: (one.kind not in _FIRST, -abs(one.delta_bytes or 0)))
    return tuple(found or find_rest(evidence))


def _is_peak_open(evidence: Evidence, found: Sequence[Cause]) -> bool:
    """Say whether the peak differs, and no reason is found for half of it."""
    rows = (evidence.metrics.get(path) for path in _PEAKS)
    peak = next((row for row in rows if row and row.delta is not None), None)
    if peak is None or abs(peak.delta or 0) <= _LEAST * (peak.left or 0):
        return False
    delta = peak.delta or 0
    told = sum(_on_memory(cause) for cause in found)
    return (told if delta > 0 else -told) <= _SHARE * abs(delta)


def _on_memory(cause: Cause) -> int:
    """Return by how much memory is more for a reason; what is not donated takes its own."""
    if cause.measure not in _ABOUT_MEMORY or cause.delta_bytes is None:
        return 0
    return -cause.delta_bytes if cause.measure == "donated" else cause.delta_bytes


def _without_those_of_layers(found: Sequence[Cause]) -> list[Cause]:
    """Leave out collectives more or fewer if layers send all the bytes that these do.

    Of copies in place of a loop nobody counts what they send: more of them send more.
    """
    counted = [one for one in found if one.kind == "collectives"]
    of_layers = sum(one.delta_wire_bytes or 0 for one in found if one.kind in _LAYERS)
    sent = sum(one.delta_bytes or 0 for one in counted)
    copies = [_count_more_rounds(one) for one in found if one.kind in _UNROLLING]
    if (of_layers and sent == of_layers) or any(more * sent > 0 for more in copies):
        return [one for one in found if one.kind != "collectives"]
    return list(found)


def _count_more_rounds(cause: Cause) -> int:
    """Return how many layers more there are where a loop was unrolled, 0 where nobody knows."""
    return int(cause.right) - int(cause.left) if cause.left and cause.right else 0
