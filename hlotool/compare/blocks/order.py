"""How many instructions have moved: the same program in another order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Struct

from hlotool.compare.match.structure import ComputationPair
from hlotool.fields import COUNT, figure
from hlotool.ir.opcodes import GIVEN


class OrderChange(Struct, frozen=True):
    """`moved_count` of `paired_count` paired instructions stand elsewhere in the sequence.

    It is the least number that one would have to move; `computation` is where most moved.
    """

    moved_count: Annotated[int, figure("instructions at another place in the schedule", COUNT)]
    paired_count: Annotated[int, figure("instructions that have partners", COUNT)]
    computation: Annotated[str, figure("the computation in which most moved")]


def compare_order(pairs: Iterable[ComputationPair]) -> OrderChange | None:
    """Count what moved inside its computation; None where nothing did.

    Parameters and constants have no place in an execution and are left out.
    """
    moved_count = paired_count = most = 0
    computation = ""
    for pair in pairs:
        places = {one: place for place, one in enumerate(pair.right.instructions)}
        sequence = [
            places[pair.pairs[one]]
            for one in pair.left.instructions
            if one in pair.pairs and one.opcode not in GIVEN
        ]
        moved = len(sequence) - _longest_rise(sequence)
        moved_count += moved
        paired_count += len(sequence)
        if moved > most:
            most, computation = moved, pair.left.name
    return OrderChange(moved_count, paired_count, computation) if moved_count else None


def _longest_rise(numbers: Sequence[int]) -> int:
    """Length of the longest strictly rising subsequence, in n log n."""
    ends: list[int] = []
    for number in numbers:
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
    return len(ends)
