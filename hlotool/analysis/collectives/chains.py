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

_Key: TypeAlias = tuple[str, int | None, str]


class FusedCollective(Struct, frozen=True):
    """A collective inside a fusion; `fusion` is what an executed computation holds of it."""

    operation: Instruction
    fusion: Instruction


class Chain:
    """Collectives inside fusions that are one transfer, in the order in which they run.

    `done` is the fusion that ends it. A chain of one that is no start is synchronous.
    """

    def __init__(self, *parts: FusedCollective) -> None:
        self.parts = list(parts)
        self.is_started = False
        self.done: Instruction | None = None

    @property
    def is_async(self) -> bool:
        """Whether it was started in one fusion to be ended in another."""
        return self.is_started or len(self.parts) > 1

    @property
    def steps(self) -> tuple[FusedCollective, ...]:
        """The parts between the first and the done."""
        return tuple(one for one in self.parts[1:] if one.fusion is not self.done)


def fold_chains(fused: Iterable[FusedCollective]) -> list[Chain]:
    """Fold collectives inside fusions into chains.

    Collectives of equal opcode, channel_id and `chain_id` are one; a second start of the
    same key begins a second chain, as in a loop of which the compiler took out one round.
    Without a `chain_id` only what stands between a start and its done is folded.
    """
    alike: dict[_Key, list[FusedCollective]] = {}
    chains: list[Chain] = []
    for one in fused:
        key = _key(one.operation)
        if key[1:] == (None, ""):
            chains.append(Chain(one))
        else:
            alike.setdefault(key, []).append(one)
    order = _number_fusions([one for parts in alike.values() for one in parts])
    for (_, _, chain_id), parts in alike.items():
        parts.sort(key=lambda one: order[one.fusion])
        chains += _split(parts, is_named=bool(chain_id))
    return chains


def _key(operation: Instruction) -> _Key:
    chain_id = operation.frontend_attributes().get("chain_id", "")
    return operation.opcode, operation.channel_id, chain_id


def _number_fusions(fused: list[FusedCollective]) -> dict[Instruction, int]:
    """Return the place of each fusion, and of what stands around it, in the module."""
    if not fused:
        return {}
    holders = {one.fusion.computation for one in fused}
    ordered = [
        instruction
        for computation in fused[0].fusion.module.computations.values()
        if computation in holders
        for instruction in computation.instructions
    ]
    return {instruction: number for number, instruction in enumerate(ordered)}


def _split(parts: list[FusedCollective], *, is_named: bool) -> list[Chain]:
    """Cut what has one key at every start; unnamed ones also after every done."""
    chains: list[Chain] = []
    is_open = is_named
    for part in parts:
        role = _find_role(part.operation.computation)
        begins = role == "start" and (not is_named or (chains and chains[-1].is_started))
        if begins or not chains or not is_open:
            chains.append(Chain())
        chains[-1].parts.append(part)
        if role == "start":
            chains[-1].is_started = True
            is_open = True
        elif role == "done":
            chains[-1].done = part.fusion
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
