"""How often does a while run its body? Read where XLA wrote it down, else derived.

Follows xla/hlo/analysis/while_loop_analysis.cc: a counter that starts at a constant, moves
by a constant and is compared with a constant. Mirrored operands and counting down are
accepted too; nothing else is guessed.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.scalars import Comparison, Linear, Scalars
from hlotool.ir import Instruction

TripCountSource: TypeAlias = Literal["backend_config", "derived"]

_MIRRORED: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE", "EQ": "EQ"}
_MOST_TRIPS: Final = 1 << 53  # beyond this the derivation has misread something


class TripCount(Struct, frozen=True):
    """Iterations of one loop and where the number comes from; both None when unknown.

    `contradicting` is what the loop itself comes to where a printed count is another.
    """

    count: int | None = None
    source: TripCountSource | None = None
    contradicting: int | None = None


def find_trip_count(loop: Instruction, scalars: Scalars) -> TripCount:
    """Return how often one execution of a while runs its body.

    `known_trip_count` of the backend config wins, as XLA itself reads nothing else once it is
    there. Otherwise the condition must compare a slot of the state with a constant, and the
    body must add a constant to that slot.
    """
    known = _read_known(loop)
    derived = _derive(loop, scalars)
    if known is not None:
        return TripCount(known, "backend_config", None if derived == known else derived)
    return TripCount(derived, "derived") if derived is not None else TripCount()


def _read_known(loop: Instruction) -> int | None:
    config = loop.backend_config()
    text = config.find("known_trip_count", "n") if config else None
    if isinstance(text, int) and not isinstance(text, bool):
        return text if text >= 0 else None
    if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 20:  # noqa: PLR2004 (64 bits)
        return int(text)
    return None


def _derive(loop: Instruction, scalars: Scalars) -> int | None:
    condition = loop.callees("condition")
    if not condition:
        return None
    test = scalars.find(condition[0].root)
    if not isinstance(test, Comparison):
        return None
    left, right = scalars.settle(test.left), scalars.settle(test.right)
    direction = test.direction
    if left.slot is None:
        left, right, direction = right, left, _MIRRORED.get(direction, "")
    counter = left.slot
    if counter is None or counter.loop is not loop or right.slot is not None:
        return None
    following = scalars.find_next(counter)
    start = scalars.find_initial(loop, counter.index)
    if not isinstance(following, Linear) or following.slot != counter:
        return None
    if not isinstance(start, Linear):
        return None
    start = scalars.settle(start)
    if start.slot is not None:
        return None
    return count_iterations(direction, start.offset + left.offset, right.offset, following.offset)


def count_iterations(direction: str, start: int, limit: int, step: int) -> int | None:
    """Count how often `start direction limit` holds while start moves by step.

    None when the loop would not end, or not at a place this arithmetic can tell.

    >>> count_iterations("LT", 0, 10, 3), count_iterations("LE", 1, 10, 1)
    (4, 10)
    """
    if direction in {"GT", "GE"}:
        direction, start, limit, step = _MIRRORED[direction], -start, -limit, -step
    distance = limit - start + (direction == "LE")
    if direction in {"LT", "LE"}:
        if distance <= 0:
            return 0
        return _bounded(-(-distance // step)) if step > 0 else None
    if direction == "NE":
        if distance == 0:
            return 0
        ends = step != 0 and distance % step == 0 and distance // step > 0
        return _bounded(distance // step) if ends else None
    if direction == "EQ":
        return 0 if distance else 1 if step else None
    return None


def _bounded(count: int) -> int | None:
    return count if count <= _MOST_TRIPS else None
