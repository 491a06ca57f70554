"""Which fusions went into which: split into several, merged into one.

By what they compute: an operation is known by its opcode, dimensions and scope. What a
fusion lost to its partner's absence, a new one may have taken over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.signature import Signatures
from hlotool.ir import Instruction
from hlotool.ir.opcodes import FREE

Bag: TypeAlias = Counter[Hashable]
_HALF: Final = 0.5
_SHARE: Final = 0.6  # of a fusion's operations that must come from, or go to, another
_MOST_MAKERS: Final = 32  # fusions asked whether they had an operation


class Lineage(Struct, frozen=True):
    """`whole` fell into `parts`, or was made of them; its partner, if any, is one of them."""

    whole: Instruction
    parts: tuple[Instruction, ...]


def find_splits(
    wholes: Iterable[Instruction],
    new: Sequence[Instruction],
    partners: Pairs,
    bags: Bags,
) -> tuple[Lineage, ...]:
    """Find fusions whose work several fusions of the other side do now.

    `wholes` are the fusions of one side that changed or are gone, `new` those of the other
    side without partner. Merges are splits seen from the other side. Each new fusion has at
    most one origin: the one that most of it comes from.
    """
    if not new:
        return ()
    losses = {one: bags.of(one) - bags.of(partners.get(one)) for one in wholes}
    makers: dict[Hashable, list[Instruction]] = {}
    for one, bag in losses.items():
        for operation in bag:
            makers.setdefault(operation, []).append(one)
    found: dict[Instruction, list[Instruction]] = {}
    for part in new:
        origin = _find_origin(bags.of(part), makers, losses)
        if origin is not None:
            losses[origin] -= bags.of(part)
            found.setdefault(origin, []).append(part)
    lineages = []
    for whole, parts in found.items():
        partner = partners.get(whole)
        everything = ([partner] if partner else []) + parts
        total = sum(bags.of(whole).values())
        is_most = sum(losses[whole].values()) <= (1 - _SHARE) * total
        if len(everything) > 1 and is_most:
            lineages.append(Lineage(whole, tuple(everything)))
    return tuple(lineages)


def _find_origin(
    bag: Bag, makers: Mapping[Hashable, list[Instruction]], losses: Mapping[Instruction, Bag]
) -> Instruction | None:
    """Return the fusion that lost most of what a new one does."""
    shares: Counter[Instruction] = Counter()
    for operation, count in bag.items():
        for maker in makers.get(operation, ())[:_MOST_MAKERS]:
            shares[maker] += min(count, losses[maker][operation])
    if not shares:
        return None
    origin, shared = shares.most_common(1)[0]
    return origin if shared >= _SHARE * sum(bag.values()) else None


def find_successors(
    gone: Iterable[Instruction], new: Iterable[Instruction], signatures: Signatures
) -> Pairs:
    """Pair fusions without partner that do mostly the same: each is the other's nearest.

    Dimensions do not count, and they share more than half of what the larger one does.
    """
    bags = Bags(signatures, with_dims=False)
    makers: dict[Hashable, list[Instruction]] = {}
    for one in gone:
        for operation in bags.of(one):
            makers.setdefault(operation, []).append(one)
    nearest: dict[Instruction, tuple[float, Instruction]] = {}
    for other in new:
        bag = bags.of(other)
        shares: Counter[Instruction] = Counter()
        for operation, count in bag.items():
            for maker in makers.get(operation, ())[:_MOST_MAKERS]:
                shares[maker] += min(count, bags.of(maker)[operation])
        for one, shared in shares.most_common(1):
            share = shared / max(sum(bag.values()), sum(bags.of(one).values()))
            if share > nearest.get(one, (_HALF, one))[0]:
                nearest[one] = share, other
    return {one: other for one, (_, other) in nearest.items()}


class Bags:
    """What fusions compute."""

    def __init__(self, signatures: Signatures, *, with_dims: bool = True) -> None:
        self._signatures = signatures
        self._with_dims = with_dims
        self._known: dict[Instruction, Bag] = {}

    def of(self, fusion: Instruction | None) -> Bag:
        """Count what a fusion computes by opcode, dimensions and scope; nothing for no fusion."""
        if fusion is None:
            return Counter()
        bag = self._known.get(fusion)
        if bag is None:
            body = fusion.callee()
            inside = body.instructions if body else []
            bag = self._known[fusion] = Counter(
                self._operation(one) for one in inside if one.opcode not in FREE
            )
        return bag

    def _operation(self, one: Instruction) -> Hashable:
        dims = self._signatures.dims(one.shape) if self._with_dims else 0
        return one.opcode, dims, self._signatures.origin(one)
