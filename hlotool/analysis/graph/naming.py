"""Names that tell instructions apart: in some print styles a name stands in many computations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from hlotool.ir.module import Instruction, Module


def name_instructions(
    module: Module, wanted: Collection[Instruction] | None = None
) -> Mapping[Instruction, str]:
    """Return a name for every instruction, or every wanted one, that no other has.

    What a compiler dumps has unique names, and they stay. In canonical and fingerprint
    prints `tmp_0` stands in every computation; it becomes `body/tmp_0`, or where computations
    have no names either, `tmp_0#2` for the second.
    """
    names = [one.name for each in module.computations.values() for one in each.instructions]
    if len(set(names)) == len(names):
        return {one: one.name for one in (module.instructions() if wanted is None else wanted)}
    named = _tell_apart(module, Counter(names))
    return named if wanted is None else {one: named[one] for one in wanted}


def _tell_apart(module: Module, counts: Mapping[str, int]) -> dict[Instruction, str]:
    """Name all instructions, by their computations and numbers where names are not unique."""
    named: dict[Instruction, str] = {}
    for one in module.instructions():
        name = one.name
        if counts[name] > 1 and one.computation is not module.entry and one.computation.name:
            name = f"{one.computation.name}/{name}"
        named[one] = name
    taken: Counter[str] = Counter()
    for one, name in named.items():
        taken[name] += 1
        if taken[name] > 1:
            named[one] = f"{name}#{taken[name]}"
    return named
