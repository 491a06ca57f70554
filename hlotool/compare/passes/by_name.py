"""What did a pass do to the instructions of one compilation, which keep their names?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.terms import Terms
from hlotool.compare.passes.snapshot import State
from hlotool.ir import Instruction

Pair: TypeAlias = tuple[Instruction, Instruction]


class NamedChanges(Struct, frozen=True):
    """What differs between two texts of one compilation.

    `changed` are pairs that differ in more than notes such as metadata, `reworded` those whose
    text differs at all. `renamed` are old names and new where a pass did nothing but rename.
    """

    removed: tuple[Instruction, ...] = ()
    added: tuple[Instruction, ...] = ()
    changed: tuple[Pair, ...] = ()
    reworded: tuple[Pair, ...] = ()
    renamed: Mapping[str, str] = {}

    @property
    def differs(self) -> bool:
        """Whether the program differs, in more than names and notes."""
        return bool(self.removed or self.added or self.changed)


def compare_by_name(left: State, right: State, *, is_strict: bool = False) -> NamedChanges:
    """Compare two texts of one compilation.

    XLA gives each instruction a name of its own, and a pass that leaves it alone leaves it its
    name. What a pass makes anew, be it equal to what was there, counts as added.
    """
    comparer = _Comparer(is_strict=is_strict)
    here, there = left.texts, right.texts
    shared = [name for name in here if name in there]
    reworded = [
        (here[name][0], there[name][0]) for name in shared if here[name][1] != there[name][1]
    ]
    removed = [one for name, (one, _) in here.items() if name not in there]
    added = [one for name, (one, _) in there.items() if name not in here]
    changed = [pair for pair in reworded if comparer.differ(*pair)]
    if removed and len(removed) == len(added):
        pairs = comparer.find_renamed(
            [one for one, _ in here.values()], [one for one, _ in there.values()]
        )
        if pairs:
            names = {one.full_name: other.full_name for one, other in pairs}
            return NamedChanges(reworded=tuple(pairs), renamed=names)
    return NamedChanges(tuple(removed), tuple(added), tuple(changed), tuple(reworded))


class _Comparer:
    """Says of two instructions whether they differ in what counts."""

    def __init__(self, *, is_strict: bool) -> None:
        self.signatures = Signatures(Terms(is_strict=is_strict))

    def differ(self, left: Instruction, right: Instruction) -> bool:
        """Whether two instructions of one name differ, in operands and callees by their names."""
        if self._exact(left) != self._exact(right):
            return True
        return _names_of(left) != _names_of(right)

    def find_renamed(self, left: Sequence[Instruction], right: Sequence[Instruction]) -> list[Pair]:
        """Pair all instructions in their order, if they differ in nothing but names; else none."""
        if len(left) != len(right):
            return []
        pairs = list(zip(left, right, strict=True))
        partner = dict(pairs)
        for one, other in pairs:
            if self._exact(one) != self._exact(other):
                return []
            if tuple(map(partner.get, one.operands)) != other.operands:
                return []
            called = [each.root for each in one.called_computations()]
            if [partner.get(root) for root in called] != [
                each.root for each in other.called_computations()
            ]:
                return []
        return pairs

    def _exact(self, one: Instruction) -> int:
        return self.signatures.exact(one, ())


def _names_of(one: Instruction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what an instruction reads and calls, and whether it is the result."""
    operands = tuple(operand.name for operand in one.operands)
    called = tuple(each.name for each in one.called_computations())
    controls = tuple(each.name for each in one.control_predecessors())
    return (*operands, "root" if one.is_root else ""), (*called, "", *controls)
