"""A module with its ids followed to what they name, and the orders in which XLA prints.

As XLA does, only the low 32 bits of an instruction's id count, and they count within its
computation. Operands stand before their users, callees before their callers: so nothing in a
module that this returns goes in a circle. An id that points nowhere is refused. The orders follow
`MakeComputationPostOrder`, `MakeEmbeddedComputationsList` and `ForEachInstructionPostOrderImpl` in
xla/hlo/ir/hlo_module.cc and hlo_computation.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct, field

from hlotool.errors import InputError
from hlotool.proto.messages import HloComputationProto, HloInstructionProto, HloModuleProto

_LOCAL: Final = (1 << 32) - 1
_NAME: Final = re.compile(r"[^\s\"'(){}\[\]=,%/*]++")
_OPCODE: Final = re.compile(r"[a-z][a-z0-9\-]*+")
_ASYNC_START: Final = "async-start"
_LATER_ASYNC: Final = ("async-update", "async-done")


class Node(Struct, eq=False):
    """An instruction with what its ids point to."""

    proto: HloInstructionProto
    name: str
    opcode: str
    operands: list[Node]
    predecessors: list[Node]  # by control
    callees: list[Block]
    place: int  # in the list of its computation
    wrapped: Block | None  # the computation that an asynchronous operation runs
    is_used: bool = False


class Block(Struct, eq=False):
    """A computation with its instructions in the order of their ids."""

    proto: HloComputationProto
    name: str
    number: int  # its id
    nodes: list[Node] = field(default_factory=list)
    by_id: dict[int, Node] = field(default_factory=dict)
    root: Node | None = None
    is_called: bool = False
    is_wrapped: bool = False  # run by an asynchronous operation
    is_sugar: bool = False  # one instruction and parameters, written where it is called


def link_module(module: HloModuleProto, name: str, *, has_sugar: bool = False) -> list[Block]:
    """Return the computations of a module in their order; `name` is the file's, for errors."""
    blocks: dict[int, Block] = {}
    for proto in module.computations:
        block = Block(proto, _check_name(proto.name, name), proto.id)
        if block.number in blocks:
            raise InputError(f"{name}: two computations of the module have the id {block.number}.")
        _link_block(block, blocks, name)
        block.is_sugar = has_sugar and all(
            node is block.root or node.opcode == "parameter" for node in block.nodes
        )
        blocks[block.number] = block
    return list(blocks.values())


def _link_block(block: Block, blocks: dict[int, Block], name: str) -> None:
    """Fill a computation with its instructions."""
    by_id = block.by_id

    def find(numbers: Iterable[int], proto: HloInstructionProto) -> list[Node]:
        try:
            return [by_id[number & _LOCAL] for number in numbers]
        except KeyError as error:
            raise InputError(
                f"{name}: {proto.name!r} in {block.name!r} names an instruction by the id "
                f"{error.args[0]}; no earlier one has that id."
            ) from error

    for proto in block.proto.instructions:
        opcode = proto.opcode
        if not _is_opcode(opcode):
            raise InputError(f"{name}: {proto.name!r} has an invalid opcode, {opcode!r}.")
        key = proto.id & _LOCAL
        if key in by_id:
            raise InputError(f"{name}: two instructions of {block.name!r} have the id {key}.")
        operands = find(proto.operand_ids, proto)
        called, before = proto.called_computation_ids, proto.control_predecessor_ids
        callees = [_get_callee(blocks, one, proto, name) for one in called] if called else []
        own = _check_name(proto.name, name)
        predecessors = find(before, proto) if before else []
        wrapped = _find_wrapped(opcode, operands, callees)
        node = Node(proto, own, opcode, operands, predecessors, callees, 0, wrapped)
        for operand in operands:
            operand.is_used = True
        for callee in callees:
            callee.is_called = True
            callee.is_wrapped = callee.is_wrapped or opcode == _ASYNC_START
        by_id[key] = node
    # XLA sorts them when it reads a proto; the order it prints in begins with this one.
    block.nodes = [by_id[key] for key in sorted(by_id)]
    for place, node in enumerate(block.nodes):
        node.place = place
    block.root = by_id.get(block.proto.root_id & _LOCAL)
    if block.root is None:
        what = "root" if block.nodes else "instructions"
        raise InputError(f"{name}: the computation {block.name!r} has no {what}.")


@lru_cache
def _is_opcode(text: str) -> bool:
    return _OPCODE.fullmatch(text) is not None


def _find_wrapped(opcode: str, operands: list[Node], callees: list[Block]) -> Block | None:
    """Return the computation that an asynchronous operation runs; its start calls it."""
    if opcode == _ASYNC_START:
        return callees[0] if callees else None
    return operands[0].wrapped if opcode in _LATER_ASYNC and operands else None


def _get_callee(
    blocks: dict[int, Block], number: int, proto: HloInstructionProto, name: str
) -> Block:
    """Return the computation of an id; it stands before the one that calls it."""
    if (block := blocks.get(number)) is None:
        raise InputError(
            f"{name}: {proto.name!r} calls a computation by the id {number}; no earlier one "
            "has that id."
        )
    return block


def _check_name(text: str, name: str) -> str:
    """Return a name, or raise if the text of HLO could not hold it."""
    if not _NAME.fullmatch(text):
        raise InputError(f"{name}: {text[:80]!r} is not a name that HLO allows.")
    return text


def list_scheduled(block: Block, ids: Iterable[int], name: str) -> list[Node]:
    """Return the instructions that a schedule lists by their ids."""
    nodes = [block.by_id.get(number & _LOCAL) for number in ids]
    found = [node for node in nodes if node is not None]
    if len(found) != len(nodes) or len(found) != len(block.nodes):
        raise InputError(
            f"{name}: the schedule of {block.name!r} does not list its instructions: of "
            f"{len(block.nodes)} it has {len({id(node) for node in found})}."
        )
    return found


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
            if (inner := next(rest, None)) is None:
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
    # By hand and not by calls: a chain of instructions may be longer than Python's stack.
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
            # As XLA has them: the first operand is visited first, of predecessors the last.
            stack += [each for each in reversed(node.operands) if not is_done[each.place]]
            stack += [each for each in node.predecessors if not is_done[each.place]]
    return ordered
