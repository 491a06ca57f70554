"""In which order does XLA print computations, and the instructions of one?

Follows `MakeComputationPostOrder`, `MakeEmbeddedComputationsList` and
`ForEachInstructionPostOrderImpl` in xla/hlo/ir/hlo_module.cc and hlo_computation.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from hlotool.inputs.proto.nodes import Block, Node

_BY_CHANNEL: Final = frozenset(
    {
        "all-gather",
        "all-reduce",
        "all-to-all",
        "collective-broadcast",
        "collective-permute",
        "ragged-all-to-all",
        "reduce-scatter",
    }
)


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


class _Channel(Struct):
    """The collectives of one channel in the order of their ids; those before `first` are done."""

    nodes: list[Node]
    first: int = 0


def order_nodes(block: Block, *, by_channel: bool) -> list[Node]:
    """Return operands before users, from each instruction that nobody uses.

    Control predecessors come before operands. `by_channel` keeps the collectives of one channel
    in the order of their ids, as XLA does where it may have to split the module.
    """
    channels, numbers = _find_channels(block) if by_channel else ({}, {})
    ordered: list[Node] = []
    is_entered = bytearray(len(block.nodes))  # 1 while what it needs is visited, 2 once it is done
    for start in block.nodes:
        if start.is_used:
            continue
        stack = [start]
        while stack:
            node = stack[-1]
            if is_entered[node.place]:
                stack.pop()
                if is_entered[node.place] == 1:
                    is_entered[node.place] = 2
                    ordered.append(node)
                continue
            is_entered[node.place] = 1
            if node is not start and node.place in numbers:
                earlier = _list_earlier(channels[node.proto.channel_id], numbers[node.place], is_entered)
                stack += earlier
            stack += [each for each in reversed(node.operands) if is_entered[each.place] != 2]
            stack += [each for each in node.predecessors if is_entered[each.place] != 2]
    return ordered


def _find_channels(block: Block) -> tuple[dict[int, _Channel], dict[int, int]]:
    """Return the collectives of each channel, and the number of each in its channel."""
    channels: dict[int, _Channel] = {}
    numbers: dict[int, int] = {}
    for node in block.nodes:
        if node.opcode in _BY_CHANNEL and node.proto.channel_id > 0:
            channel = channels.setdefault(node.proto.channel_id, _Channel([]))
            numbers[node.place] = len(channel.nodes)
            channel.nodes.append(node)
    return channels, numbers


def _list_earlier(channel: _Channel, number: int, is_entered: bytearray) -> list[Node]:
    """Return the collectives of a channel before one of them that are not done yet."""
    while channel.first < number and is_entered[channel.nodes[channel.first].place] == 2:  # noqa: PLR2004
        channel.first += 1
    pending = channel.nodes[channel.first : number]
    return [each for each in pending if is_entered[each.place] != 2]  # noqa: PLR2004
