"""What differs that is no other cause?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.compare.causes.names import list_names


def find_rest(evidence: Evidence) -> Iterator[Cause]:
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
