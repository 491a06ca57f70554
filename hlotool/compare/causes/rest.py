"""What differs that is no other cause?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.compare.causes.names import list_names

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
            subject=list_names(names, 4),
        )
