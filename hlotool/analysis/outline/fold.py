"""How is a long tree made short? Alike steps in a row become one, and small work goes with large.

Work that takes less than a hundredth of the work of the run goes with the work beside it, so that
what matters stands on one screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from hlotool.analysis.outline.repeats import find_repeats
from hlotool.analysis.outline.tree import SMALL, OutlineNode, add_up, merge_into

_WORK: Final = frozenset(("compute", "memory"))


def fold_tree(nodes: Sequence[OutlineNode], all_seconds: float) -> list[OutlineNode]:
    """Return the same steps in fewer nodes; the nodes given are changed."""
    for node in nodes:
        node.children = fold_tree(node.children, all_seconds)
        if node.kind == "collective":
            _take_in(node)
    return _fold_repeats(_join_small(nodes, all_seconds * SMALL))


def _take_in(collective: OutlineNode) -> None:
    """Let a collective stand for the work beside it, where that is one step."""
    if len(collective.children) == 1 and collective.children[0].kind in _WORK:
        work = collective.children.pop()
        collective.names += work.names
        collective.beside = work.opcodes


def _join_small(nodes: Sequence[OutlineNode], least_seconds: float) -> list[OutlineNode]:
    joined: list[OutlineNode] = []
    for node in nodes:
        last = joined[-1] if joined else None
        if (
            last is not None
            and node.kind in _WORK
            and last.kind in _WORK
            and min(node.seconds, last.seconds) < least_seconds
        ):
            merge_into(last, node)
        else:
            joined.append(node)
    return joined


def _fold_repeats(nodes: Sequence[OutlineNode]) -> list[OutlineNode]:
    folded = []
    for found in find_repeats([node.key for node in nodes]):
        first = list(nodes[found.start : found.start + found.length])
        for number in range(found.length, found.length * found.count):
            merge_into(first[number % found.length], nodes[found.start + number])
        if found.count > 1 and found.length > 1:
            first = [_repeat(first, found.count)]
        elif first[0].kind not in _WORK:  # work says itself of how many operations it consists
            first[0].count = found.count
        folded += first
    return folded


def _repeat(children: list[OutlineNode], count: int) -> OutlineNode:
    """Return a node for steps that stand several times in a row."""
    node = OutlineNode(kind="repeat", names=[], count=count, children=children)
    for child in children:
        node.names += child.names
        node.scopes |= child.scopes
        child.opcodes = _divide(child.opcodes, count)
        child.beside = _divide(child.beside, count)
    node.begins_seconds = min(child.begins_seconds for child in children)
    node.ends_seconds = max(child.ends_seconds for child in children)
    add_up(node)
    return node


def _divide(opcodes: Counter[str], rounds: int) -> Counter[str]:
    """Return what one of several rounds consists of; all of them where they are not alike."""
    if any(count % rounds for count in opcodes.values()):
        return opcodes
    return Counter({opcode: count // rounds for opcode, count in opcodes.items()})
