"""How many bytes of one allocation are in use at each position?

Values share bytes, at one time and over time; what is in use is the length of the union of
the byte ranges of the values that are live. Blocks that share bytes while they live are a group;
two groups never hold a byte at one position, so their bytes simply add up. Only a group whose
blocks are not all the same bytes needs a tree.

    block        bytes      positions
    a            [0, 64)    0 … 2      a block alone: 64 bytes, while it lives
    b            [0, 64)    3 … 5      the same bytes, later
    c            [32, 96)   4 … 6      shares bytes with b while b lives: one group of both,
                                       whose union the tree adds up: 64, then 96, then 64
    position     0    3    4    6    7
    in use       64   64   96   64   0     as Curve((0, 4, 6, 7), (64, 96, 64, 0))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from hlotool.analysis.memory.cover_tree import add_union
from hlotool.analysis.memory.curve import Curve, OccupiedBlock, add_blocks, make_curve
from hlotool.analysis.memory.joined_blocks import join_blocks


def occupancy(blocks: Sequence[OccupiedBlock]) -> Curve:
    """Return the length of the union of live byte ranges at every position, in O(n log n)."""
    return add_up_groups(blocks, join_blocks(blocks))


def add_up_groups(blocks: Sequence[OccupiedBlock], groups: Sequence[Sequence[int]]) -> Curve:
    """Return the same where the numbers of the blocks that share bytes are known."""
    if len(blocks) == 1 and blocks[0].low < blocks[0].high:  # as most in an estimate
        (one,) = blocks
        return Curve((one.start, one.end + 1), (one.high - one.low, 0))
    changes: dict[int, int] = {}
    is_alone = bytearray(b"\1") * len(blocks)
    for group in groups:
        parts = [blocks[number] for number in group]
        low, high = parts[0].low, parts[0].high
        if all(one.low == low and one.high == high for one in parts):
            start, end = min(one.start for one in parts), max(one.end for one in parts)
            add_blocks([OccupiedBlock(low, high, start, end)], changes)
        else:
            add_union(parts, changes)
        for number in group:
            is_alone[number] = False
    add_blocks(compress(blocks, is_alone), changes)
    return make_curve(changes)
