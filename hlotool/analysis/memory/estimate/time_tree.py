"""Which nodes of a binary tree over time make up a stretch?

A tree of n leaves is a list of 2·n nodes: the root is 1, the leaves n to 2·n − 1 are moments, and
node k stands above 2·k and 2·k + 1.
"""

from __future__ import annotations


def count_leaves(end: int) -> int:
    """Return the leaves of a tree over `end` moments, a power of two."""
    leaves = 1
    while leaves < end:
        leaves *= 2
    return leaves


def cover_stretch(leaves: int, begin: int, end: int) -> list[int]:
    """Return the fewest nodes that make up the moments from `begin` to before `end`."""
    low, high = begin + leaves, end + leaves
    nodes: list[int] = []
    while low < high:
        if low & 1:
            nodes.append(low)
            low += 1
        if high & 1:
            high -= 1
            nodes.append(high)
        low >>= 1
        high >>= 1
    return nodes
