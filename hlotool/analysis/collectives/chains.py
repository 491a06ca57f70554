"""Which fusions carry one transfer together? TPU starts it in one, ends it in another.

Between them, further fusions mix steps of the transfer with real work; each body prints the
same collective again (libtpu's async collective fusion).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.ir import Computation, Instruction

_ROLES: Final = {"AsyncCollectiveStart": "start", "AsyncCollectiveDone": "done"}

Key: TypeAlias = tuple[str, int | None, str]


class Link(Struct, frozen=True):
    """A collective inside a fusion; `fusion` is what an executed computation holds of it."""

    operation: Instruction
    fusion: Instruction


class Chain:
    """Collectives inside fusions that are one transfer, in the order in which they run.

    `done` is the fusion that ends it. A chain of one that is no start is synchronous.
    """

    def __init__(self, *links: Link) -> None:
        self.links = list(links)
        self.is_started = False
        self.done: Instruction | None = None

    @property
    def is_async(self) -> bool:
        """Whether it was started in one fusion to be ended in another."""
        return self.is_started or len(self.links) > 1

    @property
    def steps(self) -> tuple[Link, ...]:
        """The links between the first and the done."""
        return tuple(one for one in self.links[1:] if one.fusion is not self.done)


def fold_chains(fused: Iterable[Link]) -> list[Chain]:
    """Fold collectives inside fusions into chains.

    Collectives of equal opcode, channel_id and `chain_id` are one; a second start of the
    same key begins a second chain, as in a loop of which the compiler took out one round.
    Without a `chain_id` only what stands between a start and its done is folded.
    """
    groups: dict[Key, list[Link]] = {}
    chains: list[Chain] = []
    for link in fused:
        key = _key(link.operation)
        if key[1:] == (None, ""):
            chains.append(Chain(link))
        else:
            groups.setdefault(key, []).append(link)
    places = _find_places([link for links in groups.values() for link in links])
    for (_, _, chain_id), links in groups.items():
        ordered = sorted(links, key=lambda link: places[link.fusion])
        chains += _split(ordered, is_named=bool(chain_id))
    return chains


def _key(operation: Instruction) -> Key:
    chain_id = operation.frontend_attributes().get("chain_id", "")
    return operation.opcode, operation.channel_id, chain_id


def _find_places(links: list[Link]) -> dict[Instruction, int]:
    """Say at which place in the module the fusions stand, among the instructions around them."""
    if not links:
        return {}
    holders = {link.fusion.computation for link in links}
    ordered = [
        instruction
        for computation in links[0].fusion.module.computations.values()
        if computation in holders
        for instruction in computation.instructions
    ]
    return {instruction: place for place, instruction in enumerate(ordered)}


def _split(links: list[Link], *, is_named: bool) -> list[Chain]:
    """Cut what has one key at every start; unnamed ones also after every done."""
    chains: list[Chain] = []
    is_open = is_named
    for link in links:
        role = _find_role(link.operation.computation)
        begins = role == "start" and (not is_named or (chains and chains[-1].is_started))
        if begins or not chains or not is_open:
            chains.append(Chain())
        chains[-1].links.append(link)
        if role == "start":
            chains[-1].is_started = True
            is_open = True
        elif role == "done":
            chains[-1].done = link.fusion
            is_open = is_named
    return chains


def _find_role(body: Computation) -> str | None:
    """Tell from the marker in a body whether it starts or ends a transfer."""
    for instruction in body.instructions:
        if instruction.opcode == "custom-call":
            role = _ROLES.get(instruction.custom_call_target)
            if role:
                return role
    return None
