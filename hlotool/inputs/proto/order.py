"""In which order does XLA print computations, and the instructions of one?

Follows `MakeComputationPostOrder`, `MakeEmbeddedComputationsList` and
`ForEachInstructionPostOrderImpl` in xla/hlo/ir/hlo_module.cc and hlo_computation.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.inputs.proto.nodes import Block, Node


def order_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return callees before callers: for each computation that nothing calls, what it calls."""
    ordered: dict[int, Block] = {}
    for block in blocks:
        if not block.is_called:
            for callee in _list_callees(block):
                ordered.setdefault(callee.number, callee)
            ordered[block.number] = block
    return list(ordered.values())


def _list_callees(block: Block) -> list[Block]:
    """Return all computations below one, each behind those it calls."""
    seen: set[int] = set()
    ordered: list[Block] = []
    stack: list[tuple[Block, Iterator[Node]]] = []
    for node in block.nodes:
        _push_callees(node, seen, stack)
        while stack:
            callee, rest = stack[-1]
            inner = next(rest, None)
            if inner is None:
                stack.pop()
                ordered.append(callee)
            else:
                _push_callees(inner, seen, stack)
    return ordered


def _push_callees(node: Node, seen: set[int], stack: list[tuple[Block, Iterator[Node]]]) -> None:
    """Put the computations that an instruction calls on the stack, the first on top."""
    for callee in reversed(node.callees):
        if callee.number not in seen:
            seen.add(callee.number)
            stack.append((callee, iter(callee.nodes)))


def order_nodes(block: Block) -> list[Node]:
    """Return operands before users, from each instruction that nobody uses.

    Control predecessors come before operands.
    """
    ordered: list[Node] = []
    is_done = bytearray(len(block.nodes))  # 1 while what it needs is visited, 2 behind that
    for start in block.nodes:
        stack = [] if start.is_used else [start]
        while stack:
            node = stack[-1]
            if is_done[node.place]:
                stack.pop()
                if is_done[node.place] == 1:
                    is_done[node.place] = 2
                    ordered.append(node)
                continue
            is_done[node.place] = 1
            stack += [each for each in reversed(node.operands) if not is_done[each.place]]
            stack += [each for each in node.predecessors if not is_done[each.place]]
    return ordered
