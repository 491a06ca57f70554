"""What stands in a row several times? Layers of an unrolled model do."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from msgspec import Struct

_LONGEST: Final = 200  # steps of what is repeated; a layer has a few dozen


class Repeat(Struct, frozen=True):
    """From `start` on, `length` keys stand `count` times in a row; once if `count` is 1."""

    start: int
    length: int
    count: int


def find_repeats(keys: Sequence[Hashable]) -> Iterator[Repeat]:
    """Cut a sequence into parts that are repeated, and keys that stand alone.

    From the left, the part is taken whose rounds cover most, of those the shortest.

    >>> [(one.start, one.length, one.count) for one in find_repeats("xababab")]
    [(0, 1, 1), (1, 2, 3)]
    """
    start = 0
    while start < len(keys):
        best = Repeat(start, 1, 1)
        longest = min(_LONGEST, (len(keys) - start) // 2)
        for length in range(1, longest + 1):
            if keys[start] != keys[start + length]:
                continue
            count = _count_rounds(keys, start, length)
            if count > 1 and count * length > best.count * best.length:
                best = Repeat(start, length, count)
        yield best
        start += best.length * best.count


def _count_rounds(keys: Sequence[Hashable], start: int, length: int) -> int:
    """Return how often the part at `start` stands there in a row."""
    matching = 0  # keys that equal the one a round before
    while (
        start + length + matching < len(keys)
        and keys[start + matching] == keys[start + length + matching]
    ):
        matching += 1
    return 1 + matching // length
